"""What existing rows hold after a change of a column's type, as a real TiDB answered.

`changed_columns.tsv` has a value before and after; the same value is altered by the consumer in
each target, and is either what TiDB has or a stop of `changed_stops.tsv`.
"""

from ast import literal_eval
from collections.abc import Iterator
from decimal import Context, Decimal

import pytest
from support.canonical_rows import created, load
from support.databases import fresh_database
from support.ddl_judge import REFERENCE, check
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
    "type": "what a change from",
    "value": "there are values that its new definition cannot hold",
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


def changed(target: Target, case: Answer) -> None:
    """Raises `Stop` where the consumer stops, and AssertionError where the target differs."""
    before, value, after = case.question
    schema, _ = target.locate(str(target.engine.url.database), TABLE)
    for name in (TABLE, REFERENCE):
        for text in target.drop_table(schema, name):
            target.execute(text)
    old, new = defined(before), defined(after)
    layout = created(target, old, schema)
    column = old.column("a")
    load(target, layout, [["1", canonical(stored(column, value), column.type)]])
    statement = parse_ddl(f"ALTER TABLE {TABLE} MODIFY COLUMN a {after}", "s")
    assert isinstance(statement, AlterTable)
    work = target.alter_table(schema, TABLE, evolve(statement, old), 1 << 40, ReferenceChanges())
    for query, reason in work.refusals:
        if target.connection.exec_driver_sql(query, None, {"no_parameters": True}).first():
            raise Stop(reason)
    for text in work.statements:
        target.connection.exec_driver_sql(text, None, {"no_parameters": True})
    check(target, schema, TABLE, (new, ({"id": 1, "a": stored(new.column("a"), case.answer)},)))


ALL = [case for case in answers(CHANGED) if case.answer != REFUSED]


def judged(target: Target, case: Answer) -> None:
    kind = STOPS.get((target.dialect, *case.question)) or STOPS.get(("all", *case.question))
    if kind is not None:
        with pytest.raises(Stop, match=KINDS[kind]):
            changed(target, case)
    else:
        changed(target, case)


@pytest.mark.parametrize("case", ALL, ids=str)
def test_a_changed_column_gives_existing_rows_what_it_gives_them_in_tidb(
    target: Target, case: Answer
) -> None:
    judged(target, case)


def test_in_tidb_itself_too(long: bool) -> None:
    """All of them with --long: each takes TiDB a second."""
    with fresh_database(server_address("TIDB_URL")) as url:
        for target in _opened(url):
            for case in ALL if long else ALL[::24]:
                judged(target, case)


def test_each_stop_is_one_of_the_answers() -> None:
    assert {of[1:] for of in STOPS} <= {case.question for case in ALL}
