"""Public bugs of consumers like this one: a log that shows each, and a few lines that have it.

A log is words: `4` are the changes of commit_ts 4, `4.1` the second of them, `4@1` in partition 1;
`D4` is the DDL of 4, `M9` a resolved ts in all partitions, `M9@0` in one; at `!` the consumer dies.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

Row = tuple[int, int, str]
Rows = dict[int, Row]
"""By `id`, of a table (id PRIMARY KEY, u UNIQUE, v)."""
PARTITIONS = 2


@dataclass(frozen=True)
class Item:
    """One message, or `crash`."""

    kind: str
    ts: int = 0
    partition: int = 0
    before: Row | None = None
    after: Row | None = None


@dataclass(frozen=True)
class Bug:
    """`others` do what is wrong, `here` says why it is right; `naive` gives the rows that they end
    with, or None if they end with an error. `truth` are the transactions, or TRUNCATE."""

    name: str
    issues: tuple[str, ...]
    others: str
    here: str
    truth: Mapping[int, str]
    log: str
    naive: Callable[[list[Item]], Rows | None]

    def items(self) -> list[Item]:
        return [item for word in self.log.split() for item in self._items(word)]

    def _items(self, word: str) -> Iterator[Item]:
        word, _, place = word.partition("@")
        partition = int(place or 0)
        if word == "!":
            yield Item("crash")
        elif word[0] == "M":
            everywhere = [partition] if place else range(PARTITIONS)
            yield from (Item("mark", int(word[1:]), number) for number in everywhere)
        elif word[0] == "D":
            yield Item("ddl", int(word[1:]))
        else:
            ts, _, nth = word.partition(".")
            changes = list(changes_of(self.truth[int(ts)]))
            for before, after in [changes[int(nth)]] if nth else changes:
                yield Item("row", int(ts), partition, before, after)

    def states(self) -> dict[int, Rows]:
        """What the upstream's table holds after each commit_ts."""
        rows: Rows = {}
        states = {}
        for ts, text in sorted(self.truth.items()):
            changes = list(changes_of(text))
            gone = [before[0] for before, _ in changes if before]
            rows = {key: row for key, row in rows.items() if key not in gone}
            rows |= {after[0]: after for _, after in changes if after}
            states[ts] = rows = {} if text == "TRUNCATE" else rows
        return states


def changes_of(text: str) -> Iterator[tuple[Row | None, Row | None]]:
    """Of `+ROW`, `-ROW` and `ROW>ROW`; a row is `id:u:v`."""
    for word in text.split() if text != "TRUNCATE" else ():
        before, _, after = word.rpartition(">")
        if word[0] == "-":
            before, after = word[1:], ""
        yield _row(before), _row(after.removeprefix("+"))


def _row(text: str) -> Row | None:
    if not text:
        return None
    key, unique, value = text.split(":")
    return int(key), int(unique), value


# --- those who have the bug --------------------------------------------------------------------


def _apply(rows: Rows, item: Item) -> None:
    if item.kind == "ddl":
        rows.clear()
    if item.before:
        rows.pop(item.before[0], None)
    if item.after:
        rows[item.after[0]] = item.after


def as_it_comes(items: list[Item]) -> Rows:
    rows: Rows = {}
    for item in items:
        _apply(rows, item)
    return rows


def drops_below_the_greatest_seen(items: list[Item]) -> Rows:
    rows, greatest = Rows(), 0
    for item in items:
        if item.kind == "row" and item.ts >= greatest:
            greatest = item.ts
            _apply(rows, item)
    return rows


def runs_every_copy_of_a_ddl(items: list[Item]) -> Rows:
    rows, resolved = Rows(), 0
    for item in items:
        if item.kind == "mark":
            resolved = max(resolved, item.ts)
        elif item.kind == "ddl" or item.ts >= resolved:
            _apply(rows, item)
    return rows


def drops_ddl_at_the_resolved_ts(items: list[Item]) -> Rows:
    rows, resolved = Rows(), 0
    for item in items:
        if item.kind == "mark":
            resolved = max(resolved, item.ts)
        elif item.kind == "row" or item.ts > resolved:
            _apply(rows, item)
    return rows


def commits_offsets_at_each_mark(items: list[Item]) -> Rows:
    """Rows wait in memory until each partition has a mark above them."""
    rows = Rows()
    memory: dict[int, list[Item]] = {number: [] for number in range(PARTITIONS)}
    marks = dict.fromkeys(memory, 0)
    for item in items:
        if item.kind == "row":
            memory[item.partition].append(item)
        elif item.kind == "mark":
            marks[item.partition] = item.ts
            ready = [i for held in memory.values() for i in held if i.ts < min(marks.values())]
            for each in sorted(ready, key=lambda i: i.ts):
                _apply(rows, each)
        elif item.kind == "crash":
            memory = {n: [] if marks[n] else held for n, held in memory.items()}
    return rows


def updates_row_by_row(items: list[Item]) -> Rows | None:
    rows = Rows()
    for item in items:
        if item.after and any(
            row[1] == item.after[1] and row[0] != (item.before or item.after)[0]
            for row in rows.values()
        ):
            return None  # duplicate entry
        _apply(rows, item)
    return rows


def upserts_then_deletes(items: list[Item]) -> Rows:
    rows = Rows()
    for item in items:
        if item.after:
            rows[item.after[0]] = item.after
    for item in items:
        if item.before and not item.after:
            rows.pop(item.before[0], None)
    return rows


def upserts_by_any_unique_key(items: list[Item]) -> Rows:
    rows = Rows()
    for item in items:
        if item.after is None:
            continue
        key, unique, value = item.after
        found = next((r for r in rows.values() if r[0] == key or r[1] == unique), item.after)
        rows[found[0]] = (found[0], unique, value)
    return rows


def dies_of_an_older_mark(items: list[Item]) -> Rows | None:
    resolved = [0] * PARTITIONS
    for item in items:
        if item.kind == "mark":
            if item.ts < resolved[item.partition]:
                return None
            resolved[item.partition] = item.ts
    return as_it_comes(items)


TIFLOW, TICDC = "https://github.com/pingcap/tiflow/", "https://github.com/pingcap/ticdc/"
CONNECT = "https://github.com/confluentinc/kafka-connect-jdbc/"
BUGS = (
    Bug(
        "a replay below the greatest commit_ts seen",
        (f"{TICDC}issues/4051", f"{TICDC}issues/5508"),
        "Rows below the greatest commit_ts seen are taken for copies, although they come for the "
        "first time: a lost request is sent again, or one partition has rows of two nodes.",
        "Only what is below the applied R is a replay.",
        {2: "+1:10:a", 4: "+2:20:b"},
        "4 2 4 M9",
        drops_below_the_greatest_seen,
    ),
    Bug(
        "a DDL that comes again",
        (f"{TIFLOW}issues/12595",),
        "A copy of a DDL is run again, here TRUNCATE; the rows after it are dropped as replays.",
        "A DDL below R is a replay as a row is, and copies in one cut are one entry of the ledger.",
        {2: "+1:10:a", 4: "TRUNCATE", 6: "+2:20:b"},
        "2 D4 6 M9 D4 6 M9",
        runs_every_copy_of_a_ddl,
    ),
    Bug(
        "a resolved ts that equals a DDL's commit_ts and comes before it",
        (f"{TIFLOW}issues/4731", f"{TIFLOW}pull/4901"),
        "The DDL is ignored, because the resolved ts has reached it.",
        "R covers what is below it: a cut that ends at R leaves the DDL of R to the next.",
        {2: "+1:10:a", 4: "TRUNCATE", 6: "+2:20:b"},
        "2 M4 D4 6 M9",
        drops_ddl_at_the_resolved_ts,
    ),
    Bug(
        "offsets ahead of the data",
        (f"{TIFLOW}issues/8231", "https://github.com/confluentinc/kafka-connect-hdfs/issues/57"),
        "A resolved ts commits its partition's offset while rows wait in memory for the other "
        "partitions; a restart loses them.",
        "The offsets that count are in the transaction of the rows.",
        {2: "+1:10:a", 4: "+2:20:b"},
        "2@0 4@1 M9@0 ! M9@1",
        commits_offsets_at_each_mark,
    ),
    Bug(
        "versions of one row in several partitions",
        (f"{TIFLOW}issues/11297",),
        "An UPDATE that changes the partition's key is applied before the INSERT of its row, which "
        "is in another partition.",
        "A cut is read from all partitions before any of it is applied, and the greatest commit_ts "
        "of a key counts.",
        {2: "+1:10:a", 4: "1:10:a>2:10:a"},
        "4@1 2@0 M9",
        as_it_comes,
    ),
    Bug(
        "keys that move along in one transaction",
        (f"{TIFLOW}issues/11231", f"{TIFLOW}issues/10918"),
        "Each UPDATE is a DELETE and a REPLACE, in the order in which they come: the DELETE of one "
        "takes the row that the other has written.",
        "At one commit_ts the row that is present wins over the DELETE of its key.",
        {2: "+1:10:a +2:20:b", 4: "2:20:b>3:20:b 1:10:a>2:10:a"},
        "2 M3 4.1 4.0 M9",
        as_it_comes,
    ),
    Bug(
        "two rows that swap a unique value",
        (f"{TIFLOW}issues/12089", f"{TIFLOW}issues/8552"),
        "Row by row, the first UPDATE meets the value that the second has not freed yet: duplicate "
        "entry, at each restart again.",
        "The keys of all rows of the cut are deleted before the first of them is written.",
        {2: "+1:10:a +2:20:b", 4: "1:10:a>1:20:a 2:20:b>2:10:b"},
        "2 M3 4 M9",
        updates_row_by_row,
    ),
    Bug(
        "a row that is deleted and inserted again",
        (
            f"{CONNECT}issues/1562",
            "https://github.com/debezium/debezium-connector-jdbc/pull/72",
            "https://github.com/apache/flink/pull/12803",
        ),
        "A batch's upserts are run before its deletes, and the new row goes with the old.",
        "Each key has one fact in a cut, and all deletes come before all rows.",
        {2: "+1:10:a", 4: "-1:10:a", 6: "+1:10:c"},
        "2 M3 4 6 M9",
        upserts_then_deletes,
    ),
    Bug(
        "an upsert that meets another row's unique value",
        (f"{CONNECT}issues/575",),
        "`ON DUPLICATE KEY UPDATE` overwrites whichever row holds one of the unique values.",
        "A table with more unique keys gets DELETE and plain INSERT, never an upsert.",
        {2: "+1:10:a", 4: "1:10:a>1:20:a +2:10:b"},
        "2 M3 4.1 4.0 M9",
        upserts_by_any_unique_key,
    ),
    Bug(
        "a resolved ts that goes back",
        (f"{TIFLOW}issues/12595", f"{TIFLOW}issues/11413"),
        "The consumer ends with an error, although a restart of TiCDC sends older ones again.",
        "A mark below R proves nothing, and is passed over.",
        {2: "+1:10:a", 4: "+2:20:b"},
        "2 M3 4 M6 M3 M9",
        dies_of_an_older_mark,
    ),
)

INTRODUCTION = """# Bugs of others

Public bugs of consumers like this one, and why they are none here. Each has a log in
`tests/world/others.py`, and a few lines that do as the consumer of the issue did: those end with
other rows than the upstream, or with an error. This consumer reads the same log and equals the
upstream at every commit, under many schedules and both ways of `apply`
(`tests/world/test_others.py`).

*Written by `make mutants ARGS=--write` from `tests/world/others.py`.*
"""


def document() -> str:
    """The text of `docs/explanation/bugs-of-others.md`."""
    parts = [INTRODUCTION]
    for number, bug in enumerate(BUGS, 1):
        links = ", ".join(f"[{_short(link)}]({link})" for link in bug.issues)
        title = bug.name[0].upper() + bug.name[1:]
        parts.append(f"## {number}. {title}\n\n{links}. {bug.others}\n\n*Here:* {bug.here}\n")
    return "\n".join(parts)


def _short(link: str) -> str:
    *_, owner, name, _, number = link.split("/")
    return f"{owner}/{name}#{number}"
