"""Public bugs of consumers like this one: a log that shows each, and a few lines that have it.

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


def dies_of_an_older_row(items: list[Item]) -> Rows | None:
    last = 0
    for item in items:
        if item.kind == "row" and item.ts < last:
            return None
        last = item.ts if item.kind == "row" else last
    return as_it_comes(items)


TIFLOW, TICDC = "https://github.com/pingcap/tiflow/", "https://github.com/pingcap/ticdc/"
CONNECT = "https://github.com/confluentinc/kafka-connect-jdbc/"
ALTINITY = "https://github.com/Altinity/clickhouse-sink-connector/"
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
    Bug(
        "an older version of a row behind a newer one",
        (f"{TIFLOW}issues/11823", f"{TIFLOW}issues/12017"),
        "A producer's retry sends a row's older version at a larger offset; the last that comes "
        "stays.",
        "The greatest commit_ts of a key counts, whatever its offset.",
        {2: "+1:10:a", 4: "1:10:a>1:10:b", 6: "1:10:b>1:10:c"},
        "2 6 4 M9",
        as_it_comes,
    ),
    Bug(
        "a panic at a row older than one before it",
        (f"{TIFLOW}issues/11366", f"{TIFLOW}issues/2887"),
        "The consumer takes commit_ts for ascending, and ends where one is lower.",
        "No order of commit_ts is assumed between two marks.",
        {2: "+1:10:a", 4: "+2:20:b"},
        "4 2 M9",
        dies_of_an_older_row,
    ),
    Bug(
        "messages that are read again after offsets could not be committed",
        (f"{TIFLOW}issues/11386",),
        "A failed commit of the offsets leads to old messages, which are older than the "
        "watermark: panic.",
        "Offsets of the group are only shown to monitors; what is below R is a replay.",
        {2: "+1:10:a", 4: "1:10:a>1:10:b"},
        "2 M3 4 M6 2 4 M9",
        dies_of_an_older_row,
    ),
    Bug(
        "rows that shift their keys by one",
        ("https://github.com/risingwavelabs/risingwave/issues/12026",),
        "`UPDATE t SET id = id + 1`: DELETE and INSERT row by row, and the DELETE of one row takes "
        "the row that the one before has written.",
        "At one commit_ts the row that is present wins over the DELETE of its key.",
        {2: "+1:10:a +2:20:b +3:30:c", 4: "1:10:a>2:10:a 2:20:b>3:20:b 3:30:c>4:30:c"},
        "2 M3 4 M9",
        as_it_comes,
    ),
    Bug(
        "the old row stays when its primary key changes",
        ("https://github.com/apache/hudi/issues/9186",),
        "An UPDATE is an upsert of its new row; nothing deletes the row of the old key.",
        "An UPDATE states two facts: the old key is absent, the new one present.",
        {2: "+1:10:a", 4: "1:10:a>2:10:a"},
        "2 M3 4 M9",
        ignores_keys_before,
    ),
    Bug(
        "two events of one position",
        ("https://github.com/MaterializeInc/materialize/issues/6553",),
        "The DELETE and the INSERT of a changed primary key have one position; the second is taken "
        "for a copy of the first.",
        "A copy says the same of the same key; another fact of the commit_ts is none.",
        {2: "+1:10:a", 4: "-1:10:a +2:10:a"},
        "2 M3 4 M9",
        drops_a_second_of_one_ts,
    ),
    Bug(
        "an INSERT that comes again",
        (f"{CONNECT}issues/327",),
        "Rows are written, offsets are not yet committed, the worker ends: the INSERT is repeated, "
        "and fails for ever.",
        "R is in the transaction of the rows: what was written is below it.",
        {2: "+1:10:a", 4: "+2:20:b"},
        "2 M3 2 4 M9",
        inserts_plainly,
    ),
    Bug(
        "an upsert that comes again",
        (f"{CONNECT}issues/874",),
        "An upsert that is repeated sets back what happened to its row since.",
        "What is below R is dropped and counted, also if it comes much later.",
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
        "The fold is a maximum: it gives the same in any order.",
        {2: "+1:10:a", 4: "1:10:a>1:10:b"},
        "4@1 2@0 M9",
        as_it_comes,
    ),
    Bug(
        "DELETEs that are carried out later",
        ("https://github.com/itinycheng/flink-connector-clickhouse/issues/54",),
        "An UPDATE is written as DELETE and INSERT, the DELETE takes effect behind the INSERT, and "
        "the row is gone.",
        "All deletes of a cut are done before its first row, in one transaction.",
        {2: "+1:10:a", 4: "1:10:a>1:10:b"},
        "2 M3 4 M9",
        deletes_late,
    ),
    Bug(
        "a sink that fails, and a source that went on",
        ("https://github.com/apache/seatunnel/issues/10574",),
        "The source's offset passes rows that the sink has not committed; after the restart they "
        "are not read again.",
        "The offsets that count are in the transaction of the rows.",
        {2: "+1:10:a", 4: "+2:20:b"},
        "2 M3 4 ! M9",
        flushes_at_marks,
    ),
    Bug(
        "DELETEs while the consumer was down",
        ("https://github.com/apache/flink-cdc/issues/2034",),
        "After a restart the rows that exist are read again; a DELETE that happened meanwhile "
        "leaves no trace.",
        "The log is read from the restart offsets, DELETEs as all else.",
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
        "A changed primary key is a DELETE and an INSERT; a flush comes between them, and the "
        "position that is stored then is that of both.",
        "R is a timestamp that no transaction straddles; a restart reads all of its messages.",
        {2: "+1:10:a", 4: "-1:10:a +2:10:a"},
        "2 M3 4.0 ! 4.1 M9",
        goes_on_behind_the_last_ts,
    ),
    Bug(
        "an offset that is deleted before it is written",
        (f"{ALTINITY}issues/1297", f"{ALTINITY}issues/1185"),
        "DELETE, then INSERT of the offset's row, in no transaction: a crash leaves none, and the "
        "connector begins at the end of the log.",
        "One UPDATE in the transaction of the rows; a checkpoint that is missing stops the start.",
        {2: "+1:10:a", 4: "+2:20:b", 6: "+3:30:c"},
        "2 M3 ! 4 6 M9",
        begins_at_the_end_without_an_offset,
    ),
    Bug(
        "all rows deleted and inserted again",
        (f"{ALTINITY}issues/1346",),
        "A nightly DELETE of all rows and their new INSERT: versions that are counted by arrival "
        "let the DELETE win.",
        "The order is that of commit_ts, which is the same at every delivery.",
        {2: "+1:10:a +2:20:b", 4: "-1:10:a -2:20:b", 6: "+1:10:a +2:20:b"},
        "2 M3 6@1 4@0 M9",
        as_it_comes,
    ),
    Bug(
        "a position newer than the state beside it",
        ("https://github.com/apache/flink-cdc/issues/2538",),
        "A position that is reached between the snapshot of the state and its completion is "
        "committed with it; what came in between is lost.",
        "R, the restart offsets and the rows are of one cut, in one transaction.",
        {2: "+1:10:a", 4: "+2:20:b", 8: "1:10:a>1:10:c"},
        "2 4 M6 8 ! M9",
        flushes_at_marks,
    ),
    Bug(
        "newer, older, newer again",
        (f"{TICDC}issues/5713", f"{TICDC}pull/5824"),
        "After B come A and B again; A is written, and the second B, behind the watermark, is "
        "dropped as a copy.",
        "All that lies below R is folded before any of it is written.",
        {2: "+1:10:a", 4: "1:10:a>1:10:b"},
        "4 2 M9 4 M12",
        runs_every_copy_of_a_ddl,
    ),
    Bug(
        "a duplicate key at every recovery",
        ("https://github.com/risingwavelabs/risingwave/issues/10251",),
        "A recovery sends what was written already; the INSERT fails, and leads to the next "
        "recovery.",
        "A recovery begins at the R that the database holds.",
        {2: "+1:10:a", 4: "+2:20:b"},
        "2 M3 ! 2 4 M9",
        inserts_plainly,
    ),
)

INTRODUCTION = """# Bugs of others

Public bugs of consumers like this one, and why they are none here. Each has a log in
`tests/world/others.py`, and a few lines that do as the consumer of the issue did: those end with
other rows than the upstream, or with an error. This consumer reads the same log and equals the
upstream at every commit, under many schedules and both ways of `apply`
(`tests/world/test_others.py`).

Those at the end are of what a message's values become. Each has one in
`tests/world/misread.py`, which a line reads as those of the issue did; this consumer reads what
TiDB holds.

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
