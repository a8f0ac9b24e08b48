"""What TiDB does otherwise than MySQL, whose SQL it takes; and the contract of targets, on TiDB."""

from collections.abc import Iterator
from contextlib import suppress
from typing import ClassVar

import pytest
import sqlalchemy as sa
from support.canonical_rows import created, defined, laid_out, load, row_payloads
from targets.contract import TargetContract
from ticdc_consumer.errors import Retry, Stop, Unavailable
from ticdc_consumer.state.known_tables import lower
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.mysql.fence import _lock_name
from ticdc_consumer.targets.target import Target
from ticdc_consumer.waiting import patiently


class TestTiDb(TargetContract):
    # TiDB refuses an ALTER TABLE that changes one column twice; such a DDL waits for an operator.
    ALTERED: ClassVar = [
        case for case in TargetContract.ALTERED if not case[0].startswith("modify column n bigint,")
    ]

    @pytest.fixture
    def url(self, tidb_url: str) -> str:
        return tidb_url

    @pytest.mark.parametrize(("clauses", "after"), ALTERED)
    def test_an_altered_table_is_like_a_new_one_and_keeps_its_rows(
        self,
        target: Target,
        schema: str | None,
        clauses: str,
        after: list[tuple[object, ...]],
    ) -> None:
        super().test_an_altered_table_is_like_a_new_one_and_keeps_its_rows(
            target, schema, clauses, after
        )


@pytest.fixture
def target(tidb_url: str) -> Iterator[Target]:
    session = open_target(tidb_url)
    yield session
    session.close()


@pytest.fixture
def other(tidb_url: str) -> Iterator[Target]:
    """A second session of the same database."""
    session = open_target(tidb_url)
    yield session
    session.close()


def test_upstream_names_are_compared_as_tidb_compares_them(target: Target) -> None:
    letters = "".join(chr(n) for n in range(0x20, 0x1F000) if not 0xD800 <= n < 0xE000)
    for name in (letters, "ΟΔΟΣ", "ΟΔΟΣ ΟΔΟΣ.Σ"):
        assert lower((name, "")) == (target.query("SELECT LOWER(%s)", name)[0][0], "")


def test_a_session_that_has_a_number_by_chance_is_not_ended(target: Target, other: Target) -> None:
    # As after a restart of TiDB, which gives numbers again.
    number, client = other.session_id().split(" ")
    for identity in (f"{number} 127.0.0.1:1", f"{number} ", number):
        target.end_session(identity)
    assert other.alive()
    target.end_session(f"{number} {client}")
    assert not other.alive()


def test_a_takeover_ends_the_holder_that_no_checkpoint_names(
    tidb_url: str, target: Target, other: Target
) -> None:
    holder, of_another = open_target(tidb_url), open_target(tidb_url)
    holder.overtake("feed", 0.1, str, lambda: None)
    of_another.overtake("another", 0.1, str, lambda: None)
    # The checkpoint was written before a restart; the number is a bystander's now.
    stored = f"{other.session_id().split(' ')[0]} 127.0.0.1:1"
    target.overtake("feed", 0.1, lambda: stored, lambda: None)
    assert not holder.alive()
    assert other.alive() and of_another.alive()
    holder.close()
    of_another.close()


def test_a_takeover_ends_no_unmarked_session_but_the_checkpoints(
    tidb_url: str, target: Target, other: Target
) -> None:
    holder = open_target(tidb_url)
    # As a release that took no second lock.
    holder.query("SELECT GET_LOCK(%s, 0)", _lock_name(holder, "feed"))
    stored = f"{other.session_id().split(' ')[0]} 127.0.0.1:1"
    with pytest.raises(Unavailable, match=f"nor the checkpoint's \\({stored}\\): end the older"):
        target.overtake("feed", 0.1, lambda: stored, lambda: None)
    assert other.alive()
    assert holder.alive()
    target.overtake("feed", 0.1, holder.session_id, lambda: None)
    assert not holder.alive()
    holder.close()


@pytest.mark.parametrize(
    ("width", "number"),
    [(1, 1), (8, 5), (56, 2**55 + 3), (57, 2**56 + 3), (58, 9), (63, 2**62 + 1), (64, 2**63 - 1)],
)
def test_an_updated_bit_keeps_its_bits(target: Target, width: int, number: int) -> None:
    # TiDB's VALUES() reverses the bytes of a BIT that takes eight.
    layout = created(target, defined(f"create table t (id int primary key, b bit({width}), n int)"))
    load(target, layout, [["1", "0", "1"]])
    load(target, layout, [["1", str(number), "2"]])
    assert [tuple(row) for row in target.query("SELECT id, b + 0, n FROM t")] == [(1, number, 2)]


def test_an_index_over_an_expression_is_not_one_of_a_column(target: Target) -> None:
    target.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, UNIQUE KEY e ((a + 1)), UNIQUE KEY a (a))"
    )
    described = target.describe(None, "t")
    assert described is not None
    assert {(key.name, key.columns, key.plain) for key in described.unique_keys} == {
        ("PRIMARY", ("id",), True),
        ("e", (), False),
        ("a", ("a",), True),
    }


def test_labels_are_what_they_are(target: Target) -> None:
    table = defined(r"create table t (id int primary key, e enum('C:\\new', 'it''s', 'a\\\\b'))")
    layout = created(target, table)
    load(target, layout, [["1", "1"], ["2", "3"]])
    described = target.describe(None, "t")
    assert described is not None
    labels = {column.name: column.elements for column in described.columns}["e"]
    assert labels == table.column("e").type.elements
    assert laid_out(target, table).codecs == layout.codecs


BROKEN = ("a\nb", "a\rb", "a\0b", "a\\nb")


def test_labels_with_line_breaks_are_upstreams(target: Target) -> None:
    # TiDB's catalog shows each as two characters (`OutputFormat` of its parser).
    quoted = ",".join("'" + label.replace("\\", "\\\\") + "'" for label in BROKEN)
    table = defined(f"create table t (id int primary key, e enum({quoted}), s set({quoted[:-8]}))")
    assert table.column("e").type.elements == BROKEN
    layout = created(target, table)
    load(target, layout, [["1", "1", "1"], ["2", "3", "4"], ["3", "4", None]])
    found = target.query("SELECT id, e, s FROM t ORDER BY id")
    assert found == [(1, "a\nb", "a\nb"), (2, "a\0b", "a\0b"), (3, "a\\nb", None)]
    other = defined("create table t (id int primary key, e enum('a b'), s set('a'))")
    with pytest.raises(Stop, match="its labels are not the first ones of the target's enum"):
        laid_out(target, other)


@pytest.mark.parametrize("engine", ["MyISAM", "MEMORY"])
def test_any_engine_is_tidbs_own(target: Target, engine: str) -> None:
    target.execute(f"CREATE TABLE t (id INT PRIMARY KEY) ENGINE={engine}")
    layout = laid_out(target, defined("create table t (id int primary key)"))
    with suppress(RuntimeError), target.transaction():
        target.insert(layout, row_payloads(layout, [["1"]]), "stop")
        raise RuntimeError
    assert target.query("SELECT id FROM t") == []


def test_there_are_no_triggers(target: Target) -> None:
    target.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    with pytest.raises(sa.exc.ProgrammingError, match="error in your SQL syntax"):
        target.execute("CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.id = 1")


def defined_by(target: Target, ddl: str) -> None:
    """Runs a DDL, again where others' DDL came between (error 8028), as a run does."""

    def attempt() -> None:
        with target.errors():
            target.execute(ddl)

    patiently(attempt, 10.0, Retry)


LONGEST = "n" * 64


def test_names_of_64_characters_are_kept(target: Target) -> None:
    table = defined(
        f"create table `{LONGEST}` (`{LONGEST}` int primary key, `v{LONGEST[1:]}` int, "
        f"unique key `{LONGEST}` (`v{LONGEST[1:]}`))"
    )
    layout = created(target, table)
    load(target, layout, [["1", "2"], ["2", "3"]])
    load(target, layout, [["1", "4"]], on_drift="overwrite")
    assert load(target, layout, deleted=[["2"]]) == (1, 0)
    described = target.describe(None, LONGEST)
    assert described is not None
    assert [key.name for key in described.unique_keys] == ["PRIMARY", LONGEST]
    assert target.query(f"SELECT * FROM `{LONGEST}`") == [(1, 4)]  # noqa: S608
    (renamed,) = target.rename_table((None, LONGEST), (None, "m" * 64), None)
    target.execute(renamed)
    assert target.has_rows(None, "m" * 64)
    with pytest.raises(Stop, match=r"Identifier name .* \(error 1059\)"):
        defined_by(target, f"CREATE TABLE `{LONGEST}n` (id INT PRIMARY KEY)")


def test_a_key_that_is_not_unique_is_read_as_such(target: Target) -> None:
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY a (a))")
    described = target.describe(None, "t")
    assert described is not None
    assert [key.name for key in described.unique_keys] == ["PRIMARY"]


def test_what_tidb_cannot_alter_says_so(target: Target) -> None:
    target.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    with pytest.raises(Stop, match="Unsupported operate same column"):
        defined_by(
            target, "ALTER TABLE t MODIFY COLUMN n BIGINT, ADD KEY n (n), RENAME COLUMN n TO m"
        )


# --- its limits: what is measured is in docs/reference/databases.md ------------------------------

TEXT = "create table t (id int primary key, v longtext)"


def test_the_largest_row_is_an_entrys_and_can_be_raised(target: Target) -> None:
    layout = created(target, defined(TEXT))
    load(target, layout, [["1", "x" * (6_291_456 - 100)]])
    refusal = (
        r"^shop\.t: the row of key id=2 is larger than TiDB's txn-entry-size-limit \(entry too "
        r"large.* 6291456.*\): SET GLOBAL tidb_txn_entry_size_limit there to more, .* "
        r"\(error 8025\)$"
    )
    with pytest.raises(Stop, match=refusal):
        load(target, layout, [["2", "x" * 6_291_456]])
    target.execute("SET SESSION tidb_txn_entry_size_limit = 8000000")
    load(target, layout, [["2", "x" * 7_000_000]])
    assert target.query("SELECT id, length(v) FROM t ORDER BY id") == [(1, 6291356), (2, 7000000)]


def test_a_transaction_beyond_the_memory_quota_leaves_nothing(target: Target) -> None:
    layout = created(target, defined(TEXT))
    rows = [[str(number), "x" * 1000] for number in range(2000)]
    target.execute("SET SESSION tidb_mem_quota_query = 1048576")
    with pytest.raises(Stop, match=r"tidb_mem_quota_query .*rows_per_epoch .*\(error 8175\)"):
        load(target, layout, rows)
    assert target.query("SELECT count(*) FROM t") == [(0,)]
    target.execute("SET SESSION tidb_mem_quota_query = 16777216")
    load(target, layout, rows)
    assert target.query("SELECT count(*) FROM t") == [(2000,)]
