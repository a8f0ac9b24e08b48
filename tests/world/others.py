"""Public bugs of similar consumers: a log that shows each, and a few lines that have it.

A log is words: `4` are the changes of commit_ts 4, `4.1` the second of them, `4@1` in partition 1;
`D4` is the DDL of 4, `M9` a resolved ts in all partitions, `M9@0` in one; at `!` the consumer dies.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from world.misread import MISREAD, Misread

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
    """`others` says what goes wrong elsewhere, `here` why it does not here. `naive` returns the
    rows at the end, or None for an error. `truth` has the transactions, or TRUNCATE."""

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


# Shared by several: what differs is how the log came to be.


def ignores_keys_before(items: list[Item]) -> Rows:
    """Writes the row after an UPDATE, and leaves what its old key holds."""
    rows = Rows()
    for item in items:
        if item.after:
            rows[item.after[0]] = item.after
        elif item.before:
            rows.pop(item.before[0], None)
    return rows


def drops_a_second_of_one_ts(items: list[Item]) -> Rows:
    rows, seen = Rows(), set[int]()
    for item in items:
        if item.kind == "row" and item.ts not in seen:
            _apply(rows, item)
        seen.add(item.ts if item.kind == "row" else 0)
    return rows


def inserts_plainly(items: list[Item]) -> Rows | None:
    rows = Rows()
    for item in items:
        if item.after and not item.before and item.after[0] in rows:
            return None  # duplicate entry
        _apply(rows, item)
    return rows


def deletes_late(items: list[Item]) -> Rows:
    """An UPDATE is a DELETE and an INSERT, and DELETEs are carried out later."""
    rows, late = Rows(), list[int]()
    for item in items:
        late += [item.before[0]] if item.before else []
        if item.after:
            rows[item.after[0]] = item.after
    return {key: row for key, row in rows.items() if key not in late}


def flushes_at_marks(items: list[Item]) -> Rows:
    """Offsets pass each message; its row waits in memory for the next mark."""
    rows, memory = Rows(), list[Item]()
    for item in items:
        if item.kind == "crash":
            memory = []
        elif item.kind == "row":
            memory.append(item)
        while item.kind == "mark" and memory:
            _apply(rows, memory.pop(0))
    return rows


def knows_no_deletes_of_the_time_when_it_was_down(items: list[Item]) -> Rows:
    rows, down = Rows(), False
    for item in items:
        down = item.kind == "crash" or (down and item.kind != "mark")
        if not (down and item.before and not item.after):
            _apply(rows, item)
    return rows


def goes_on_behind_the_last_ts(items: list[Item]) -> Rows:
    """After a restart, what is of the last ts counts as done."""
    rows, last, done = Rows(), 0, 0
    for item in items:
        done = last if item.kind == "crash" else done
        if item.kind == "row" and item.ts > done:
            last = item.ts
            _apply(rows, item)
    return rows


def begins_at_the_end_without_an_offset(items: list[Item]) -> Rows:
    """The crash came after the DELETE of its offset, and before the INSERT of the next."""
    begin = max((n for n, item in enumerate(items) if item.kind == "crash"), default=len(items))
    rows = as_it_comes(items[:begin])
    for item in items[begin + 2 :]:  # what was sent while it was down
        _apply(rows, item)
    return rows


TIFLOW, TICDC = "https://github.com/pingcap/tiflow/", "https://github.com/pingcap/ticdc/"
CONNECT = "https://github.com/confluentinc/kafka-connect-jdbc/"
ALTINITY = "https://github.com/Altinity/clickhouse-sink-connector/"
BUGS = (
    Bug(
        "a late row taken for a copy",
        (f"{TICDC}issues/4051", f"{TICDC}issues/5508"),
        "The consumer drops rows below the greatest commit_ts seen. Some of them come for the "
        "first time: after a retry, or because two nodes write to one partition.",
        "Only rows below the applied R are replays.",
        {2: "+1:10:a", 4: "+2:20:b"},
        "4 2 4 M9",
        drops_below_the_greatest_seen,
    ),
    Bug(
        "a DDL that is sent twice",
        (f"{TIFLOW}issues/12595",),
        "The consumer runs the copy again, here TRUNCATE, and drops the rows after it as replays.",
        "A DDL below R is a replay, as a row is. Copies in one cut are one entry of the ledger.",
        {2: "+1:10:a", 4: "TRUNCATE", 6: "+2:20:b"},
        "2 D4 6 M9 D4 6 M9",
        runs_every_copy_of_a_ddl,
    ),
    Bug(
        "a resolved ts equal to a DDL's commit_ts, sent before the DDL",
        (f"{TIFLOW}issues/4731", f"{TIFLOW}pull/4901"),
        "The consumer ignores the DDL, because the resolved ts has reached it.",
        "R covers only what is below it. A cut that ends at R leaves the DDL of R to the next cut.",
        {2: "+1:10:a", 4: "TRUNCATE", 6: "+2:20:b"},
        "2 M4 D4 6 M9",
        drops_ddl_at_the_resolved_ts,
    ),
    Bug(
        "offsets ahead of the data",
        (f"{TIFLOW}issues/8231", "https://github.com/confluentinc/kafka-connect-hdfs/issues/57"),
        "At a resolved ts the consumer commits the partition's offset while its rows wait in "
        "memory for other partitions. A restart loses them.",
        "The offsets that count are committed in the rows' transaction.",
        {2: "+1:10:a", 4: "+2:20:b"},
        "2@0 4@1 M9@0 ! M9@1",
        commits_offsets_at_each_mark,
    ),
    Bug(
        "versions of one row in several partitions",
        (f"{TIFLOW}issues/11297",),
        "The consumer applies an UPDATE that changes the partition key before the INSERT of the "
        "row, which is in another partition.",
        "A cut is read from all partitions before it is applied, and the greatest commit_ts of a "
        "key wins.",
        {2: "+1:10:a", 4: "1:10:a>2:10:a"},
        "4@1 2@0 M9",
        as_it_comes,
    ),
    Bug(
        "keys that move within one transaction",
        (f"{TIFLOW}issues/11231", f"{TIFLOW}issues/10918"),
        "Each UPDATE becomes a DELETE and a REPLACE in the order of arrival. The DELETE of one "
        "UPDATE removes the row that another has written.",
        "At one commit_ts the present row wins over the DELETE of its key.",
        {2: "+1:10:a +2:20:b", 4: "2:20:b>3:20:b 1:10:a>2:10:a"},
        "2 M3 4.1 4.0 M9",
        as_it_comes,
    ),
    Bug(
        "two rows that swap a unique value",
        (f"{TIFLOW}issues/12089", f"{TIFLOW}issues/8552"),
        "Row by row, the first UPDATE meets the value that the second has not freed yet: a "
        "duplicate entry, after each restart again.",
        "All keys of a cut's rows are deleted before the first row is written.",
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
        "The consumer runs a batch's upserts before its deletes, and so deletes the new row.",
        "Each key has one fact in a cut, and all deletes precede all rows.",
        {2: "+1:10:a", 4: "-1:10:a", 6: "+1:10:c"},
        "2 M3 4 6 M9",
        upserts_then_deletes,
    ),
    Bug(
        "an upsert that meets another row's unique value",
        (f"{CONNECT}issues/575",),
        "`ON DUPLICATE KEY UPDATE` overwrites whichever row holds one of the unique values.",
        "A table with more than one unique key gets DELETE and plain INSERT, never an upsert.",
        {2: "+1:10:a", 4: "1:10:a>1:20:a +2:10:b"},
        "2 M3 4.1 4.0 M9",
        upserts_by_any_unique_key,
    ),
    Bug(
        "an older version of a row behind a newer one",
        (f"{TIFLOW}issues/11823", f"{TIFLOW}issues/12017"),
        "A producer's retry sends an older version of a row at a larger offset. The consumer "
        "keeps the last version that arrives.",
        "The greatest commit_ts of a key wins, whatever its offset.",
        {2: "+1:10:a", 4: "1:10:a>1:10:b", 6: "1:10:b>1:10:c"},
        "2 6 4 M9",
        as_it_comes,
    ),
    Bug(
        "rows that shift their keys by one",
        ("https://github.com/risingwavelabs/risingwave/issues/12026",),
        "`UPDATE t SET id = id + 1` becomes DELETE and INSERT row by row. The DELETE of one row "
        "removes the row written just before.",
        "At one commit_ts the present row wins over the DELETE of its key.",
        {2: "+1:10:a +2:20:b +3:30:c", 4: "1:10:a>2:10:a 2:20:b>3:20:b 3:30:c>4:30:c"},
        "2 M3 4 M9",
        as_it_comes,
    ),
    Bug(
        "the old row stays when its primary key changes",
        ("https://github.com/apache/hudi/issues/9186",),
        "The consumer upserts the new row of an UPDATE and never deletes the old key.",
        "An UPDATE states two facts: the old key is absent, the new key is present.",
        {2: "+1:10:a", 4: "1:10:a>2:10:a"},
        "2 M3 4 M9",
        ignores_keys_before,
    ),
    Bug(
        "two events at one position",
        ("https://github.com/MaterializeInc/materialize/issues/6553",),
        "The DELETE and the INSERT of a changed primary key have one position. The consumer takes "
        "the second for a copy of the first.",
        "A copy states the same fact about the same key. Other facts of that commit_ts are not "
        "copies.",
        {2: "+1:10:a", 4: "-1:10:a +2:10:a"},
        "2 M3 4 M9",
        drops_a_second_of_one_ts,
    ),
    Bug(
        "an INSERT that is sent twice",
        (f"{CONNECT}issues/327",),
        "The worker ends after it wrote rows and before it committed offsets. The repeated INSERT "
        "then fails at each restart.",
        "R is part of the rows' transaction, so what was written is below R.",
        {2: "+1:10:a", 4: "+2:20:b"},
        "2 M3 2 4 M9",
        inserts_plainly,
    ),
    Bug(
        "an upsert that is sent twice",
        (f"{CONNECT}issues/874",),
        "The repeated upsert resets later changes of its row.",
        "What is below R is dropped and counted, however late it comes.",
        {2: "+1:10:a", 4: "1:10:a>1:10:b"},
        "2 M3 4 M6 2 M9",
        as_it_comes,
    ),
    Bug(
        "more parallelism, another order",
        (
            "https://github.com/apache/flink-cdc/issues/1316",
            "https://github.com/apache/iceberg/issues/2918",
        ),
        "Several readers without a shuffle by key: an UPDATE overtakes the INSERT of its row.",
        "The fold is a maximum, which gives the same result in any order.",
        {2: "+1:10:a", 4: "1:10:a>1:10:b"},
        "4@1 2@0 M9",
        as_it_comes,
    ),
    Bug(
        "DELETEs that take effect late",
        ("https://github.com/itinycheng/flink-connector-clickhouse/issues/54",),
        "The consumer writes an UPDATE as DELETE and INSERT. The DELETE takes effect after the "
        "INSERT and removes the row.",
        "All deletes of a cut precede its first row, in one transaction.",
        {2: "+1:10:a", 4: "1:10:a>1:10:b"},
        "2 M3 4 M9",
        deletes_late,
    ),
    Bug(
        "a sink that fails after its source has moved on",
        ("https://github.com/apache/seatunnel/issues/10574",),
        "The source's offset passes rows that the sink has not committed. After a restart they "
        "are not read again.",
        "The offsets that count are committed in the rows' transaction.",
        {2: "+1:10:a", 4: "+2:20:b"},
        "2 M3 4 ! M9",
        flushes_at_marks,
    ),
    Bug(
        "DELETEs while the consumer was down",
        ("https://github.com/apache/flink-cdc/issues/2034",),
        "After a restart the consumer reads the existing rows again. A DELETE from the time "
        "between leaves no trace.",
        "The log is read from the restart offsets, including DELETEs.",
        {2: "+1:10:a +2:20:b", 4: "-1:10:a"},
        "2 M3 ! 4 M9",
        knows_no_deletes_of_the_time_when_it_was_down,
    ),
    Bug(
        "a crash between the two halves of one event",
        (
            "https://github.com/debezium/debezium/pull/7945",
            "https://github.com/debezium/debezium-connector-vitess/pull/224",
        ),
        "A changed primary key is a DELETE and an INSERT. A flush between them stores a position "
        "that covers both.",
        "R is a timestamp, so no transaction is on both sides of it. A restart reads all messages "
        "of a transaction.",
        {2: "+1:10:a", 4: "-1:10:a +2:10:a"},
        "2 M3 4.0 ! 4.1 M9",
        goes_on_behind_the_last_ts,
    ),
    Bug(
        "an offset that is deleted before it is written",
        (f"{ALTINITY}issues/1297", f"{ALTINITY}issues/1185"),
        "The connector replaces its offset by DELETE and INSERT without a transaction. A crash "
        "between them leaves no offset, and the connector starts at the end of the log.",
        "One UPDATE in the rows' transaction moves the position. A missing checkpoint stops the "
        "start.",
        {2: "+1:10:a", 4: "+2:20:b", 6: "+3:30:c"},
        "2 M3 ! 4 6 M9",
        begins_at_the_end_without_an_offset,
    ),
    Bug(
        "all rows deleted and inserted again",
        (f"{ALTINITY}issues/1346",),
        "All rows are deleted and inserted again every night. Versions that are counted by "
        "arrival let the DELETE win.",
        "Changes are ordered by commit_ts, which is the same at every delivery.",
        {2: "+1:10:a +2:20:b", 4: "-1:10:a -2:20:b", 6: "+1:10:a +2:20:b"},
        "2 M3 6@1 4@0 M9",
        as_it_comes,
    ),
    Bug(
        "a position newer than its state",
        ("https://github.com/apache/flink-cdc/issues/2538",),
        "The position moves between the snapshot of the state and its completion, and is "
        "committed with it. Changes from that time are lost.",
        "R, restart offsets and rows belong to one cut and one transaction.",
        {2: "+1:10:a", 4: "+2:20:b", 8: "1:10:a>1:10:c"},
        "2 4 M6 8 ! M9",
        flushes_at_marks,
    ),
    Bug(
        "newer, older, newer again",
        (f"{TICDC}issues/5713", f"{TICDC}pull/5824"),
        "After version B, A and B come again. The consumer writes A and drops the second B, which "
        "is below the watermark, as a copy.",
        "Everything below R is folded before any of it is written.",
        {2: "+1:10:a", 4: "1:10:a>1:10:b"},
        "4 2 M9 4 M12",
        runs_every_copy_of_a_ddl,
    ),
    Bug(
        "a duplicate key at every recovery",
        ("https://github.com/risingwavelabs/risingwave/issues/10251",),
        "A recovery repeats an INSERT that was already written. It fails and causes the next "
        "recovery.",
        "A recovery begins at the R that the database holds.",
        {2: "+1:10:a", 4: "+2:20:b"},
        "2 M3 ! 2 4 M9",
        inserts_plainly,
    ),
)

INTRODUCTION = """# Bugs of others

Public bugs of similar consumers, and why this consumer does not have them.

The first group has a log in `tests/world/others.py` and a few lines of code that act as the
consumer of the issue did: they end with other rows than the upstream, or with an error. This
consumer reads the same log, under many schedules and both ways of `apply`, and equals the upstream
at every commit (`tests/world/test_others.py`). The second group, at the end, is about a message's
values: each has a message in `tests/world/misread.py`, which this consumer reads as TiDB holds it.

Other consumers have also crashed at sequences of messages that at-least-once delivery allows
([#2887](https://github.com/pingcap/tiflow/issues/2887),
[#11366](https://github.com/pingcap/tiflow/issues/11366),
[#11386](https://github.com/pingcap/tiflow/issues/11386) and
[#11413](https://github.com/pingcap/tiflow/issues/11413) of pingcap/tiflow). The simulated world
repeats, delays and reorders messages in every way that TiCDC's contract allows; this consumer
assumes no other order.

*Written by `make mutants ARGS=--write` from `tests/world/others.py` and `misread.py`.*
"""


def document() -> str:
    """The text of `docs/explanation/bugs-of-others.md`."""
    parts = [INTRODUCTION]
    bugs: tuple[Bug | Misread, ...] = (*BUGS, *MISREAD)
    for number, bug in enumerate(bugs, 1):
        links = ", ".join(f"[{_short(link)}]({link})" for link in bug.issues)
        title = bug.name[0].upper() + bug.name[1:]
        parts.append(f"## {number}. {title}\n\n{links}. {bug.others}\n\n*Here:* {bug.here}\n")
    return "\n".join(parts)


def _short(link: str) -> str:
    *_, owner, name, _, number = link.split("/")
    return f"{owner}/{name}#{number}"
