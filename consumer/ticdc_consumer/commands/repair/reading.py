"""Reads the upstream's rows of a request's keys, as of one timestamp."""

from collections.abc import Sequence

import pyarrow as pa
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.commands.repair.differing_keys import load_again
from ticdc_consumer.commands.verify.keys import key_arrays, rows_of
from ticdc_consumer.commands.verify.pairs import pair, reason, repair_layout
from ticdc_consumer.config.options import Settings
from ticdc_consumer.cut.apply.repair import Repair, RepairedTable
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.repairs import RepairRequest, TableKeys
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import encoders
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.upstream.session import (
    SnapshotRemoved,
    UpstreamSession,
    reading,
    upstream_url,
)
from ticdc_consumer.upstream.tables import defined

MOST_BYTES = 256 << 20
"""Most bytes of a request's rows, which are in memory at once."""


def read_repair(options: Settings, store: Store, request: RepairRequest, end: int) -> Repair:
    """The rows as of `end` - 1. Tables that cannot be written are left out, with the reason; a
    passing failure, such as an unreachable upstream, puts the whole request off."""
    tables, left = list[RepairedTable](), list[str]()
    room = MOST_BYTES
    try:
        with reading(upstream_url(options), end - 1) as session:
            for name, keys in request.tables.items():
                try:
                    tables.append(_table(options, store, session, name, keys, room))
                    room -= tables[-1].rows.nbytes
                except SnapshotRemoved:
                    raise
                except Stop as refusal:
                    left.append(f"{'.'.join(name)}: {refusal}")
    except TicdcError as error:
        return Repair(request.number).refused(str(error))
    return Repair(request.number, tables, "; ".join(left))


def _table(
    options: Settings,
    store: Store,
    session: UpstreamSession,
    name: TableName,
    differing: TableKeys,
    room: int,
) -> RepairedTable:
    if store.quarantine.get(name) is not None:
        raise Stop(
            f"it is quarantined: load it by: ticdc-consumer release CONFIG {'.'.join(name)} "
            "--load, then verify again"
        )
    table = defined(session, *name).table
    try:
        both = pair(store.target, options, InTarget.by(options, store.target), table)
        layout = repair_layout(both, store.target)
    except Stop as refusal:
        raise Stop(reason(refusal, table)) from None
    if both.key != differing.columns:
        raise Stop("its key columns have changed: verify again")
    encode_rows, encode_keys = encoders(layout.dialect)
    keys = dict.fromkeys(encode_keys(layout, key_arrays(layout, differing.keys)).to_pylist())
    rows = dict[bytes, bytes]()
    size = 0
    for arrays in rows_of(both, layout, differing.keys, session):
        payloads = encode_rows(layout, arrays)
        size += payloads.nbytes
        if size > room:
            raise Stop(f"its rows have more than {MOST_BYTES >> 20} MiB: {load_again(name)}")
        row_keys = encode_keys(layout, [arrays[n] for n in layout.key_positions()])
        rows.update(zip(row_keys.to_pylist(), payloads.to_pylist(), strict=True))
    # The upstream's collation may make a key find the row of another one.
    all_keys, asked = _payloads([*(keys | rows)]), len(differing.keys)
    return RepairedTable(layout, asked, all_keys, _payloads([*rows.values()]))


def _payloads(values: Sequence[bytes]) -> pa.BinaryArray:
    return pa.array(values, pa.binary())
