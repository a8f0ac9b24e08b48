"""Rows of the real TiDB have the values that the stream's decoders give, of every type."""

import pytest
from support.upstream_tidb import ODD_DATES, TYPES, Upstream
from ticdc_consumer.upstream.chunks import Chunk
from ticdc_consumer.upstream.rows import batches
from ticdc_consumer.upstream.session import reading
from ticdc_consumer.upstream.tables import defined, sent


@pytest.mark.parametrize("types", [TYPES, ODD_DATES], ids=["types", "odd dates"])
def test_a_value_of_every_type_is_in_canonical_form(
    types: list[tuple[str, str, str | bytes]], tidb: Upstream
) -> None:
    tidb.create_typed(types)
    snapshot_ts = tidb.ts()
    tidb.execute("DELETE FROM typed", "ALTER TABLE typed DROP COLUMN c0")
    with reading(tidb.url, snapshot_ts) as session:
        table = defined(session, tidb.schema, "typed").table
        rows = [
            [array[number].as_py() for array in batch]
            for batch in batches(session, table, Chunk(), rows=1)
            for number in range(len(batch[0]))
        ]
    expected = [value for sql, _, value in types if "virtual" not in sql]
    stored = ["2" if "stored" in sql else None for sql, _, _ in types if "virtual" not in sql]
    assert [column.name for column in sent(table)][1:] == [f"c{n}" for n in range(len(expected))]
    assert rows[0][0] == "1"
    assert rows[1] == ["2", *stored]
    floats = [column.type.name in ("float", "double") for column in sent(table)[1:]]
    for value, wanted, is_float in zip(rows[0][1:], expected, floats, strict=True):
        assert float(value) == float(wanted) if is_float else value == wanted
