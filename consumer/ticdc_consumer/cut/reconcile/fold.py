"""Facts of many tasks -> the greatest fact of each key: one rule, over Arrow columns.

The driver folds all facts of a cut in memory; Spark folds its sorted shuffle batch by batch
(`stream.py`) if the cut is too large for that. Equal rows of tables without a key are counted.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_consumer.cut.read.facts import SCHEMA
from ticdc_consumer.cut.reconcile.chunks import Clash


class Folded(NamedTuple):
    """The facts that count, the number of duplicates by table, and the first clash if any."""

    facts: pa.Table
    duplicates: dict[int, int]
    clash: Clash | None


def fold(facts: pa.Table, steps: bool, keyless: Sequence[int] = ()) -> Folded:
    """Returns the greatest fact of each key, by (commit_ts, present), from facts in any order.

    With `steps` the greatest of each key and commit_ts. The result is sorted by table. In each
    table, keys with one fact come first, in order of arrival; then the others, by key and
    commit_ts. The facts of `keyless` tables follow at the end, in the order of `count_rows`.
    """
    folded, rows = [], []
    for number, mine in by_table(facts).items():
        if number in keyless:
            rows.append(mine)
        else:
            folded.append(_fold_table(mine, steps))
    if rows:
        folded.append(count_rows(pa.concat_tables(rows), steps))
    return Folded(
        pa.concat_tables([part.facts for part in folded] or [facts], promote_options="default"),
        {number: count for part in folded for number, count in part.duplicates.items()},
        next((part.clash for part in folded if part.clash is not None), None),
    )


def by_table(facts: pa.Table) -> dict[int, pa.Table]:
    """Returns the facts of each table, by its number, lowest first. A batch with the facts of only
    one table, as tasks send them, is not copied."""
    batches: dict[int, list[pa.RecordBatch]] = {}
    for batch in facts.to_batches():
        numbers = pc.unique(batch["table"]).to_pylist()
        for number in numbers:
            mine = batch
            if len(numbers) > 1:
                mine = batch.filter(pc.equal(batch["table"], number))
            batches.setdefault(number, []).append(mine)
    return {number: pa.Table.from_batches(batches[number]) for number in sorted(batches)}


def _fold_table(facts: pa.Table, steps: bool) -> Folded:
    """Folds one table. Only a key with several facts needs it: most often none has, since a task
    sends one fact of a key, and a dispatcher sends a key to one partition."""
    keys = facts["key"].combine_chunks().dictionary_encode()
    if len(keys.dictionary) == len(keys):
        return Folded(facts, {}, None)
    numbers = keys.indices.to_numpy()
    several = pa.array(np.bincount(numbers)[numbers] > 1)
    order = [(name, "ascending") for name in ("key", "commit_ts", "present")]
    repeated = facts.filter(several).sort_by(order)
    folded = fold_sorted(repeated.combine_chunks(), steps)
    alone = facts.filter(pc.invert(several))
    return folded._replace(facts=pa.concat_tables([alone, folded.facts]))


def fold_sorted(facts: pa.Table, steps: bool) -> Folded:
    """Folds like `fold`, but expects facts sorted by table, key, commit_ts and present."""
    count = facts.num_rows
    if count < 2:
        return Folded(facts, {}, None)
    head, tail = facts.slice(0, count - 1), facts.slice(1)

    def same(name: str) -> pa.ChunkedArray:
        return pc.equal(head[name], tail[name])

    key = pc.and_(same("table"), same("key"))
    moment = pc.and_(key, same("commit_ts"))
    again = pc.and_(moment, same("present"))
    superseded = moment if steps else key
    last = pa.chunked_array([*pc.invert(superseded).chunks, pa.array([True])])
    duplicates: dict[int, int] = {}
    clash = None
    if pc.any(again).as_py():
        duplicates = _by_table(tail.filter(again))
        both = pc.and_(again, tail["present"])
        # A row that a task staged is not here, and may be anything.
        is_same = pc.fill_null(pc.equal(head["row"], tail["row"]), False)
        differs = pc.and_(both, pc.invert(is_same))
        if pc.any(differs).as_py():
            clash = _clash(facts, pc.index(differs, True).as_py())
    return Folded(facts.filter(last), duplicates, clash)


def split_keyless(facts: pa.Table, keyless: Sequence[int]) -> tuple[pa.Table, pa.Table]:
    """Returns the facts of tables with a key, and those of tables without one."""
    is_keyless = pc.is_in(facts["table"], pa.array(keyless, pa.int32()))
    return facts.filter(pc.invert(is_keyless)), facts.filter(is_keyless)


def count_rows(facts: pa.Table, steps: bool) -> Folded:
    """Returns one fact for each row to delete or insert, from the facts of tables without a key, in
    any order. `key` is the row, also if it is inserted.

    A change that was sent twice counts once if TiKV's key identifies it, else twice.
    """
    moment = ["table", "key", "commit_ts"]
    named = facts.filter(pc.is_valid(facts["row"]))
    once = named.group_by([*moment, "present", "row"]).aggregate([("offset", "max")])
    duplicates = _by_table(named)
    for number, count in _by_table(once).items():
        duplicates[number] -= count
    changes = pa.concat_tables(
        [
            once.select([*moment, "offset_max"]).rename_columns([*moment, "offset"]),
            facts.filter(pc.is_null(facts["row"])).select([*moment, "offset"]),
        ]
    )
    if not steps:
        never = pa.array(np.zeros(changes.num_rows, np.int64))
        changes = changes.set_column(2, "commit_ts", never)
    net = changes.group_by(moment).aggregate([("offset", "sum")])
    counts = net["offset_sum"].to_numpy()
    rows = net.take(pa.array(np.repeat(np.arange(len(counts)), np.abs(counts))))
    present = pc.greater(rows["offset_sum"], 0)
    nothing = np.zeros(rows.num_rows, np.int64)
    columns = [
        *(rows[name] for name in moment),
        present,
        pc.if_else(present, rows["key"], pa.scalar(None, pa.binary())),
        pa.array(nothing, pa.int32()),
        pa.array(nothing, pa.int64()),
    ]
    repeated = {number: count for number, count in duplicates.items() if count}
    return Folded(pa.table(columns, schema=SCHEMA), repeated, None)


def _by_table(facts: pa.Table) -> dict[int, int]:
    return {e["values"]: e["counts"] for e in pc.value_counts(facts["table"]).to_pylist()}


def _clash(facts: pa.Table, at: int) -> Clash:
    one, other = facts.slice(at, 2).select(["table", "commit_ts", "place", "offset"]).to_pylist()
    return Clash(
        one["table"],
        one["commit_ts"],
        (one["place"], one["offset"]),
        (other["place"], other["offset"]),
    )
