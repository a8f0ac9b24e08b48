"""The `tableChanges` of Debezium's DDL: the table after it, in the words of the MySQL connector.

Source: TiCDC `pkg/sink/codec/debezium`, codec.go and helper.go.
"""

from collections.abc import Mapping

from ticdc_encoder.column import BINARIES, INTEGERS, TEXTS, Column, ColumnType
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Ddl, Table
from ticdc_encoder.formats.debezium.values import boolean
from ticdc_encoder.formats.defaults import stored_default
from ticdc_encoder.formats.json_text import jsoniter
from ticdc_encoder.formats.primary_key import implicit_primary_key
from ticdc_encoder.sql.parser import altered_table, parse_ddl
from ticdc_encoder.sql.statements import AddColumn, AlterTable, CreateTable, ModifyColumn

_RENAME, _EXCHANGE, _DROP_TABLE, _TRUNCATE = 14, 42, 4, 11

CHANGE_TYPES: dict[int, str] = {
    **dict.fromkeys((1, 3, 60, 21), "CREATE"),
    **dict.fromkeys((2, 4, 8, 24, 11), "DROP"),
    **dict.fromkeys(
        (
            *(5, 6, 12, 13, 15, 17, 18, 22, 26, 41, 61),
            *(7, 14, 47, 32, 33),
            *(19, 20, 23, 42, 64, 71, 72),
        ),
        "ALTER",
    ),
    0: "ALTER",
}
"""TiDB's action code -> the kind of change; 0 is an unknown code. TiCDC sends no DDL of other
codes."""

_JDBC: dict[str, int] = {
    **dict.fromkeys(("tinyint", "smallint"), 5),
    **dict.fromkeys(("mediumint", "int", "year"), 4),
    "bigint": -5,
    "float": 6,
    "double": 8,
    "decimal": 3,
    "timestamp": 2014,
    "datetime": 93,
    "date": 91,
    "time": 92,
    **dict.fromkeys(("enum", "set", "char"), 1),
    **dict.fromkeys(BINARIES, 2004),
    **dict.fromkeys(TEXTS - {"char"}, 12),
    "varbinary": -3,
    "binary": -2,
    "bit": -7,
    "json": 1111,
    "vector": 12,
}
_BARE = frozenset({"year", "bit", "varchar", "varbinary", "char", "binary", "decimal"})
_TIMES = ("timestamp", "datetime", "time", "year")
_WIDTHS = {"tinyint": 4, "smallint": 6, "mediumint": 9, "int": 11, "bigint": 20}
_USUAL_LENGTHS = {"bit": 1, "varchar": 5, "varbinary": 5, "char": 1, "binary": 1}


def changes_json(ddl: Ddl) -> str:
    """The array `tableChanges`."""
    if not ddl.table or ddl.kind == _TRUNCATE:
        return "[]"
    id_ = f'"{ddl.schema}"."{ddl.table}"'
    if ddl.kind in (_RENAME, _EXCHANGE):
        first = altered_table(ddl.query, ddl.schema) or (ddl.schema, ddl.table, False)
        other = f'"{first[0]}"."{first[1]}"'
        id_ = other if ddl.kind == _EXCHANGE else f"{other},{id_}"
    dropped = ddl.kind == _DROP_TABLE or ddl.definition is None
    table = "null" if dropped else _table_json(ddl.definition, _defined(ddl))
    change = CHANGE_TYPES.get(ddl.kind, "ALTER")
    return f'[{{"type":"{change}","id":{jsoniter(id_)},"table":{table}}}]'


def _defined(ddl: Ddl) -> dict[str, Column]:
    """The columns that the statement itself defines, by name. TiCDC sends their fractional digits
    and DEFAULT as written, and no comment."""
    try:
        statement = parse_ddl(ddl.query, ddl.schema)
    except DefinitionError:
        return {}
    match statement:
        case CreateTable(table):
            columns = table.columns
        case AlterTable():
            columns = tuple(
                action.column
                for action in statement.actions
                if isinstance(action, AddColumn | ModifyColumn)
            )
        case _:
            columns = ()
    return {column.name: column for column in columns}


def _table_json(table: Table | None, defined: Mapping[str, Column]) -> str:
    assert table is not None
    primary = implicit_primary_key(table)
    keys = ",".join([jsoniter(name) for name in primary.columns]) if primary else ""
    columns = ",".join(
        [
            _column_json(column, position, defined.get(column.name))
            for position, column in enumerate(table.columns, 1)
        ]
    )
    return (
        f'{{"defaultCharsetName":{jsoniter(table.charset or "utf8mb4")},'
        f'"primaryKeyColumnNames":[{keys}],"columns":[{columns}],"comment":null}}'
    )


def _column_json(column: Column, position: int, defined: Column | None) -> str:
    type_ = column.type
    comment = column.comment if defined is None else None
    length, scale = _length(type_, defined is not None), _scale(type_)
    source = column
    if defined is not None and defined.default is not None and type_.name in _TIMES:
        source = defined
    labels = ",".join([jsoniter(f"'{element}'") for element in type_.elements])
    charset = type_.charset if type_.name in TEXTS or type_.name in ("enum", "set") else None
    counted = boolean(column.auto_increment or (column.on_update and type_.name == "timestamp"))
    name, expression = _names(type_)
    return (
        f'{{"name":{jsoniter(column.name)},"jdbcType":{_JDBC[type_.name]},"nativeType":null,'
        f'"comment":{jsoniter(comment) if comment else "null"},'
        f'"defaultValueExpression":{_default(source)},'
        f'"enumValues":{f"[{labels}]" if labels else "null"},'
        f'"typeName":"{name}","typeExpression":"{expression}",'
        f'"charsetName":{jsoniter(charset) if charset else "null"},'
        f'"length":{"null" if length is None else length},'
        f'"scale":{"null" if scale is None else scale},'
        f'"position":{position},"optional":{boolean(column.nullable)},'
        f'"autoIncremented":{counted},"generated":{counted}}}'
    )


def _default(column: Column) -> str:
    stored = stored_default(column)
    if stored is None:
        return "null"
    if stored == "CURRENT_TIMESTAMP":
        return '"1970-01-01 00:00:00"'
    if isinstance(stored, int):
        length = column.type.length or 1
        return f'"{stored:0{length if length % 8 else 0}b}"'
    return jsoniter(stored)


def _names(type_: ColumnType) -> tuple[str, str]:
    """`typeName` and `typeExpression`."""
    name = type_.name.upper()
    if type_.name in _BARE:
        return name, name
    sign = " UNSIGNED ZEROFILL" if type_.zerofill else " UNSIGNED" if type_.unsigned else ""
    size = ""
    if type_.name == "double" and type_.decimals:
        size = f"({type_.length or 22},{type_.decimals})"
    elif type_.name == "vector" and type_.length:
        size = f"({type_.length})"
    return name + sign, name + size + sign


def _length(type_: ColumnType, named: bool) -> int | None:
    name, length = type_.name, type_.length
    if name == "year":
        return None if named else 4
    if name in _TIMES:
        return type_.decimals or (None if named else 0)
    if name in INTEGERS:
        usual = _WIDTHS[name]
        if name != "bigint":
            usual -= type_.unsigned
            usual += name == "tinyint" and type_.zerofill
        return None if length == usual else length
    if name == "set":
        return 2 * len(type_.elements) - 1
    if name == "enum":
        return 1
    if name in _USUAL_LENGTHS or name in ("float", "double", "decimal", "vector"):
        return None if length == _USUAL_LENGTHS.get(name) else length
    return None


def _scale(type_: ColumnType) -> int | None:
    return type_.decimals if type_.name in ("decimal", "float", "double") else None
