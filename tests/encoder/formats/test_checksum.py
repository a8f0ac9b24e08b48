from decimal import Decimal

import pytest
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import RowChange, Table, Value
from ticdc_encoder.formats.checksum import ChecksumMismatch, fits, row_checksum, verify

# By TiDB's algorithm: a value's bytes, and the checksum of a row of that column alone.
VALUES: list[tuple[str, str, Value, int]] = [
    ("int", "2a00000000000000", 42, 227844599),
    ("int", "ffffffffffffffff", -1, 558161692),
    ("year", "e707000000000000", 2023, 697355679),
    ("bigint", "ffffffffffffffff", 18446744073709551615, 558161692),
    ("float", "00000060b81e0940", 3.14, 2507193074),
    ("double", "ae47e17a14ae0540", 2.71, 839210014),
    ("enum", "0200000000000000", 2, 654825492),
    ("set", "0500000000000000", 5, 767742221),
    ("bit", "3412000000000000", 0x1234, 2497974025),
    ("varchar", "06000000666f6f626172", "foobar", 3248530951),
    ("blob", "0300000000ff01", b"\x00\xff\x01", 1218906119),
    ("varchar", "00000000", "", 558161692),
    ("decimal", "0b000000323333332e363534333231", Decimal("2333.654321"), 665925509),
    ("date", "0a000000323032302d30322d3230", "2020-02-20", 2503864307),
    (
        "datetime",
        "17000000323032302d30322d32302030323a32303a32302e313233",
        "2020-02-20 02:20:20.123",
        998770478,
    ),
    (
        "timestamp",
        "1a000000323032342d30332d31312030383a35313a30312e343631323730",
        "2024-03-11 08:51:01.461270",
        2268481689,
    ),
    (
        "timestamp",
        "13000000303030302d30302d30302030303a30303a3030",
        "0000-00-00 00:00:00",
        508189733,
    ),
    ("time", "0a0000002d3833383a35393a3539", "-838:59:59", 700676275),
    ("json", "120000007b226b657931223a202276616c756531227d", '{"key1": "value1"}', 425922850),
    ("vector", "030000000000803f0000004000006040", "[1,2,3.5]", 2569833435),
    ("int", "", None, 0),
]


@pytest.mark.parametrize(("type_", "hex_", "value", "checksum"), VALUES)
def test_a_value_counts_by_its_bytes(type_: str, hex_: str, value: Value, checksum: int) -> None:
    column = Column("c", ColumnType(type_))
    assert row_checksum([column], {"c": value}) == checksum
    # A blob is its length and its bytes.
    raw = bytes.fromhex(hex_)
    if type_ not in ("blob", "varchar") and len(raw) >= 4:
        size = int.from_bytes(raw[:4], "little")
        if size == len(raw) - 4:
            blob = Column("c", ColumnType("blob"))
            assert row_checksum([blob], {"c": raw[4:]}) == checksum


def _table(*columns: tuple[str, str]) -> Table:
    return Table("d", "t", tuple(Column(name, ColumnType(type_)) for name, type_ in columns))


ROWS: list[tuple[Table, dict[str, Value], int]] = [
    (
        _table(("c1", "varchar"), ("c2", "int"), ("c3", "varchar")),
        {"c1": None, "c2": 42, "c3": "foobar"},
        183663747,
    ),
    (
        _table(("id", "int"), ("name", "varchar"), ("nul", "int"), ("price", "decimal")),
        {"id": 1, "name": "alice", "nul": None, "price": Decimal("12.3400")},
        870442977,
    ),
]


@pytest.mark.parametrize(("table", "row", "checksum"), ROWS)
def test_a_row_counts_in_the_order_of_its_columns(
    table: Table, row: dict[str, Value], checksum: int
) -> None:
    assert row_checksum(table.columns, row) == checksum
    assert row_checksum(table.columns, dict(reversed(row.items()))) == checksum
    assert row_checksum(tuple(reversed(table.columns)), row) != checksum
    assert fits(table, row, checksum)
    assert fits(table, row, 0)  # a row without a checksum
    assert not fits(table, row, checksum + 1)
    assert fits(table, None, checksum)


@pytest.mark.parametrize(("type_", "value"), [("float", 1e39), ("vector", "[a]")])
def test_what_a_type_cannot_hold_is_corrupted(type_: str, value: Value) -> None:
    table = Table("s", "t", (Column("c", ColumnType(type_)),))
    change = RowChange(table, 1, None, {"c": value})
    assert verify(change, 0, 5, "warn")
    with pytest.raises(ChecksumMismatch):
        verify(change, 0, 5, "stop")


def test_a_corrupted_change_stops_or_is_marked() -> None:
    (table, row, checksum), _ = ROWS
    change = RowChange(table, 5, row, row)
    assert not verify(change, checksum, checksum, "stop")
    for previous, current, reported in (
        (checksum, 1, False),
        (1, checksum, False),
        (checksum, checksum, True),
    ):
        assert verify(change, previous, current, "warn", reported=reported)
        with pytest.raises(ChecksumMismatch) as raised:
            verify(change, previous, current, "stop", reported=reported)
        assert str(raised.value) == "a row of d.t does not match its checksum (commit_ts 5)"
