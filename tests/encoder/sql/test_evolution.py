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
    told = scenario("ddl")
    versions: dict[int, list[TableVersion]] = {}
    for version in told.tables:
        versions.setdefault(version.since_ts, []).append(version)
    tables: dict[Name, Table] = {}
    dropped: dict[Name, Table] = {}
    compared = 0
    for line in told.script:
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
            shown = parse_create_table(version.create, version.schema)
            made = tables[name]
            assert [comparable(c) for c in made.columns] == [comparable(c) for c in shown.columns]
            assert made.handle_key == shown.handle_key
            assert made.partitioned == shown.partitioned
            # Where the statement does not say: the database's, which is TiDB's own here.
            said = made.charset or "utf8mb4", made.collation or "utf8mb4_bin"
            assert said == (shown.charset, shown.collation)
            assert set(made.indexes) <= set(shown.indexes)
            assert {i for i in shown.indexes if i.unique} <= set(made.indexes)
            assert made.foreign_keys == shown.foreign_keys
            assert made.partitioning == shown.partitioning
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
        case RecoverTable(_, place):
            assert place == (event["schema"], event["table"])
            source = dropped.get(place) or tables["shop", "fb"]
            tables[place] = replace(source, schema=place[0], name=place[1])
        case _:
            pass
