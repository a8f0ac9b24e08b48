"""The generated shop and what disturbs its messages."""

from collections import defaultdict

from ticdc_encoder.event import Transaction
from ticdc_encoder.message import Message
from ticdc_encoder.testing.disturbance import Disturbance
from ticdc_encoder.testing.shop import DEFINITIONS, TABLES, Shop

Rows = dict[str, dict[tuple[object, ...], object]]


def traded(seed: int, transactions: int) -> tuple[Shop, list[Transaction]]:
    shop = Shop(seed, accounts=20, users=20)
    shop.definitions()
    return shop, [shop.open(), *(shop.trade() for _ in range(transactions))]


def replayed(transactions: list[Transaction]) -> Rows:
    """What the changes give when applied as all deletes, then all rows, of each commit_ts."""
    rows: Rows = {name: {} for name in TABLES}
    together: dict[int, list[Transaction]] = defaultdict(list)
    for transaction in transactions:
        together[transaction.commit_ts].append(transaction)
    for commit_ts in sorted(together):
        changes = [c for transaction in together[commit_ts] for c in transaction.changes]
        for change in changes:
            if change.before is not None:
                key = tuple(change.before[n] for n in change.table.handle_key)
                assert rows[change.table.name].pop(key) == change.before
        for change in changes:
            if change.after is not None:
                key = tuple(change.after[n] for n in change.table.handle_key)
                assert key not in rows[change.table.name]
                rows[change.table.name][key] = change.after
    return rows


def test_the_changes_lead_to_the_rows_of_the_shop() -> None:
    shop, transactions = traded(1, 800)
    assert replayed(transactions) == shop.rows


def test_one_seed_makes_one_history() -> None:
    assert traded(2, 100)[1] == traded(2, 100)[1]
    assert traded(2, 100)[1] != traded(3, 100)[1]


def test_the_total_of_the_accounts_never_changes() -> None:
    shop = Shop(4, accounts=20, users=20)
    shop.open()
    for _ in range(300):
        shop.trade()
        assert sum(row["balance"] for row in shop.rows["accounts"].values()) == shop.total


def test_every_order_counts_its_lines_and_emails_are_used_once() -> None:
    shop, _ = traded(5, 800)
    lines: dict[object, int] = defaultdict(int)
    for order, _line in shop.rows["order_lines"]:
        lines[order] += 1
    assert shop.rows["orders"]
    assert {id: row["lines"] for (id,), row in shop.rows["orders"].items()} == lines
    emails = [row["email"] for row in shop.rows["users"].values()]
    assert len(emails) == len(set(emails))


def test_users_swap_addresses_and_keys_and_keys_come_back() -> None:
    _, transactions = traded(6, 800)
    seen = set()
    for transaction in transactions:
        users = [c for c in transaction.changes if c.table.name == "users"]
        befores = [c.before for c in users if c.before and c.after]
        afters = [c.after for c in users if c.before and c.after]
        if len(users) > 1 and befores:
            for column in ("id", "email"):
                before, after = [r[column] for r in befores], [r[column] for r in afters]
                if before != after and sorted(map(str, before)) == sorted(map(str, after)):
                    seen.add(f"{column} swapped")
        if len(users) == 2 and users[0].after is None and users[1].before is None:
            assert users[0].before and users[1].after
            if users[0].before["id"] == users[1].after["id"]:
                seen.add("deleted and inserted")
    assert seen == {"id swapped", "email swapped", "deleted and inserted"}


def test_some_transactions_share_a_commit_ts_and_never_a_row() -> None:
    _, transactions = traded(7, 800)
    keys = defaultdict(list)
    for transaction in transactions:
        rows = {
            (c.table.name, tuple(image[n] for n in c.table.handle_key))
            for c in transaction.changes
            for image in (c.before, c.after)
            if image is not None
        }
        keys[transaction.commit_ts].append(rows)
    shared = [sets for sets in keys.values() if len(sets) > 1]
    assert shared
    assert all(len(set.union(*sets)) == sum(map(len, sets)) for sets in shared)


def test_a_resolved_ts_is_above_commits_and_may_be_the_next_one() -> None:
    shop = Shop(8, accounts=5, users=20)
    shop.open()
    meets = []
    for _ in range(60):
        last = shop.trade().commit_ts
        resolved_ts = shop.resolve()
        following = shop.trade().commit_ts
        assert last < resolved_ts <= following
        meets.append(following == resolved_ts)
    assert {True, False} == set(meets)


def test_the_definitions_come_before_all_rows() -> None:
    shop = Shop()
    created = shop.definitions()
    assert [ddl.table for ddl in created] == ["", *DEFINITIONS]
    times = [ddl.commit_ts for ddl in created]
    assert times == sorted(set(times))
    assert shop.open().commit_ts > times[-1]


def waves(count: int) -> list[tuple[list[Message], list[Message]]]:
    """Numbered rows in 3 partitions, and after every twelve a mark in each partition."""

    def message(partition: int, value: str) -> Message:
        return Message("shop", partition, None, value.encode())

    return [
        (
            [message(n % 3, f"row {n}") for n in range(12 * wave, 12 * (wave + 1))],
            [message(partition, f"mark {wave}") for partition in range(3)],
        )
        for wave in range(count)
    ]


def disturbed(disturbance: Disturbance, count: int) -> list[list[bytes | None]]:
    """What each partition's log holds in the end."""
    logs: list[list[bytes | None]] = [[], [], []]
    for rows, marks in waves(count):
        for batch in disturbance.wave(rows, marks):
            for message in batch:
                logs[message.partition].append(message.value)
    return logs


def first_copies(log: list[bytes | None]) -> list[bytes | None]:
    return list(dict.fromkeys(log))


def test_first_copies_keep_their_order_and_precede_their_mark() -> None:
    disturbance = Disturbance(1, duplicates=0.2, replays=0.2, restarts=0.3)
    undisturbed = disturbed(Disturbance(duplicates=0, replays=0, restarts=0), 40)
    logs = disturbed(disturbance, 40)
    assert [first_copies(log) for log in logs] == undisturbed
    assert disturbance.messages == sum(map(len, logs))
    assert disturbance.repeated == sum(map(len, logs)) - sum(map(len, undisturbed)) > 0


def test_a_mark_is_produced_after_the_rows_of_all_partitions() -> None:
    disturbance = Disturbance(2, duplicates=0.2, replays=0.2, restarts=0.3)
    produced: set[bytes | None] = set()
    for wave, (rows, marks) in enumerate(waves(40)):
        for batch in disturbance.wave(rows, marks):
            if f"mark {wave}".encode() in {message.value for message in batch}:
                assert {row.value for row in rows} <= produced
            produced |= {message.value for message in batch}


def test_a_restart_repeats_marks_that_are_behind() -> None:
    disturbance = Disturbance(3, duplicates=0, replays=0, restarts=1, waves=2)
    (log, _, _) = disturbed(disturbance, 2)
    first = [b"row 0", b"row 3", b"row 6", b"row 9", b"mark 0"]
    second = [b"row 12", b"row 15", b"row 18", b"row 21", b"mark 1"]
    assert log == [*first, *first, *second, *first, *second]


def test_partitions_mix_in_a_batch() -> None:
    rows, marks = waves(1)[0]
    batch = next(Disturbance(4, duplicates=0, replays=0).wave(rows, marks))
    assert batch != rows
    assert sorted(batch, key=lambda m: m.value or b"") == sorted(rows, key=lambda m: m.value or b"")
