"""What holds of every target.

A test module subclasses `TargetContract` with a fixture `url`, of a database that is empty and the
test's own, and gets all of it. Where databases rightly differ, the contract asks the target
(`has_zero_dates`, `transactional_ddl`, `session_id`), or a subclass says so in an attribute.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import ClassVar

import pyarrow as pa
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.canonical_rows import (
    Canonical,
    contents,
    created,
    defined,
    key_payloads,
    laid_out,
    load,
    row_payloads,
)
from ticdc_consumer.errors import Retry, Stop, Unavailable, UnknownCommit
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.layout import Layout, ReferenceChanges
from ticdc_consumer.targets.target import Target
from ticdc_encoder.column import ColumnType
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.clauses import complete
from ticdc_encoder.sql.evolution import evolve
from ticdc_encoder.sql.parser import parse_ddl
from ticdc_encoder.sql.statements import AlterTable

USERS = (
    "create table users (id bigint primary key, mail varchar(40), name text, "
    "unique key mail (mail))"
)
NAMES = [
    ("orders", "Orders"),
    ("ärger", "Ärger"),
    ("é", "e"),
    ("ſ", "s"),
    ("İ", "i̇"),
    ("İ", "i"),
    ("ı", "I"),
    ("\N{KELVIN SIGN}", "k"),
    ("ß", "ẞ"),
    ("ΟΔΟΣ", "οδος"),
    ("ΟΔΟΣ", "οδοσ"),
    ("Ⱥ", "ⱥ"),
    ("Ꙁ", "Ꙁ"),
    ("Ა", "ა"),
    ("が", "か"),
]
"""Of two tables, the same on some servers and not on others."""

PLAIN = "create table plain (id bigint primary key, name text, b blob)"
KEYLESS = "create table heap (a int, b varchar(9))"

HOSTILE = [
    "'; DROP TABLE t; -- x",
    "sp ace",
    "x" * 60,
    "{stage}",
    'a"b',
    "a'b",
    "a;b -- c",
    "a`b",
    "a%sb",
    "100%",
    "Größe 表",
    "a\\b",
    "[x]",
    ":x ? $1{}",
]

# (type, a key as it is written, the same key as it is looked for, another key)
KEYS: list[tuple[str, Canonical, Canonical, Canonical]] = [
    ("INT", "-5", "-5", "5"),
    ("BIGINT UNSIGNED", "18446744073709551615", "18446744073709551615", "18446744073709551614"),
    ("VARCHAR(9)", "a,'b", "a,'b", "a,'c"),
    ("VARCHAR(9) COLLATE utf8mb4_general_ci", "a", "a", "b"),
    ("VARBINARY(9)", b"\0'", b"\0'", b"\0"),
    ("BINARY(3)", b"a\0\0", b"a\0\0", b"b\0\0"),
    ("DECIMAL(9,3)", "1.500", "1.500", "1.501"),
    (
        "DECIMAL(65,30)",
        "1" * 35 + "." + "1" * 30,
        "1" * 35 + "." + "1" * 30,
        "1" * 35 + "." + "1" * 29 + "2",
    ),
    ("FLOAT", "3.14", "3.14", "3.1399999"),
    ("DOUBLE", "1e308", "1" + "0" * 308, "1e307"),
    ("TIME(3)", "00:00:01.400", "00:00:01.400", "00:00:01.401"),
    ("TIME", "-838:59:59", "-838:59:59", "838:59:59"),
    (
        "DATETIME(6)",
        "2024-01-01 00:00:00.500000",
        "2024-01-01 00:00:00.500000",
        "2024-01-01 00:00:00.000000",
    ),
    (
        "TIMESTAMP(3)",
        "2024-01-01 00:00:00.500",
        "2024-01-01 00:00:00.500",
        "2024-01-01 00:00:00.000",
    ),
    ("DATE", "1000-01-01", "1000-01-01", "9999-12-31"),
    ("YEAR", "0", "0", "2000"),
    ("BIT(64)", "18446744073709551615", "18446744073709551615", "1"),
    ("ENUM('b','2','a')", "3", "3", "2"),
    ("SET('x','y')", "3", "3", "2"),
]

ZERO_KEYS: list[tuple[str, Canonical, Canonical, Canonical]] = [
    ("DATE", "0000-00-00", "0000-00-00", "2023-00-31"),
    ("DATETIME", "2024-00-10 00:00:00", "2024-00-10 00:00:00", "2024-00-11 00:00:00"),
]

# (type, values in canonical form, least and greatest first)
VALUES: list[tuple[str, list[Canonical]]] = [
    ("TINYINT", ["-128", "127", "0"]),
    ("INT UNSIGNED", ["0", "4294967295"]),
    ("BIGINT", ["-9223372036854775808", "9223372036854775807"]),
    ("BIGINT UNSIGNED", ["0", "18446744073709551615", "9223372036854775808"]),
    ("DECIMAL(65,30)", ["-" + "9" * 35 + "." + "9" * 30, "0." + "0" * 29 + "1"]),
    ("DOUBLE", ["-1.7976931348623157e308", "2.2250738585072014e-308", "0.1", "-0"]),
    ("FLOAT", ["3.4028235e38", "1.1754944e-38", "3.14"]),
    ("BIT(1)", ["0", "1"]),
    ("BIT(64)", ["0", "18446744073709551615"]),
    ("YEAR", ["1901", "2155", "0"]),
    ("DATE", ["1000-01-01", "9999-12-31"]),
    ("DATETIME(6)", ["1000-01-01 00:00:00.000000", "9999-12-31 23:59:59.999999"]),
    ("TIMESTAMP(6)", ["1970-01-01 00:00:01.000000", "2038-01-19 03:14:07.999999"]),
    ("TIME(6)", ["-838:59:59.000000", "838:59:59.000000", "00:00:00.000001"]),
    ("CHAR(5)", ["", "a", "😀😀😀😀😀"]),
    ("VARCHAR(20)", ["", " ", "a  ", "it's \\ % \"", "\t\r\n", "Größe 😀"]),
    ("TEXT", ["", "null", "\\N", "NULL", "x" * 5000]),
    ("BINARY(3)", [b"\0\0\0", b"a\0\0", b"\xff\xfe\xfd"]),
    ("VARBINARY(9)", [b"", b"\0", b"\\x", b"\xff'"]),
    ("LONGBLOB", [b"", bytes(range(256)) * 9]),
    ("ENUM('a','it''s','')", ["1", "2", "3"]),
    ("SET('x','y','z')", ["0", "5", "7"]),
    ("JSON", ['{"a": [1, "é\\u001f", null, -1.5]}', '"x"', "null"]),
]


MALFORMED = [
    "{}],[7,{}",
    '{}"],["7","{}',
    "{}\n7\t{}",
    "{}\t{}",
    "{}),(7,{}",
    "{}'),('7','{}",
    "{}\\",
]
"""Texts that no number and no date has: some would be two rows where they are not quoted."""


def meaning(value: object, type_: ColumnType) -> object:
    """What a value says, read from a driver or in canonical form."""
    name = type_.name
    if value is None:
        return None
    if type_.binary:
        return bytes(value)  # type: ignore[call-overload]
    if name == "bit" and isinstance(value, bytes):
        return int.from_bytes(value, "big")
    if name == "float":
        # MySQL shows six digits of it.
        return pytest.approx(float(str(value)), rel=1e-5)
    if name == "double":
        return float(str(value))
    if name == "json":
        return json.loads(str(value))
    if name == "date":
        return value if isinstance(value, date) else date.fromisoformat(str(value))
    if name in ("datetime", "timestamp"):
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return moment.replace(tzinfo=None)
    if name == "time":
        return value if isinstance(value, timedelta) else duration(str(value))
    if name in ("enum", "set") or type_.name.endswith(("text", "char")):
        return value
    return Decimal(str(value))


def duration(text: str) -> timedelta:
    hours, minutes, seconds = text.removeprefix("-").split(":")
    length = timedelta(hours=int(hours), minutes=int(minutes))
    length += timedelta(microseconds=int(Decimal(seconds) * 1_000_000))
    return -length if text.startswith("-") else length


def labels(value: Canonical, type_: ColumnType) -> object:
    """Of an ENUM's index or a SET's mask, what a target holds that has labels."""
    if value is None or type_.name not in ("enum", "set"):
        return value
    number = int(value)
    if type_.name == "enum":
        return ("", *type_.elements)[number]
    return ",".join(label for bit, label in enumerate(type_.elements) if number >> bit & 1)


def rows(count: int, text: str = "x") -> list[list[Canonical]]:
    return [[str(i), f"{text}{i}\t\\\n%s", bytes([i % 256])] for i in range(count)]


def stored(count: int, text: str = "x") -> list[tuple[object, ...]]:
    return [(i, f"{text}{i}\t\\\n%s", bytes([i % 256])) for i in range(count)]


class Failure(Exception):
    """Ends a transaction."""


class TargetContract:
    holds_nul: ClassVar[bool] = True
    """Whether texts hold the character NUL."""

    @pytest.fixture
    def target(self, url: str) -> Iterator[Target]:
        opened = open_target(url)
        yield opened
        opened.close()

    @pytest.fixture
    def other(self, url: str) -> Iterator[Target]:
        """A second session of the same database."""
        opened = open_target(url)
        yield opened
        opened.close()

    # --- sessions ---------------------------------------------------------------------------

    def test_a_session_answers_and_so_does_the_next(self, target: Target) -> None:
        assert target.alive()
        target.reconnect()
        assert target.alive()
        assert target.query("SELECT 1") == [(1,)]

    def test_a_percent_sign_is_only_that(self, target: Target) -> None:
        assert target.query("SELECT '100%s'") == [("100%s",)]

    def test_a_session_that_another_ended_is_lost(self, target: Target, other: Target) -> None:
        session = other.session_id()
        if not session:
            with pytest.raises(Unavailable):
                target.end_session(session)
            return
        target.end_session(session)
        target.end_session(session)  # it is gone, which is no error
        with pytest.raises(Retry, match="lost"), other.errors():
            other.execute("SELECT 1")
        other.reconnect()
        assert other.alive()

    def test_a_connection_lost_before_commit_is_tried_again(
        self, target: Target, other: Target
    ) -> None:
        layout = created(target, defined(PLAIN))
        if not target.session_id():
            return
        with pytest.raises(Retry, match="lost") as lost, target.transaction():
            target.insert(layout, row_payloads(layout, rows(30)), "stop")
            other.end_session(target.session_id())
            target.insert(layout, row_payloads(layout, rows(30)), "stop")
        assert isinstance(lost.value.__cause__, Exception) and target.lost(lost.value.__cause__)
        target.reconnect()
        assert contents(target, layout) == []

    def test_a_connection_lost_at_commit_leaves_the_outcome_unknown(
        self, target: Target, other: Target
    ) -> None:
        layout = created(target, defined(PLAIN))
        if not target.session_id():
            assert not target.lost(Retry("any"))
            return
        with pytest.raises(UnknownCommit), target.transaction():
            target.insert(layout, row_payloads(layout, rows(1)), "stop")
            other.end_session(target.session_id())
        target.reconnect()
        assert contents(target, layout) == []

    # --- the fence --------------------------------------------------------------------------

    def test_whoever_overtakes_works_in_one_transaction(self, target: Target) -> None:
        layout = created(target, defined(PLAIN))

        def work() -> str:
            target.insert(layout, row_payloads(layout, rows(2)), "stop")
            return "done"

        def broken() -> str:
            work()
            raise Failure

        with pytest.raises(Failure):
            target.overtake("feed", 0.2, str, broken)
        assert contents(target, layout) == []
        assert target.overtake("feed", 0.2, str, work) == "done"
        assert contents(target, layout) == stored(2)

    @pytest.mark.slow
    def test_whoever_is_in_the_way_is_ended_or_named(self, target: Target, other: Target) -> None:
        layout = created(target, defined(PLAIN))
        load(target, layout, rows(1))
        locked = target.locking_read(sa.select(sa.table("plain", sa.column("id"))))

        def read() -> int:
            return len(target.connection.execute(locked).all())

        other.overtake("feed", 0.2, str, lambda: None)
        with pytest.raises((Retry, UnknownCommit, Failure)), other.transaction():
            other.insert(layout, row_payloads(layout, rows(3)[2:]), "stop")
            other.connection.execute(locked).all()
            if other.session_id():
                assert target.overtake("feed", 0.2, other.session_id, read) == 1
                other.execute("SELECT 1")
            else:
                with pytest.raises(Unavailable, match="another process holds"):
                    target.overtake("feed", 0.2, str, read)
                raise Failure
        assert contents(target, layout) == stored(1)

    # --- values -----------------------------------------------------------------------------

    @pytest.mark.parametrize("malformed", MALFORMED)
    @pytest.mark.parametrize(
        ("sql_type", "good"),
        [(of, key) for of, key, *_ in KEYS if "CHAR" not in of and "BINARY" not in of],
    )
    def test_a_value_that_is_not_of_its_type_is_refused(
        self, target: Target, sql_type: str, good: str, malformed: str
    ) -> None:
        bad = malformed.format(good, good)
        layout = created(target, defined(f"create table m (id bigint primary key, v {sql_type})"))
        of_key = created(target, defined(f"create table k (v {sql_type} primary key)"))
        load(target, layout, [["1", good]])
        load(target, of_key, [[good]])
        before = contents(target, layout), contents(target, of_key)
        attacks: list[tuple[Layout, list[list[Canonical]], list[list[Canonical]]]] = [
            (layout, [["2", bad]], []),
            (of_key, [[bad]], []),
            (of_key, [], [[bad]]),
        ]
        for attacked, inserted, deleted in attacks:
            with pytest.raises(TicdcError):
                load(target, attacked, inserted, deleted)
            assert (contents(target, layout), contents(target, of_key)) == before

    # --- names ------------------------------------------------------------------------------

    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_hostile_name_is_only_a_name(self, target: Target, name: str) -> None:
        quoted = name.replace("`", "``")
        table = defined(
            f"create table `{quoted}` (`{quoted}` varchar(64) primary key, `v{quoted}` int, "
            f"unique key `{quoted}` (`v{quoted}`))"
        )
        schema, table_name = target.locate(f"{target.engine.url.database}_{name}"[:60], name)
        for statement in target.create_schema(schema) if schema is not None else ():
            target.execute(statement)
        layout = created(target, table, schema)
        load(target, layout, [[f"{i}{name}", str(i)] for i in range(50)])
        load(target, layout, [[f"{i}{name}", str(i)] for i in range(60)], on_drift="overwrite")
        assert load(target, layout, deleted=[[f"3{name}"], [f"4{name}"]])[0] == 2
        assert len(contents(target, layout)) == 58
        assert target.has_rows(schema, table_name)
        for statement in target.truncate_table(schema, table_name):
            target.execute(statement)
        assert not target.has_rows(schema, table_name)
        for statement in target.drop_table(schema, table_name) * 2:
            target.execute(statement)
        assert target.describe(schema, table_name) is None

    @pytest.mark.parametrize("name", ["", "a\0b"])
    def test_a_name_that_cannot_be_is_refused(self, target: Target, name: str) -> None:
        with pytest.raises(Stop, match="the name"):
            target.quote(None, name)

    # --- the catalog ------------------------------------------------------------------------

    def test_a_table_is_described_as_it_was_created(self, target: Target) -> None:
        table = defined(
            "create table t (id bigint unsigned, mail varchar(40) not null, n int default 5, "
            "d decimal(9,2), at datetime(3), v int as (n + 1) virtual, b varbinary(9), "
            "primary key (id, mail), unique key n (n), key plain_ (d))"
        )
        assert target.describe(None, "t") is None
        created(target, table)
        described = target.describe(None, "t")
        assert described is not None
        types = {column.name: column.type for column in described.columns}
        assert set(types) == set(target.column_types(table))
        assert set(types) - {"v"} == {"id", "mail", "n", "d", "at", "b"}
        if target.transactional_ddl:
            assert types == target.column_types(table)
        required = [column.name for column in described.columns if not column.nullable]
        assert required == ["id", "mail"]
        computed = {column.name for column in described.columns if column.generated}
        assert computed == types.keys() & {"v"}
        keys = {frozenset(key.columns): key for key in described.unique_keys}
        assert keys.keys() == {frozenset({"id", "mail"}), frozenset({"n"})}
        assert all(key.plain for key in keys.values())
        assert keys[frozenset({"id", "mail"})].primary and not keys[frozenset({"n"})].primary
        assert described.triggers == () and target.references(None, "t") == ()

    @pytest.mark.parametrize(("name", "other"), NAMES)
    def test_names_are_compared_as_the_target_compares_them(
        self, target: Target, name: str, other: str
    ) -> None:
        for text in target.create_table(None, name, defined(PLAIN)):
            target.execute(text).close()
        same = target.comparable((None, name)) == target.comparable((None, other))
        assert (target.describe(None, other) is not None) == same
        if not same:
            single = defined("create table o (k int primary key)")
            for text in target.create_table(None, other, single):
                target.execute(text).close()
            described = [target.describe(None, each) for each in (name, other)]
            assert [each and len(each.columns) for each in described] == [3, 1]

    @pytest.mark.parametrize(("name", "other"), NAMES)
    def test_a_stored_name_is_found_by_each_that_is_the_same(
        self, target: Target, name: str, other: str
    ) -> None:
        kept = sa.Table("kept", sa.MetaData(), sa.Column("name", sa.String))
        table = defined("create table kept (name varchar(64) collate utf8mb4_bin primary key)")
        created(target, table)
        target.connection.execute(kept.insert().values(name=name))
        found = target.connection.execute(sa.select(kept).where(target.named(kept.c.name, [other])))
        same = target.comparable((None, name)) == target.comparable((None, other))
        assert found.scalars().all() == ([name] if same else [])

    def test_a_schema_that_is_not_there_has_no_tables(self, target: Target) -> None:
        schema, _ = target.locate(f"{target.engine.url.database}_other", "t")
        for statement in target.create_schema(schema) if schema is not None else ():
            assert target.tables_of(schema) == []
            target.execute(statement)
        created(target, defined("create table t (id int primary key)"), schema)
        assert target.tables_of(schema) == ["t"]

    @pytest.mark.parametrize("before", [[], ["SELECT id FROM t"]], ids=["first", "after its table"])
    def test_a_view_has_its_columns_and_leaves_its_table_readable(
        self, target: Target, before: list[str]
    ) -> None:
        created(target, defined("create table t (id int primary key, n int)"))
        target.execute("CREATE VIEW v AS SELECT n, id FROM t")
        with target.transaction():
            for statement in before:
                target.execute(statement)
            assert target.columns_of_view(None, "v") == ("n", "id")
            assert target.columns_of_view(None, "v") == ("n", "id")
            assert target.query("SELECT * FROM v") == target.query("SELECT * FROM t") == []

    def test_rows_are_noticed(self, target: Target) -> None:
        layout = created(target, defined(PLAIN))
        assert not target.has_rows(None, "plain")
        load(target, layout, rows(1))
        assert target.has_rows(None, "plain")

    # --- values -----------------------------------------------------------------------------

    @pytest.mark.parametrize(("declared", "values"), VALUES)
    def test_a_value_comes_back_as_it_was(
        self, target: Target, declared: str, values: list[Canonical]
    ) -> None:
        table = defined(f"create table t (id int primary key, c {declared} null)")
        layout = created(target, table)
        written: list[Canonical] = [*values, None]
        load(target, layout, [[str(i), value] for i, value in enumerate(written)])
        type_ = table.column("c").type
        got = [meaning(value, type_) for _, value in contents(target, layout)]
        assert got == [meaning(labels(value, type_), type_) for value in written]

    @pytest.mark.parametrize("position", ["only", "first", "last"])
    @pytest.mark.parametrize(("declared", "value", "again", "another"), [*KEYS, *ZERO_KEYS])
    def test_a_key_of_any_type_finds_its_row(
        self,
        target: Target,
        declared: str,
        value: Canonical,
        again: Canonical,
        another: Canonical,
        position: str,
    ) -> None:
        columns = {"only": "k", "first": "k, n", "last": "n, k"}[position]
        table = defined(f"create table t (k {declared}, n int, primary key ({columns}))")
        layout = created(target, table)
        written = [[value, "1"], [another, "2"]]
        if (declared, value, again, another) in ZERO_KEYS and not target.has_zero_dates:
            with pytest.raises(Stop, match=r"shop\.t\.k"):
                load(target, layout, written)
            return
        load(target, layout, written)
        key = {"only": [again], "first": [again, "1"], "last": ["1", again]}[position]
        absent = {"only": [again], "first": [another, "7"], "last": ["7", another]}[position]
        assert target.existing(layout, key_payloads(layout, [key])) == 1
        assert load(target, layout, deleted=[key, absent])[0] == 1
        assert target.query("SELECT n FROM t") == [(2,)]

    @settings(
        max_examples=20,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.differing_executors,
        ],
    )
    @given(data=st.data())
    def test_any_text_and_bytes_survive(self, target: Target, data: st.DataObject) -> None:
        character = st.characters(
            exclude_categories=["Cs"], exclude_characters="" if self.holds_nul else "\0"
        )
        pairs = st.tuples(st.none() | st.text(character), st.none() | st.binary())
        values = data.draw(st.lists(pairs, min_size=1, max_size=50))
        for statement in target.drop_table(None, "plain"):
            target.execute(statement)
        layout = created(target, defined(PLAIN))
        load(target, layout, [[str(i), *row] for i, row in enumerate(values)])
        assert contents(target, layout) == [(i, *row) for i, row in enumerate(values)]

    # --- rows -------------------------------------------------------------------------------

    @pytest.mark.parametrize("count", [1, 20, 21, 500])
    def test_rows_are_upserted_and_deleted(self, target: Target, count: int) -> None:
        layout = created(target, defined(PLAIN))
        assert layout.upsert
        load(target, layout, rows(count, "old"))
        load(target, layout, rows(count, "new"))
        assert contents(target, layout) == stored(count, "new")
        keys = [[str(i)] for i in range(1, count + 5)]
        assert target.existing(layout, key_payloads(layout, keys)) == count - 1
        assert load(target, layout, deleted=keys)[0] == count - 1
        assert contents(target, layout) == stored(1, "new")

    def test_a_table_of_nothing_but_its_key_is_upserted(self, target: Target) -> None:
        table = defined(
            "create table odd (a varchar(20), b varbinary(9), c decimal(9,2), "
            "primary key (a, b, c))"
        )
        layout = created(target, table)
        written: list[list[Canonical]] = [
            [f"it's ? \\ % \t\n{{}} {i}", bytes([i]), f"{i}.50"] for i in range(30)
        ]
        load(target, layout, written)
        load(target, layout, written)
        assert load(target, layout, deleted=written[1:])[0] == 29
        assert len(contents(target, layout)) == 1

    def test_many_keys_are_deleted(self, target: Target) -> None:
        single = created(target, defined("create table s (id int primary key)"))
        several = created(
            target, defined("create table c (a int, b varchar(9), primary key (a, b))")
        )
        keys = [[str(i * 7 % 2501)] for i in range(2501)]
        load(target, single, keys)
        load(target, several, [[key, "x"] for (key,) in keys])
        assert load(target, single, deleted=keys[1:]) == (2500, 0)
        assert load(target, several, deleted=[[key, "x"] for (key,) in keys[1:]]) == (2500, 0)
        assert contents(target, single) == [(0,)]

    def test_unique_values_are_swapped_by_deletes_before_inserts(self, target: Target) -> None:
        layout = created(target, defined(USERS))
        assert not layout.upsert
        load(target, layout, [["1", "a", "A"], ["2", "b", "B"], ["3", None, "C"], ["4", None, "D"]])
        load(target, layout, [["1", "b", "A"], ["2", "a", "B"]])
        assert contents(target, layout) == [
            (1, "b", "A"),
            (2, "a", "B"),
            (3, None, "C"),
            (4, None, "D"),
        ]

    @pytest.mark.parametrize(("mail", "cleared"), [("a@x", 1), (None, 0), ("A@X", 0), ("n@x", 0)])
    def test_rows_in_the_way_are_cleared_and_counted(
        self, target: Target, mail: str | None, cleared: int
    ) -> None:
        layout = created(target, defined(USERS))
        load(target, layout, [["1", "a@x", "n"], ["2", None, "n"]])
        assert load(target, layout, [["9", mail, "n"]], on_drift="overwrite")[1] == cleared
        assert len(contents(target, layout)) == 3 - cleared

    def test_equal_rows_without_a_key_are_counted(self, target: Target) -> None:
        layout = created(target, defined(KEYLESS))
        assert not layout.key
        null: list[Canonical] = ["1", None]
        one: list[Canonical] = ["1", "x"]
        same: list[list[Canonical]] = [*[null] * 3, *[one] * 2, [None, None]]
        with target.transaction():
            target.insert(layout, row_payloads(layout, same), "stop")
        deleted: list[list[Canonical]] = [*[null] * 2, *[one] * 5, ["2", None]]
        with target.transaction():
            assert target.delete_rows(layout, row_payloads(layout, deleted)) == 4
        left = target.query("SELECT a, b FROM heap")
        assert sorted(left, key=str) == [(1, None), (None, None)]

    def test_payloads_may_be_slices(self, target: Target) -> None:
        layout = created(target, defined(PLAIN))
        payloads = row_payloads(layout, rows(100))
        with target.transaction():
            target.insert(layout, payloads.slice(10, 50), "stop")
            target.insert(layout, payloads.slice(60, 3), "stop")
            target.insert(layout, pa.array([], pa.binary()), "stop")
            keys = key_payloads(layout, [["9"], ["10"], ["11"]])
            assert target.delete(layout, keys.slice(1, 1)) == 1
        assert [row[0] for row in contents(target, layout)] == list(range(11, 63))

    def test_what_is_shown_to_people_does_the_same(self, target: Target) -> None:
        layout = created(target, defined(USERS))
        payloads = row_payloads(layout, [["1", "it's %s", None], ["2", 'a"\\b', "😀\n"]])
        for text in target.shown_inserts(layout, payloads, "stop"):
            target.execute(text)
        assert contents(target, layout) == [(1, "it's %s", None), (2, 'a"\\b', "😀\n")]
        for text in target.shown_deletes(layout, key_payloads(layout, [["1"]])):
            target.execute(text)
        assert len(contents(target, layout)) == 1

    # --- transactions -----------------------------------------------------------------------

    def test_all_of_a_transaction_happens_or_nothing(self, target: Target) -> None:
        layout = created(target, defined(PLAIN))
        load(target, layout, rows(1))

        def work() -> None:
            for start in (0, 40, 80):
                some = rows(120)[start : start + 40]
                target.delete(layout, key_payloads(layout, [[row[0]] for row in some]))
                target.insert(layout, row_payloads(layout, some), "stop")

        with pytest.raises(Failure), target.transaction():
            work()
            raise Failure
        assert contents(target, layout) == stored(1)
        with target.transaction():
            work()
        assert contents(target, layout) == stored(120)

    def test_ddl_is_of_the_transaction_where_the_target_says_so(self, target: Target) -> None:
        with pytest.raises(Failure), target.transaction():
            layout = created(target, defined(PLAIN))
            target.insert(layout, row_payloads(layout, rows(3)), "stop")
            raise Failure
        assert (target.describe(None, "plain") is None) is target.transactional_ddl

    def test_others_see_only_what_is_committed(self, target: Target, other: Target) -> None:
        layout = created(target, defined(PLAIN))
        with target.transaction():
            target.insert(layout, row_payloads(layout, rows(1)), "stop")
            assert contents(other, layout) == []
        assert contents(other, layout) == stored(1)

    # --- DDL --------------------------------------------------------------------------------

    @pytest.fixture
    def schema(self, target: Target) -> str | None:
        """The session's own, as the consumer names it."""
        default = sa.inspect(target.connection).default_schema_name
        return target.locate(str(default), "t")[0]

    def alter(self, target: Target, schema: str | None, table: Table, clauses: str) -> Table:
        """Runs an ALTER TABLE; returns the definition afterwards."""
        statement = parse_ddl(f"alter table {table.name} {clauses}", table.schema)
        assert isinstance(statement, AlterTable)
        evolved = evolve(statement, complete(table, table.columns, table.indexes))
        work = target.alter_table(schema, table.name, evolved, ReferenceChanges())
        for query, reason in work.refusals:
            if target.query(query):
                raise Stop(reason)
        for text in work.statements:
            target.execute(text)
        return evolved.after

    ALTERED: ClassVar[list[tuple[str, list[tuple[object, ...]]]]] = [
        ("add column c int not null default 7", [(1, "a", 5, 7), (2, None, 6, 7)]),
        ("drop column name", [(1, 5), (2, 6)]),
        ("rename column name to label", [(1, "a", 5), (2, None, 6)]),
        ("modify column n bigint, add index (n)", [(1, "a", 5), (2, None, 6)]),
        ("modify column name varchar(99)", [(1, "a", 5), (2, None, 6)]),
        ("drop index n", [(1, "a", 5), (2, None, 6)]),
    ]

    @pytest.mark.parametrize(("clauses", "after"), ALTERED)
    def test_an_altered_table_is_like_a_new_one_and_keeps_its_rows(
        self,
        target: Target,
        schema: str | None,
        clauses: str,
        after: list[tuple[object, ...]],
    ) -> None:
        table = defined(
            "create table t (id int primary key, name varchar(9), n int, unique key n (n))"
        )
        layout = created(target, table)
        load(target, layout, [["1", "a", "5"], ["2", None, "6"]])
        altered = self.alter(target, schema, table, clauses)
        created(target, replace(altered, name="new"))
        described, new = target.describe(schema, "t"), target.describe(schema, "new")
        assert described is not None and new is not None
        assert set(described.columns) == set(new.columns)
        keys = {(key.columns, key.primary) for key in described.unique_keys}
        assert keys == {(key.columns, key.primary) for key in new.unique_keys}
        assert contents(target, laid_out(target, altered)) == after

    def test_what_rows_would_not_keep_is_refused(self, target: Target, schema: str | None) -> None:
        table = defined("create table t (id int primary key, n int)")
        layout = created(target, table)
        load(target, layout, [["1", "300"]])
        with pytest.raises(Stop, match="column n: it has values that its new definition"):
            self.alter(target, schema, table, "modify column n tinyint")
        assert contents(target, layout) == [(1, 300)]

    def test_a_renamed_table_keeps_its_rows_and_keys(self, target: Target) -> None:
        table = defined(USERS)
        load(target, created(target, table), [["1", "a", "A"]])
        for text in target.rename_table((None, "users"), (None, "people"), table):
            target.execute(text)
        assert target.describe(None, "users") is None
        # The names of indexes are free again.
        load(target, created(target, table), [["1", "a", "A"]])
        described = target.describe(None, "people")
        assert described is not None
        assert {key.columns for key in described.unique_keys} == {("id",), ("mail",)}
        assert target.query("SELECT id, mail FROM people") == [(1, "a")]

    def test_a_dropped_table_may_be_dropped_again(self, target: Target) -> None:
        created(target, defined(PLAIN))
        for statement in target.drop_table(None, "plain") * 2:
            target.execute(statement)
        assert target.describe(None, "plain") is None

    # --- errors -----------------------------------------------------------------------------

    def test_a_row_in_the_way_stops_with_table_and_unique_key(self, target: Target) -> None:
        layout = created(target, defined(USERS))
        load(target, layout, [["1", "a@x", "secret"]])
        with pytest.raises(Stop, match=r"^shop\.users: .*mail") as stopped:
            load(target, layout, [["5", "b@x", "n"], ["6", "a@x", "hidden"], ["7", "c@x", "n"]])
        message = str(stopped.value)
        assert "hidden" not in message and "secret" not in message
        assert len(contents(target, layout)) == 1

    def test_null_in_a_required_column_stops_with_its_name(self, target: Target) -> None:
        layout = created(target, defined("create table c (id int primary key, v int not null)"))
        with pytest.raises(Stop, match=r"^shop\.c.*\bv\b"):
            load(target, layout, [[str(i), None] for i in range(30)])
        assert contents(target, layout) == []

    def test_a_table_that_was_dropped_stops_with_its_name(self, target: Target) -> None:
        layout = created(target, defined(PLAIN))
        target.execute("DROP TABLE plain")
        with pytest.raises(Stop, match=r"^shop\.plain: "):
            load(target, layout, rows(1))

    def test_an_error_that_is_not_the_databases_stays_as_it_is(self, target: Target) -> None:
        error = ValueError("mine")
        assert target.translate(error) is error and not target.lost(error)

    # --- what cannot be held ----------------------------------------------------------------

    REFUSED: ClassVar[list[tuple[str, str, str]]] = [
        ("id int primary key", "id int primary key, c int", r"shop\.t\.c: .* no such column"),
        ("id int primary key, c int", "id int primary key, c text", r"shop\.t\.c: "),
        (
            "id int primary key, c int not null",
            "id int primary key",
            r"shop\.t: the target column c is NOT NULL",
        ),
        ("id int, n int primary key", "id int primary key, n int", r"shop\.t: .*identified by"),
    ]

    @pytest.mark.parametrize(("existing", "source", "message"), REFUSED)
    def test_a_table_that_cannot_hold_the_rows_is_refused(
        self, target: Target, existing: str, source: str, message: str
    ) -> None:
        created(target, defined(f"create table t ({existing})"))
        with pytest.raises(Stop, match=message):
            laid_out(target, defined(f"create table t ({source})"))

    def test_a_value_that_the_column_cannot_hold_stops_by_name(self, target: Target) -> None:
        layout: Layout = created(
            target, defined("create table t (id int primary key, c enum('a'))")
        )
        with pytest.raises(Stop, match=r"^shop\.t\.c: "), suppress(OverflowError):
            load(target, layout, [["1", "2"]])
        assert contents(target, layout) == []
