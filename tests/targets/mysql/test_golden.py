"""Every value of the golden scenario `types`, written and read back on real servers."""

import struct
from collections.abc import Iterator, Sequence

import pytest
import sqlalchemy as sa
from support.canonical_rows import created, from_text, load
from support.golden import Contents, Value, scenario
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.mysql.session import MySql, open_session
from ticdc_encoder.column import BINARIES, Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import parse_create_table


@pytest.fixture(params=["mysql", "mariadb", "tidb"])
def target(request: pytest.FixtureRequest) -> Iterator[MySql]:
    session = open_session(sa.make_url(request.getfixturevalue(f"{request.param}_url")))
    yield session
    session.close()


def versions() -> list[tuple[Table, Contents]]:
    """Each table as it was defined, with its contents at each resolved ts."""
    types = scenario("types")
    stored = []
    for state in types.states:
        for contents in state.tables.values():
            (*_, create) = (
                version.create
                for version in types.tables
                if version.table == contents.table and version.since_ts <= state.ts
            )
            assert create is not None
            stored.append((parse_create_table(create, contents.schema), contents))
    return stored


VERSIONS = [version for version in versions() if version[0].name != "vec"]


def shown(column: Column, quoted: str) -> str:
    """The value as text that tells everything of it."""
    name = column.type.name
    if name in BINARIES:
        return f"HEX({quoted})"
    if name in ("float", "double", "enum", "set", "bit", "year"):
        return f"CAST({quoted}+0e0 AS CHAR)" if name == "float" else f"CAST({quoted}+0 AS CHAR)"
    return f"CAST({quoted} AS CHAR)"


def same(column: Column, text: str | None, value: Value) -> bool:
    if text is None or value is None:
        return text is value
    expected = from_text(value, column.type)
    match column.type.name:
        case "float":
            # TiDB prints six digits of what it has to print with an exponent.
            single = struct.unpack("<f", struct.pack("<f", float(str(expected))))[0]
            return float(text) == single or f"{float(text):.5e}" == f"{single:.5e}"
        case "double":
            return float(text) == float(str(expected))
        case "bit" | "enum" | "set":
            return int(float(text)) == int(str(expected)) or text == expected
        case "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob":
            return bytes.fromhex(text) == expected
        case "year":
            return int(text) == int(str(expected))
    return text == expected


def rows_of(table: Table, contents: Contents) -> list[list[Value]]:
    """The columns that arrive, which virtual ones do not."""
    positions = [contents.columns.index(column.name) for column in table.columns]
    return [[row[i] for i in positions] for row in contents.rows]


@pytest.mark.parametrize(
    ("table", "contents"),
    VERSIONS,
    ids=[f"{table.name}-{n}" for n, (table, _) in enumerate(VERSIONS)],
)
def test_every_value_comes_back(target: MySql, table: Table, contents: Contents) -> None:
    columns = tuple(column for column in table.columns if column.generated != "virtual")
    arriving = Table(table.schema, table.name, columns, table.indexes, table.handle_key)
    layout = created(target, arriving)
    rows = rows_of(arriving, contents)
    canonical = [
        [from_text(value, column.type) for column, value in zip(columns, row, strict=True)]
        for row in rows
    ]
    load(target, layout, canonical)
    # Once more, onto the rows that are there.
    load(target, layout, canonical)
    fields = ", ".join(
        shown(column, quoted) for column, quoted in zip(columns, layout.columns, strict=True)
    )
    by = layout.columns[layout.key_positions()[0]]
    stored: Sequence[Sequence[str | None]] = target.execute(
        f"SELECT {fields} FROM {layout.relation} ORDER BY {by}"  # noqa: S608
    ).fetchall()
    at = [column.name for column in columns].index(arriving.handle_key[0])
    rows.sort(key=lambda row: int(str(row[at])))
    assert len(stored) == len(rows)
    wrong = [
        (column.name, text, value)
        for read, row in zip(stored, rows, strict=True)
        for column, text, value in zip(columns, read, row, strict=True)
        if not same(column, text, value)
    ]
    assert wrong == []


def test_a_vector_is_refused_by_name_where_there_is_none(target: MySql) -> None:
    (table,) = {table for table, _ in versions() if table.name == "vec"}
    if target.dialect == "tidb":
        assert "`v3` vector(3)" in target.create_table(None, "vec", table)[0].lower()
        return
    with pytest.raises(Stop, match=r"column v3: .* VECTOR"):
        target.create_table(None, "vec", table)
