"""ALTER TABLE of tables that the consumer did not make: exact, or it stops with the reason."""

from collections.abc import Sequence

import pytest
from support.loading import ACCOUNTS, BEFORE, Bank, bank, crashes, open_bank, opened, place
from ticdc_consumer.ddl import run as ddl
from ticdc_consumer.errors import Stop
from ticdc_consumer.state.known_tables import Basis
from ticdc_consumer.state.ledger import LedgerEntry
from ticdc_consumer.targets.target import Target
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Table

ID = Column("id", ColumnType("int"), nullable=False)
ROWS = Table("bank", "accounts", (ID, Column("owner", ColumnType("varchar"))))
"""What Canal-JSON's rows tell: no length."""


def entry(query: str, seq: int = 1) -> LedgerEntry:
    return LedgerEntry(199, seq, "bank", "accounts", query)


def snapshot(target: Target, seen: Table | None, basis: Basis = "seen") -> Bank:
    """A bank that an operator loaded; rows of it came, or none did."""
    here = bank(target)
    if seen is not None:
        with target.transaction():
            here.store.ledger.define(seen, basis)
    return here


def run(here: Bank, *queries: str) -> None:
    """Each DDL at a commit_ts of its own, as an epoch does it."""
    with here.target.transaction():
        here.store.ledger.add(
            LedgerEntry(201 + n, 1, "bank", "accounts", query) for n, query in enumerate(queries)
        )
    ddl.run_pending(here.ddl_context, here.store, retries=1)


def bases(here: Bank) -> set[Basis]:
    """How sure the known definitions are."""
    return {definition.basis for definition in here.store.ledger.known().by_name.values()}


def execute(target: Target, *statements: str) -> None:
    for text in statements:
        text = text.replace("accounts", target.quote(*place(target)))
        target.connection.exec_driver_sql(text, None, {"no_parameters": True})


def rows(target: Target, columns: str = "*") -> list[tuple[object, ...]]:
    relation = target.quote(*place(target))
    result = target.execute(f"SELECT {columns} FROM {relation} ORDER BY id").all()  # noqa: S608
    return [tuple(row) for row in result]


def types(target: Target) -> dict[str, str]:
    described = target.describe(*place(target))
    assert described is not None
    return {column.name: column.type.lower() for column in described.columns}


@pytest.mark.parametrize("seen", [None, ROWS], ids=["no row came", "rows came"])
@pytest.mark.parametrize(
    ("query", "columns", "expected"),
    [
        (
            "ADD COLUMN n VARCHAR(9) NOT NULL DEFAULT 'n' FIRST",
            "id, owner, n",
            [(*row, "n") for row in BEFORE],
        ),
        ("ADD COLUMN n INT AFTER owner", "id, owner, n", [(*row, None) for row in BEFORE]),
        ("DROP COLUMN owner", "*", [(key,) for key, _ in BEFORE]),
        ("RENAME COLUMN owner TO holder", "id, holder", BEFORE),
        ("DROP INDEX nowhere", "*", BEFORE),
    ],
)
def test_what_needs_no_type_of_the_upstream_runs_on_a_snapshot(
    target_url: str, seen: Table | None, query: str, columns: str, expected: Sequence[object]
) -> None:
    with opened(target_url) as target:
        here = snapshot(target, seen)
        run(here, f"ALTER TABLE accounts {query}")
        assert rows(target, columns) == expected
        assert bases(here) <= {"seen"}
        assert here.store.ledger.definitions() == {}


def test_types_that_the_rows_told_let_the_rest_run_too(target_url: str) -> None:
    with opened(target_url) as target:
        here = snapshot(target, ROWS)
        run(
            here,
            "ALTER TABLE accounts MODIFY COLUMN owner VARCHAR(40)",
            "ALTER TABLE accounts MODIFY COLUMN id BIGINT NOT NULL, ADD INDEX k (owner)",
            "ALTER TABLE accounts ADD COLUMN n INT",
            "DROP INDEX k ON accounts",
        )
        assert rows(target, "id, owner, n") == [(*row, None) for row in BEFORE]
        result = types(target)
        assert result["owner"].startswith(
            {"sqlite": "text", "postgresql": "text"}.get(target.dialect, "varchar(40)")
        )
        assert result["id"].startswith("integer" if target.dialect == "sqlite" else "bigint")


@pytest.mark.parametrize("server", ["mariadb", "mysql", "tidb"])
def test_an_alter_of_a_snapshot_is_done_once_after_any_crash(
    server: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    add = entry("ALTER TABLE accounts ADD COLUMN n INT NOT NULL DEFAULT 7, DROP COLUMN owner")
    for before, crashed in crashes(url):
        with before.target.transaction():
            before.store.ledger.define(ROWS, "seen")
        before.apply(add)
        crashed(lambda before=before: pending(before))  # type: ignore[misc]
        with opened(url) as target:
            here = open_bank(target)
            pending(here)
            assert rows(target, "id, n") == [(1, 7), (2, 7), (4, 7)]
            assert [e.state for e in here.store.ledger.entries()] == ["done"]


def pending(here: Bank) -> None:
    ddl.run_pending(here.ddl_context, here.store, retries=1)


REFUSED: list[tuple[str, str, Table | None, str, str]] = [
    (
        "sqlite postgresql",
        "",
        None,
        "MODIFY owner TEXT",
        "the upstream type of column owner is not known",
    ),
    (
        "sqlite postgresql",
        "",
        None,
        "ADD KEY k (owner)",
        "the upstream type of column owner is not known",
    ),
    (
        "postgresql",
        "ALTER TABLE accounts ALTER COLUMN owner TYPE varchar(20)",
        ROWS,
        "MODIFY owner VARCHAR(40)",
        "is character varying(20), but the consumer creates text",
    ),
    (
        "sqlite postgresql",
        "CREATE UNIQUE INDEX mine ON accounts (owner)",
        ROWS,
        "DROP INDEX theirs",
        "is upstream's theirs; the consumer would have named it accounts_theirs_",
    ),
    (
        "postgresql",
        "ALTER TABLE accounts ALTER COLUMN owner SET DEFAULT 'x'",
        ROWS,
        "ALTER COLUMN owner DROP DEFAULT",
        "column owner has a default here that did not come from upstream",
    ),
    (
        "mariadb mysql",
        "ALTER TABLE accounts MODIFY owner INT",
        Table("bank", "accounts", (ID, Column("owner", ColumnType("year")))),
        "MODIFY owner VARCHAR(20)",
        "column owner is int here, and year upstream",
    ),
    (
        "mariadb mysql",
        "ALTER TABLE accounts MODIFY owner DECIMAL(20,2)",
        None,
        "MODIFY owner VARCHAR(20)",
        "column owner is decimal here, and unknown upstream",
    ),
    (
        "mariadb mysql tidb",
        "ALTER TABLE accounts MODIFY owner DECIMAL(20,6)",
        Table("bank", "accounts", (ID, Column("owner", ColumnType("decimal")))),
        "MODIFY owner TINYTEXT",
        "column owner becomes text, and how many digits it has after the point upstream is not",
    ),
    (
        "mariadb mysql tidb",
        "ALTER TABLE accounts MODIFY owner TIME(3)",
        None,
        "MODIFY owner MEDIUMTEXT",
        "column owner becomes text, and how many digits it has after the point upstream is not",
    ),
    (
        "mariadb mysql tidb postgresql",
        "ALTER TABLE accounts MODIFY owner INT UNSIGNED",
        Table("bank", "accounts", (ID, Column("owner", ColumnType("int", unsigned=True)))),
        "MODIFY owner TEXT",
        "column owner becomes text, and whether it is ZEROFILL upstream is not known",
    ),
    (
        "mariadb mysql tidb",
        "ALTER TABLE accounts MODIFY owner INT DEFAULT 7",
        Table("bank", "accounts", (ID, Column("owner", ColumnType("int")))),
        "MODIFY owner SMALLINT DEFAULT 7",
        "column owner may have had another default upstream than here",
    ),
    (
        "sqlite postgresql mariadb mysql tidb",
        "ALTER TABLE accounts ADD COLUMN extra INT",
        ROWS,
        "ADD COLUMN IF NOT EXISTS extra INT DEFAULT 7",
        "already; the values in its rows are not certain",
    ),
    (
        "sqlite postgresql",
        "",
        Table("bank", "accounts", (ID, Column("owner", ColumnType("enum")))),
        "MODIFY owner ENUM('b', 'a')",
        "the upstream type of column owner is not known",
    ),
]


@pytest.mark.parametrize(
    ("dialects", "statement", "seen", "query", "why"), REFUSED, ids=[c[3] for c in REFUSED]
)
def test_what_is_not_certain_of_a_snapshot_stops(
    target_url: str, dialects: str, statement: str, seen: Table | None, query: str, why: str
) -> None:
    with opened(target_url) as target:
        if target.dialect not in dialects.split():
            return
        here = snapshot(target, seen)
        if "MODIFY" in statement:
            execute(target, "UPDATE accounts SET owner = '1901'")
            if target.dialect == "postgresql":
                statement = "ALTER TABLE accounts ALTER owner TYPE bigint USING owner::bigint"
        execute(target, *filter(None, [statement]))
        before = rows(target), types(target)
        with pytest.raises(Stop) as stop:
            run(here, f"ALTER TABLE accounts {query}")
        assert why in str(stop.value)
        assert (rows(target), types(target)) == before


@pytest.mark.parametrize(
    ("statement", "queries", "why"),
    [
        (None, ("ADD COLUMN n INT",), None),
        ("ALTER TABLE accounts ADD COLUMN m INT", ("ADD COLUMN n INT", "ADD COLUMN o INT"), None),
        ("ALTER TABLE accounts ADD COLUMN n INT", ("ADD COLUMN n INT",), "n is in .* already"),
        (None, ("MODIFY owner VARCHAR(40)", "MODIFY owner VARCHAR(50)"), None),
    ],
)
def test_a_table_that_missed_a_ddl_takes_what_is_exact(
    target_url: str, statement: str | None, queries: Sequence[str], why: str | None
) -> None:
    with opened(target_url) as target:
        here = snapshot(target, ACCOUNTS, "declared")
        execute(target, *filter(None, [statement]))
        texts = [f"ALTER TABLE accounts {query}" for query in queries]
        if why is None:
            run(here, *texts)
            assert bases(here) == {"declared"}
        else:
            with pytest.raises(Stop, match=why):
                run(here, *texts)


def test_a_type_given_by_a_person_stops_only_its_columns_change(postgresql_url: str) -> None:
    with opened(postgresql_url) as target:
        here = snapshot(target, ACCOUNTS, "declared")
        execute(target, "ALTER TABLE accounts ALTER COLUMN owner TYPE varchar(99)")
        run(here, "ALTER TABLE accounts ADD COLUMN n INT")
        with pytest.raises(Stop, match="is character varying"):
            run_at(here, 210, "ALTER TABLE accounts MODIFY owner VARCHAR(40)")


def run_at(here: Bank, ts: int, query: str) -> None:
    with here.target.transaction():
        here.store.ledger.add([LedgerEntry(ts, 1, "bank", "accounts", query)])
    pending(here)


@pytest.mark.parametrize("server", ["mariadb", "mysql", "tidb"])
def test_the_catalog_of_one_ddl_is_not_upstreams_for_the_next(
    server: str, request: pytest.FixtureRequest
) -> None:
    with opened(request.getfixturevalue(f"{server}_url")) as target:
        year = Table("bank", "accounts", (ID, Column("owner", ColumnType("year"))))
        here = snapshot(target, year)
        execute(target, "UPDATE accounts SET owner = '1901'")
        execute(target, "ALTER TABLE accounts MODIFY owner INT")
        run(here, "ALTER TABLE accounts ADD COLUMN n INT")
        with pytest.raises(Stop, match="column owner is int here, and unknown upstream"):
            run_at(here, 210, "ALTER TABLE accounts MODIFY owner VARCHAR(20)")
