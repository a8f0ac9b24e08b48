"""What TiDB's tables became after each DDL of the golden script, from TiCDC's words alone."""

from dataclasses import replace

from support.golden import TableVersion, scenario
from ticdc_encoder.column import Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import apply
from ticdc_encoder.sql.parser import parse_create_table, parse_ddl
from ticdc_encoder.sql.statements import (
    AlterTable,
    CreateTable,
    CreateTableLike,
    DropSchema,
    DropTable,
    OtherAction,
    RecoverTable,
    RenameTable,
)

Name = tuple[str, str]


def test_the_golden_script_gives_tidbs_own_tables() -> None:
    golden = scenario("ddl")
    versions: dict[int, list[TableVersion]] = {}
    for version in golden.tables:
        versions.setdefault(version.since_ts, []).append(version)
    tables: dict[Name, Table] = {}
    dropped: dict[Name, Table] = {}
    compared = 0
    for line in golden.script:
        if line["kind"] != "ddl":
            continue
        for event in line["events"]:
            follow(parse_ddl(event["query"], event["schema"]), tables, dropped, event)
        for version in versions.pop(line["commit_ts"], ()):
            name = (version.schema, version.table)
            if version.dropped:
                assert name not in tables
                continue
            assert version.create is not None
            expected = parse_create_table(version.create, version.schema)
            evolved = tables[name]
            assert [comparable(c) for c in evolved.columns] == [
                comparable(c) for c in expected.columns
            ]
            assert evolved.handle_key == expected.handle_key
            assert evolved.partitioned == expected.partitioned
            # Where the statement does not say: the database's, which is TiDB's own here.
            defaults = evolved.charset or "utf8mb4", evolved.collation or "utf8mb4_bin"
            assert defaults == (expected.charset, expected.collation)
            assert set(evolved.indexes) <= set(expected.indexes)
            assert {i for i in expected.indexes if i.unique} <= set(evolved.indexes)
            assert evolved.foreign_keys == expected.foreign_keys
            assert evolved.partitioning == expected.partitioning
            compared += 1
    assert compared > 80
    assert not versions


def comparable(column: Column) -> Column:
    """TiDB words defaults and expressions in its own way."""
    default = column.default
    if default is not None and column.type.name in ("decimal", "double"):
        default = str(float(default))
    if default is not None and column.type.name == "bit":
        default = default.replace("b'0", "b'")
    if default is not None and column.type.name == "binary":
        default = default.rstrip("\0")
    return replace(column, expression=None, default=default)


def follow(
    statement: object, tables: dict[Name, Table], dropped: dict[Name, Table], event: dict[str, str]
) -> None:
    match statement:
        case CreateTable(table):
            tables[table.schema, table.name] = table
        case CreateTableLike(schema, name, like):
            tables[schema, name] = replace(tables[like], schema=schema, name=name)
        case DropTable(schema, name):
            dropped[schema, name] = tables.pop((schema, name))
        case DropSchema(schema):
            for of in [name for name in tables if name[0] == schema]:
                del tables[of]
        case RenameTable(old, new):
            tables[new] = apply(statement, tables.pop(old))
        case AlterTable(schema, name, actions):
            assert not any(isinstance(action, OtherAction) for action in actions)
            tables[schema, name] = apply(statement, tables[schema, name])
        case RecoverTable(_, table_name):
            assert table_name == (event["schema"], event["table"])
            source = dropped.get(table_name) or tables["shop", "fb"]
            tables[table_name] = replace(source, schema=table_name[0], name=table_name[1])
        case _:
            pass
