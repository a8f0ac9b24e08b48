"""What existing rows hold after a change of a column's type, as a real TiDB answered.

`changed_columns.tsv` has a value before and after; the same value is altered by the consumer in
each target, and is either what TiDB has or a stop of `changed_stops.tsv`.
"""

from ast import literal_eval
from collections.abc import Iterator, Sequence
from decimal import Context, Decimal

import pytest
from ddl.judge import REFERENCE, check
from support.canonical_rows import created, load
from support.databases import fresh_database
from support.server_address import server_address
from support.tidb_answers import CHANGED, REFUSED, Answer, answers
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import ReferenceChanges
from ticdc_consumer.targets.target import Target
from ticdc_encoder.column import INTEGERS, TEMPORALS, Column, ColumnType
from ticdc_encoder.event import Table, Value
from ticdc_encoder.sql.evolution import evolve
from ticdc_encoder.sql.parser import parse_create_table, parse_ddl
from ticdc_encoder.sql.statements import AlterTable
from ticdc_encoder.values import canonical, single

KINDS = {
    "type": "cannot convert existing values from",
    "value": "it has values that its new definition cannot hold",
    "date": "a date that PostgreSQL does not have",
}
"""The reasons of the stops."""
STOPS = {
    (target, *question): kind
    for kind, target, *question in (
        line.split("\t") for line in (CHANGED.parent / "changed_stops.tsv").read_text().splitlines()
    )
}
"""What stops, by target or for `all`, and the kind of its reason."""

TABLE = "t"
_DIGITS = Context(prec=65)


TARGETS = ("sqlite", "postgresql", "mariadb", "mysql")


@pytest.fixture(scope="module", params=TARGETS)
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    if request.param == "sqlite":
        file = tmp_path_factory.mktemp("changed") / "target.db"
        yield from _opened(f"sqlite:///{file}")
    elif request.param == "postgresql":
        with fresh_database(request.getfixturevalue("postgresql_server")) as url:
            yield from _opened(url)
    else:
        with fresh_database(server_address(f"{request.param.upper()}_URL")) as url:
            yield from _opened(url)


def _opened(url: str) -> Iterator[Target]:
    target = open_target(url)
    schema, _ = target.locate(str(target.engine.url.database), TABLE)
    for text in target.create_schema(schema) if schema is not None else ():
        target.execute(text).close()
    yield target
    target.close()


def defined(type_: str, name: str = TABLE) -> Table:
    return parse_create_table(f"CREATE TABLE {name} (id INT PRIMARY KEY, a {type_})", "s")


def stored(column: Column, shown: str) -> Value:
    """A value of the table of answers, as a protocol carries it."""
    type_ = column.type
    if shown == "NULL":
        return None
    if shown.startswith("x'"):
        data = bytes.fromhex(shown[2:-1])
        return data.ljust(type_.length or 1, b"\0") if type_.name == "binary" else data
    text = literal_eval(shown) if shown.startswith("'") else shown
    match type_.name:
        case "float":
            return single(float(text))
        case "double":
            return float(text)
        case "decimal":
            return _DIGITS.quantize(Decimal(text), Decimal(1).scaleb(-(type_.decimals or 0)))
        case "enum":
            return type_.elements.index(text) + 1 if text else 0
        case "set":
            return sum(1 << type_.elements.index(label) for label in text.split(",") if label)
        case name if name in INTEGERS | {"year", "bit"}:
            return int(text)
        case name if name in TEMPORALS:
            return _with_digits(type_, text)
    return str(text)


def _with_digits(type_: ColumnType, text: str) -> str:
    whole, _, digits = text.partition(".")
    return f"{whole}.{digits:0<{type_.decimals}}" if type_.decimals else whole


def changed(target: Target, old: Table, new: Table, cases: Sequence[Answer], ddl: str) -> None:
    """Raises `Stop` where the consumer stops, and AssertionError where the target differs. A row of
    each case, and one of NULL where there may be one."""
    schema, _ = target.locate(str(target.engine.url.database), TABLE)
    for name in (TABLE, REFERENCE):
        for text in target.drop_table(schema, name):
            target.execute(text)
    layout = created(target, old, schema)
    before, after = old.column("a"), new.column("a")
    values = [(stored(before, case.question[1]), stored(after, case.answer)) for case in cases]
    if before.nullable and after.nullable:
        values.append((None, None))
    load(
        target,
        layout,
        [
            [str(number), None if value is None else canonical(value, before.type)]
            for number, (value, _) in enumerate(values)
        ],
    )
    statement = parse_ddl(ddl, "s")
    assert isinstance(statement, AlterTable)
    work = target.alter_table(schema, TABLE, evolve(statement, old), ReferenceChanges())
    for query, reason in work.refusals:
        if target.connection.exec_driver_sql(query, None, {"no_parameters": True}).first():
            raise Stop(reason)
    for text in work.statements:
        target.connection.exec_driver_sql(text, None, {"no_parameters": True})
    rows = tuple({"id": number, "a": value} for number, (_, value) in enumerate(values))
    check(target, schema, TABLE, (new, rows))


ALL = [case for case in answers(CHANGED) if case.answer != REFUSED]
CHANGES = {
    change: [case for case in ALL if (case.question[0], case.question[2]) == change]
    for change in dict.fromkeys((case.question[0], case.question[2]) for case in ALL)
}
"""By the types before and after."""


def judged(target: Target, change: tuple[str, str], cases: Sequence[Answer]) -> None:
    before, after = change
    old, new = defined(before), defined(after)
    ddl = f"ALTER TABLE {TABLE} MODIFY COLUMN a {after}"
    exact = []
    for case in cases:
        kind = STOPS.get((target.dialect, *case.question)) or STOPS.get(("all", *case.question))
        if kind is None:
            exact.append(case)
            continue
        with pytest.raises(Stop, match=KINDS[kind]):
            changed(target, old, new, [case], ddl)
    if exact:
        changed(target, old, new, exact, ddl)


@pytest.mark.parametrize("change", CHANGES, ids=" -> ".join)
def test_a_changed_column_gives_existing_rows_tidbs_values(
    target: Target, change: tuple[str, str]
) -> None:
    judged(target, change, CHANGES[change])


KEYED = (
    ("DATETIME(6)", "DATETIME", "'1999-12-31 23:59:59.5'", "'2000-01-01 00:00:00'"),
    ("TIMESTAMP(6)", "TIMESTAMP(3)", "'1999-12-31 23:59:59.9995'", "'2000-01-01 00:00:00.000'"),
    ("TIME(3)", "TIME", "'-00:00:01.499'", "'-00:00:01'"),
    ("DATETIME(3)", "DATE", "'1969-12-31 23:59:59'", "'1969-12-31'"),
    ("DATE", "INT", "'2024-02-29'", "20240229"),
    ("DATE", "VARCHAR(10)", "'2024-02-29'", "'2024-02-29'"),
    ("DECIMAL(10,4)", "DECIMAL(8,2)", "-1.0050", "-1.01"),
    ("DECIMAL(10,4)", "BIGINT", "2.5000", "3"),
    ("DECIMAL(10,4)", "DOUBLE", "0.1000", "0.1"),
    ("DECIMAL(10,4)", "FLOAT", "0.1000", "0.1"),
    ("VARCHAR(9)", "CHAR(9)", "'a  '", "'a'"),
    ("ENUM('a','b')", "ENUM('b','a')", "'b'", "'b'"),
)
KEYS = ("KEY k (a)", "UNIQUE KEY k (a)", "UNIQUE KEY k (a, id)", "PRIMARY KEY (a, id)")


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(("before", "after", "value", "becomes"), KEYED)
def test_so_it_does_in_a_key_and_with_a_default(
    target: Target, before: str, after: str, value: str, becomes: str, key: str
) -> None:
    definition = "CREATE TABLE t (id INT NOT NULL, a {} NOT NULL DEFAULT {}, UNIQUE KEY u (id), {})"
    old = parse_create_table(definition.format(before, value, key), "s")
    new = parse_create_table(definition.format(after, becomes, key), "s")
    ddl = f"ALTER TABLE {TABLE} MODIFY COLUMN a {after} NOT NULL DEFAULT {becomes}"
    changed(target, old, new, [Answer((before, value, after), becomes)], ddl)


def test_in_tidb_itself_too(long: bool) -> None:
    """All of them with --long: each takes TiDB a second."""
    with fresh_database(server_address("TIDB_URL")) as url:
        for target in _opened(url):
            for change in CHANGES if long else list(CHANGES)[::24]:
                judged(target, change, CHANGES[change])


def test_each_stop_is_one_of_the_answers() -> None:
    assert {of[1:] for of in STOPS} <= {case.question for case in ALL}
