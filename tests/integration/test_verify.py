"""`verify` finds whatever differs, whatever the type, the key and the target, and nothing where
nothing does; the upstream is a real TiDB that has gone on."""

import re
import signal
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import sqlalchemy as sa
from support import brokers
from support.loading import opened
from support.moved_money import Workload, has_rows, moving, verified_json
from support.torture_cli import Make
from support.torture_driver import Driver
from support.torture_topics import Feed
from support.upstream_tidb import Upstream, upstream
from support.verified import Found, Verified
from ticdc_consumer.commands.verify import compare, verification
from ticdc_consumer.targets.mysql.read_back import TIDB_DIGEST, comparable
from ticdc_consumer.targets.mysql.types import CatalogType
from ticdc_consumer.waiting import until
from ticdc_encoder.tso import compose

COLUMNS = {
    "num": ("INT", "{id}"),
    "tiny": ("TINYINT", "-5"),
    "zero": ("INT(8) UNSIGNED ZEROFILL", "42"),
    "big": ("BIGINT UNSIGNED", "18446744073709551615"),
    "bits": ("BIT(10)", "683"),
    "y": ("YEAR", "2024"),
    "f": ("FLOAT", "0.1"),
    "d": ("DOUBLE", "0.3"),
    "huge": ("DOUBLE", "-1.7e308"),
    "amount": ("DECIMAL(20,5)", "123.45678"),
    "born": ("DATE", "'2024-02-29'"),
    "made_at": ("DATETIME(6)", "'2024-02-29 10:11:12.000010'"),
    "seen_at": ("TIMESTAMP(3)", "'2024-02-29 10:11:12.120'"),
    "lasts": ("TIME(6)", "'-01:02:03.000400'"),
    "code": ("CHAR(10)", "'abc'"),
    "name": ("VARCHAR(60)", "'abc'"),
    "unset": ("VARCHAR(60)", "NULL"),
    "note": ("TEXT", "'tab\\t, line\\n, back\\\\slash, \\'quote\\', €, 𝄞'"),
    "fixed": ("BINARY(8)", "X'61'"),
    "raw": ("VARBINARY(60)", "X'00ff10'"),
    "pile": ("BLOB", "X'5c0a00'"),
    "mood": ("ENUM('sad','glad')", "'sad'"),
    "tags": ("SET('x','y','z')", "'x,y'"),
    "doc": ("JSON", '\'{"b": [true, null, 1.5], "a": "é"}\''),
    "summed": ("INT AS (num + tiny) VIRTUAL", ""),
}
"""Column -> type, and the value of every row."""

FAULTS: dict[str, tuple[str, str | dict[str, str]]] = {
    "a number": ("tiny", "'-4'"),
    "a number without its zeros": ("zero", "43"),
    "the greatest number": ("big", "'18446744073709551614'"),
    "a bit": ("bits", "682"),
    "a year": ("y", "2025"),
    "a float's last bit": ("f", {"": "'0.10000000894069672'", "sqlite": "0.10000000000000002"}),
    "a double's last bit": ("d", "'0.30000000000000004'"),
    "a large double": ("huge", "'-1.7000000000000002e308'"),
    "a decimal's last digit": ("amount", "'123.45679'"),
    "a day": ("born", "'2024-03-01'"),
    "a microsecond": ("made_at", "'2024-02-29 10:11:12.000011'"),
    "a time zone": ("seen_at", "'2024-02-29 11:11:12.120'"),
    "a sign of a time": ("lasts", "'01:02:03.000400'"),
    "a case of a CHAR": ("code", "'Abc'"),
    "a trailing space": ("name", "'abc '"),
    "a case": ("name", "'aBc'"),
    "an accent": ("name", "'äbc'"),
    "NULL for a text": ("name", "NULL"),
    "a text for NULL": ("unset", "''"),
    "a byte of a text": ("note", "'tab'"),
    "a zero byte": ("fixed", {"": "X'6100000000000001'", "postgresql": r"'\x6100000000000001'"}),
    "a byte": ("raw", {"": "X'00ff11'", "postgresql": r"'\x00ff11'"}),
    "a byte at the end": ("pile", {"": "X'5c0a'", "postgresql": r"'\x5c0a'"}),
    "a label": ("mood", "'glad'"),
    "a member": ("tags", "'x'"),
    "a member of JSON": ("doc", '\'{"b": [true, null, 1.25], "a": "é"}\''),
}
"""Fault -> the column, and what the target's row gets instead, in SQL."""

MORE_TABLES = (
    "CREATE TABLE words (w VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, n INT)",
    "INSERT INTO words VALUES ('B', 1), ('a', 2), ('ä b', 3), ('c', 4)",
    "CREATE TABLE many (mood ENUM('sad','glad'), raw VARBINARY(8), at DATE, n INT, "
    "PRIMARY KEY (mood, raw, at))",
    "INSERT INTO many VALUES ('sad', X'00', '2024-02-29', 1), ('sad', X'0000', '2024-02-29', 2), "
    "('glad', X'00', '2024-02-29', 3)",
    "CREATE TABLE log (a INT, b VARCHAR(9))",
    "INSERT INTO log VALUES (1, 'one'), (1, 'one'), (2, NULL), (3, 'three')",
    "CREATE TABLE nobody (id INT PRIMARY KEY)",
    'CREATE TABLE `it\'s 100%s "odd"` (`100%` INT, `a``b"` VARCHAR(9), PRIMARY KEY (`100%`))',
    "INSERT INTO `it's 100%s \"odd\"` VALUES (1, '%s'), (2, NULL)",
)
LATER = (
    "UPDATE kinds SET tiny = 77",
    "ALTER TABLE kinds DROP COLUMN amount, ADD COLUMN more INT",
    "DELETE FROM words",
    "DROP TABLE many",
    "RENAME TABLE log TO renamed",
    "CREATE TABLE later (id INT PRIMARY KEY)",
    "INSERT INTO nobody VALUES (1)",
)
"""What the upstream does after R."""
SPOILED = (
    "UPDATE words SET n = 9 WHERE n = 3",
    "DELETE FROM many WHERE n = 2",
    "INSERT INTO log SELECT * FROM log WHERE a = 2",
    "DELETE FROM log WHERE a = 3",
    "INSERT INTO nobody VALUES (7)",
)
FOUND_THERE: set[Found] = {
    ("words", "differs", (("w", "ä b"),), ("n",)),
    ("many", "missing", (("mood", "sad"), ("raw", "0000"), ("at", "2024-02-29")), ()),
    ("log", "extra", (), ()),
    ("log", "missing", (), ()),
    ("nobody", "extra", (("id", "7"),), ()),
}


def shop(verified: Verified, rows: int) -> None:
    """A table of all kinds of columns, and tables of all kinds of keys."""
    columns = ", ".join(f"`{name}` {type_}" for name, (type_, _) in COLUMNS.items())
    values = ", ".join(value for _, value in COLUMNS.values() if value)
    written = ", ".join(f"`{name}`" for name, (_, value) in COLUMNS.items() if value)
    verified.execute(
        f"CREATE TABLE kinds (id INT PRIMARY KEY, {columns})",
        f"INSERT INTO kinds (id, {written}) VALUES "  # noqa: S608
        + ", ".join(f"({n}, {values.replace('{id}', str(n))})" for n in range(1, rows + 1)),
        *MORE_TABLES,
    )


@pytest.fixture
def verified(
    upstream_url: str, target_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Verified:
    return Verified.of(upstream_url, target_url, tmp_path, capsys)


def test_every_fault_of_every_type_is_found_and_repaired(
    verified: Verified, tmp_path: Path, long: bool
) -> None:
    faults = [*FAULTS.values()] * (40 if long else 1)
    Random(1).shuffle(faults)
    shop(verified, len(faults) + 6)
    resolved_ts = verified.load()
    verified.execute(*LATER)
    code, out, err = verified.verify()
    assert (code, err) == (0, ""), out
    assert f"kinds: {len(faults) + 6} rows, equal" in out
    assert f"equal at R = {resolved_ts}" in out.splitlines()[-1]

    kind = sa.make_url(verified.target_url).get_backend_name()
    expected = set(FOUND_THERE)
    for number, (column, wrong) in enumerate(faults, 1):
        sql = wrong if isinstance(wrong, str) else wrong.get(kind, wrong[""])
        verified.spoil(f"UPDATE kinds SET {column} = {sql} WHERE id = {number}")  # noqa: S608
        columns = (column, "summed") if column in ("num", "tiny") else (column,)
        expected.add(("kinds", "differs", (("id", str(number)),), columns))
    one, other, gone, extra = (len(faults) + n for n in range(1, 5))
    verified.spoil(
        *SPOILED,
        f"UPDATE kinds SET num = {one + other} - num WHERE id IN ({one}, {other})",  # noqa: S608
        f"DELETE FROM kinds WHERE id = {gone}",  # noqa: S608
        f"UPDATE kinds SET id = -1 WHERE id = {extra}",  # noqa: S608
    )
    for swapped in (one, other):
        expected.add(("kinds", "differs", (("id", str(swapped)),), ("num", "summed")))
    expected.add(("kinds", "missing", (("id", str(gone)),), ()))
    expected.add(("kinds", "missing", (("id", str(extra)),), ()))
    expected.add(("kinds", "extra", (("id", "-1"),), ()))
    file = tmp_path / "repair.sql"
    assert verified.differences("--repair-sql", str(file), "--most", "100000") == expected
    # Values that are repaired may hold anything, a line's end among it.
    lines = file.read_bytes().decode().split("\n")
    text = "\n".join(line for line in lines if not line.startswith("-- "))
    verified.spoil(*filter(str.strip, re.split(r";\n(?=DELETE|INSERT|\s)", text)))
    assert {table for table, *_ in verified.differences()} == {"log"}


@pytest.mark.parametrize("target_url", ["postgresql", "mariadb", "mysql"], indirect=True)
def test_digests_prove_a_table_equal_without_reading_its_rows(
    verified: Verified, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop(verified, 3)
    # Databases print large doubles in different notations, for which rows are read.
    verified.execute("UPDATE kinds SET huge = 1e6")
    verified.load()
    monkeypatch.setattr(compare, "_upstream", lambda *_: pytest.fail("rows are read"))
    assert verified.differences() == set()


def test_tidb_computes_the_digits_of_digests_apart(tidb: Upstream) -> None:
    tidb.execute(
        "CREATE TABLE t (a varchar(9), b int, PRIMARY KEY (a, b))",
        "INSERT INTO t VALUES ('x', 1), ('y', -2)",
    )
    columns = [
        comparable(CatalogType("varchar", (9,), False), "text", "a"),
        comparable(CatalogType("int", (), False), "number", "b"),
    ]
    for key, by_number in ((columns, False), (columns[1:], True)):
        alone, apart = (
            words.digests(columns, key, 7, by_number, "FROM t")
            for words in (replace(TIDB_DIGEST, apart=False), TIDB_DIGEST)
        )
        rows = tidb.execute(apart)
        assert sorted(rows) == sorted(tidb.execute(alone)) and len(rows) == 2
        # CONV, which TiDB evaluates row by row, has no other function inside of it.
        plan = [info for *_, info in tidb.execute(f"EXPLAIN {apart}")]
        assert [("md5(" in step, "conv(" in step) for step in plan if "md5(" in step] == [
            (True, False)
        ]
    assert tidb.execute(apart.replace("FROM t", "FROM t WHERE b = 3")) == []


def test_no_type_is_printed_differently_by_upstream_and_target(verified: Verified) -> None:
    with upstream(verified.upstream_url) as tidb:
        tidb.create_typed()
    verified.load()
    assert verified.differences() == set()


UPSTREAM_OWN = (
    "CREATE TABLE own (id INT PRIMARY KEY, flag TINYINT, bits BIT(10), doc JSON, f FLOAT, "
    "amount DECIMAL(20,5), made DATETIME(1), seen TIMESTAMP, mood ENUM('sad','glad'), "
    "name CHAR(10), vec VECTOR(3), odd DATE)",
    *(
        f'INSERT INTO own VALUES ({n}, 0, 10, \'{{"b": 1e20, "a": [1.5, "x"]}}\', 0.1, 1.5, '  # noqa: S608
        "'2024-02-29 00:00:00.1', '2024-02-29 10:00:00', 'sad', 'abc', '[1,2.5,-0.1]', "
        "'2024-00-10')"
        for n in range(1, 13)
    ),
    "INSERT INTO own (id) VALUES (13)",
)
OWN = {
    "sqlite": "CREATE TABLE own (id INTEGER PRIMARY KEY, flag, bits NUMERIC, doc TEXT, f TEXT, "
    "amount TEXT, made NUMERIC, seen TEXT, mood INTEGER, name TEXT, vec TEXT, odd TEXT)",
    "postgresql": "CREATE TABLE own (id numeric(30,2) PRIMARY KEY, flag boolean, bits bit(12), "
    "doc jsonb, f double precision, amount numeric, made timestamp(3), seen timestamp, "
    "mood integer, name char(20), vec real[], odd date)",
    "mysql": "CREATE TABLE own (id decimal(30,2) PRIMARY KEY, flag bigint, bits bigint, doc json, "
    "f double, amount decimal(30,10), made datetime(6), seen timestamp(3) NULL, "
    "mood enum('sad','glad','more'), name longtext, vec longtext, odd date) CHARSET utf8mb4",
    "tidb": "CREATE TABLE own (id decimal(30,2) PRIMARY KEY, flag bigint, bits bigint, doc json, "
    "f double, amount decimal(30,10), made datetime(6), seen timestamp(3) NULL, "
    "mood enum('sad','glad','more'), name longtext, vec vector, odd date)",
}
OWN_FAULTS: dict[str, tuple[str, dict[str, str]]] = {
    "flag": ("1", {"postgresql": "true"}),
    "bits": ("11", {"postgresql": "B'000000001011'"}),
    "doc": ('\'{"b": 1e20, "a": [1.5, "X"]}\'', {}),
    "f": ("'0.10000000000000002'", {}),
    "amount": ("'1.50001'", {}),
    "made": ("'2024-02-29 00:00:00.101'", {}),
    "seen": ("'2024-02-29 10:00:01'", {}),
    "mood": ("2", {}),
    "name": ("'abd'", {}),
    "vec": ("'[1,2.5,-0.2]'", {"postgresql": "'{1,2.5,-0.10000001}'"}),
    "odd": ("'2024-01-10'", {}),
}


@pytest.mark.parametrize("kind", sorted(OWN))
def test_columns_of_other_types_are_compared_by_their_values(
    kind: str,
    upstream_url: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    target_url = request.getfixturevalue(f"{kind}_url")
    rules = {"mysql": ["vector-as-text"], "postgresql": ["zero-date-as-null"]}.get(kind, [])
    settings = {"target": {"url": target_url, "rules": rules}}
    verified = Verified.of(upstream_url, target_url, tmp_path, capsys, settings)
    verified.execute(*UPSTREAM_OWN)
    verified.spoil(OWN[kind])
    verified.load()
    assert verified.differences() == set()
    expected = set[Found]()
    for number, (column, (wrong, of_kind)) in enumerate(OWN_FAULTS.items(), 1):
        wrong = of_kind.get(kind, wrong)
        verified.spoil(f"UPDATE own SET {column} = {wrong} WHERE id = {number}")  # noqa: S608
        expected.add(("own", "differs", (("id", str(number)),), (column,)))
    assert verified.differences() == expected


@pytest.fixture
def into_sqlite(
    upstream_url: str, sqlite_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Verified:
    verified = Verified.of(upstream_url, sqlite_url, tmp_path, capsys)
    verified.execute(
        "CREATE TABLE a (id INT PRIMARY KEY, v VARCHAR(9))",
        "INSERT INTO a VALUES (1, 'one'), (2, NULL)",
        "CREATE TABLE b (id INT PRIMARY KEY)",
    )
    return verified


def test_what_cannot_be_compared_is_named(into_sqlite: Verified) -> None:
    into_sqlite.load()
    schema = sa.make_url(into_sqlite.upstream_url).database
    into_sqlite.spoil(
        "DROP TABLE b",
        "ALTER TABLE a DROP COLUMN v",
        "CREATE TABLE c (id INTEGER PRIMARY KEY)",
        "INSERT INTO ticdc_table (changefeed, `schema`, `table`, definition, basis, target_table)"  # noqa: S608
        f" VALUES ('proof', '{schema}', 'c', '', 'named', 'c')",
    )
    assert into_sqlite.problems() == {
        "a": f"cannot be compared: {schema}.a.v: the target table has no such column; add it "
        "there with the upstream's type, load its values: ticdc-consumer load CONFIG --table "
        f"{schema}.a, then start again",
        "b": 'the target has no table "b"',
        "c": 'the upstream has no such table, and the target has "c"',
    }


def test_bytes_that_are_no_text_are_a_difference(into_sqlite: Verified) -> None:
    into_sqlite.load()
    into_sqlite.spoil("UPDATE a SET v = CAST(X'6f6e65ff' AS TEXT) WHERE id = 1")
    assert into_sqlite.differences() == {("a", "differs", (("id", "1"),), ("v",))}
    assert r"v='one\udcff'" in into_sqlite.verify("--show-values")[1]


def test_a_report_has_values_only_if_they_are_asked_for(into_sqlite: Verified) -> None:
    into_sqlite.load()
    into_sqlite.spoil("UPDATE a SET v = 'secret'", "INSERT INTO b VALUES (5)")
    code, out, _ = into_sqlite.verify()
    schema = str(sa.make_url(into_sqlite.upstream_url).database)
    assert (code, out.replace(schema, "shop").splitlines()[:5]) == (
        5,
        [
            "shop.a: 2 rows, 2 upstream; 2 differ",
            "  id=1 differs in v",
            "  id=2 differs in v",
            "shop.b: 1 row, 0 upstream; 1 differs",
            "  id=5 is in the target only",
        ],
    )
    _, out, _ = into_sqlite.verify("--show-values")
    assert "  id=2 differs in v; upstream: v=NULL; target: v='secret'" in out
    assert "  id=5 is in the target only; target: id='5'" in out
    _, out, _ = into_sqlite.verify("--table", "*.b")
    assert [line.partition(".")[2][:2] for line in out.splitlines()[:1]] == ["b:"]
    assert "1 of 1 table, " in out
    assert "secret" not in into_sqlite.verify("--json")[1]
    assert '"v": "secret"' in into_sqlite.verify("--json", "--show-values")[1]


@pytest.mark.parametrize(
    ("spoiled", "settings", "code", "words"),
    [
        ("UPDATE ticdc_checkpoint SET resolved_ts = 0", {}, 3, "has no R yet"),
        ("DELETE FROM ticdc_checkpoint", {}, 3, "has no checkpoint in the target"),
        (
            f"UPDATE ticdc_checkpoint SET resolved_ts = {compose(1_560_000_000_000)}",  # noqa: S608
            {},
            3,
            "the upstream no longer has the snapshot",
        ),
        ("", {"tables": {"filter": ["nothing.*"]}}, 3, "was reached with other settings"),
        ("", {"source": {}}, 2, "[source] upstream is not set"),
        ("", {"source": {"upstream": "mysql+pymysql://root@127.0.0.1:1"}}, 1, "cannot connect to"),
    ],
)
def test_what_stands_in_the_way_is_named(
    spoiled: str, settings: dict[str, Any], code: int, words: str, into_sqlite: Verified
) -> None:
    into_sqlite.load()
    if spoiled:
        into_sqlite.spoil(spoiled)
    other = into_sqlite.changed(settings)
    ended, out, err = other.verify()
    assert (ended, out) == (code, "")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("target_url", ["postgresql", "mysql", "tidb", "sqlite"], indirect=True)
def test_a_ddl_that_comes_while_a_table_is_read_is_no_difference(
    verified: Verified, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified.execute("CREATE TABLE a (id INT PRIMARY KEY)", "INSERT INTO a VALUES (1), (2)")
    verified.load()
    states = list[int]()

    def disturbed(*arguments: Any) -> compare.Outcome:
        states.append(arguments[1].snapshot_ts)
        if len(states) == 1:
            _truncate(verified)
        return compare.compare(*arguments)

    monkeypatch.setattr(verification, "compare", disturbed)
    code, out, err = verified.verify()
    assert (code, err) == (0, ""), out
    kind = sa.make_url(verified.target_url).get_backend_name()
    # SQLite shows the past as it was, as TiDB does by its snapshot.
    assert "a: 2 rows, equal" in out if len(states) == 1 else "a: 0 rows, equal" in out
    assert kind == "mysql" or len(states) == {"sqlite": 1, "postgresql": 2}[kind]


def _truncate(verified: Verified) -> None:
    """The upstream's table, and the target's as a cut does it: with a new R."""
    changes = "TRUNCATE TABLE a", "ALTER TABLE a ADD COLUMN v INT"
    verified.execute(*changes)
    schema = sa.make_url(verified.upstream_url).database
    with upstream(verified.upstream_url) as tidb:
        ts = tidb.ts()
    sqlite = sa.make_url(verified.target_url).get_backend_name() == "sqlite"
    truncate = "DELETE FROM a" if sqlite else changes[0]
    done = f"'proof', {ts}, 1, '{schema}', 'a', 'TRUNCATE TABLE a', 11, 'done', '', '', ''"
    verified.spoil(
        truncate,
        changes[1],
        f"INSERT INTO ticdc_ddl VALUES ({done})",  # noqa: S608
        f"UPDATE ticdc_checkpoint SET resolved_ts = {ts + 1}",  # noqa: S608
    )


@pytest.mark.parametrize("target_url", ["sqlite"], indirect=True)
def test_what_a_ddl_touched_is_not_in_the_repair_statements(
    verified: Verified, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is compared again, in a newer state."""
    verified.execute("CREATE TABLE a (id INT PRIMARY KEY)", "INSERT INTO a VALUES (1), (2)")
    verified.load()
    verified.spoil("DELETE FROM a WHERE id = 1")
    ddls = iter(["8:1"])
    monkeypatch.setattr(verification, "ddl_since", lambda *_: next(ddls, ""))
    file = tmp_path / "repair.sql"
    assert len(verified.differences("--repair-sql", str(file))) == 1
    assert file.read_text().count("VALUES (1)") == 1


def test_merged_tables_are_compared_shard_by_shard(
    upstream_url: str, postgresql_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = sa.make_url(upstream_url).database
    tables = {
        "filter": [f"{own}.*"],
        "route": {"*.*": "public.orders"},
        "merge": {"*.*": "shard"},
    }
    verified = Verified.of(upstream_url, postgresql_url, tmp_path, capsys, {"tables": tables})
    verified.execute(
        *(f"CREATE TABLE o{n} (id INT PRIMARY KEY, v INT)" for n in (1, 2)),
        *(f"INSERT INTO o{n} VALUES (1, {n}), (2, {n})" for n in (1, 2)),  # noqa: S608
    )
    verified.spoil(
        "CREATE TABLE orders (id integer, v integer, shard text, PRIMARY KEY (id, shard))",
        *(
            f"INSERT INTO orders VALUES ({k}, {n}, '{own}.o{n}')"  # noqa: S608
            for n in (1, 2)
            for k in (1, 2)
        ),
    )
    verified.load(fill=False)
    assert verified.differences() == set()
    file = tmp_path / "repair.sql"
    verified.spoil(
        f"DELETE FROM orders WHERE id = 1 AND shard = '{own}.o2'",  # noqa: S608
        f"UPDATE orders SET v = 1 WHERE id = 2 AND shard = '{own}.o2'",  # noqa: S608
    )
    assert verified.differences("--repair-sql", str(file)) == {
        ("o2", "missing", (("id", "1"),), ()),
        ("o2", "differs", (("id", "2"),), ("v",)),
    }
    verified.spoil(file.read_text())
    assert verified.differences() == set()
    verified.spoil(f"UPDATE orders SET shard = '{own}.o3' WHERE id = 1 AND v = 1")  # noqa: S608
    stray = {"o1": '"public"."orders" has 1 row of no upstream table'}
    assert verified.problems() == stray
    code, out, _ = verified.verify("--repair")
    assert code == 5 and out.count("of no upstream table") == 1 and "o1: 2 rows, equal" in out
    assert "1 of 2 tables" in out
    assert verified.problems() == stray


@pytest.mark.parametrize("target_url", ["postgresql", "mysql"], indirect=True)
def test_an_interrupt_does_not_wait_for_the_databases(verified: Verified) -> None:
    verified.execute("CREATE TABLE a (id INT PRIMARY KEY)")
    verified.load()
    mysql = sa.make_url(verified.target_url).get_backend_name() == "mysql"
    with opened(verified.target_url) as other:
        lock = "TABLES a WRITE" if mysql else "TABLE a IN ACCESS EXCLUSIVE MODE"
        other.execute("START TRANSACTION").close()
        other.execute(f"LOCK {lock}").close()
        driver = Driver(["verify", str(verified.file)], spark=True)
        try:
            assert until(lambda: _waits(verified.target_url, mysql), 60.0), driver.text
            driver.process.send_signal(signal.SIGINT)
            code, text = driver.wait(60.0)  # the lock is never released
            assert (code, "interrupted" in text) == (130, True), text
        finally:
            driver.kill()


def _waits(url: str, mysql: bool) -> bool:
    """Whether a session of that database waits for a lock."""
    waiting = (
        "SELECT 1 FROM information_schema.processlist WHERE state LIKE '%lock' AND db = DATABASE()"
        if mysql
        else "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
        "AND datname = current_database()"
    )
    with opened(url) as target:
        return bool(target.query(waiting))


def test_drift_is_found_and_put_right_while_both_sides_go_on(
    target_url: str,
    upstream_url: str,
    mock_kafka: brokers.Mock,
    command: Make,
    capsys: pytest.CaptureFixture[str],
) -> None:
    feed = Feed(mock_kafka)
    run = moving(command, feed, upstream_url, target_url)
    workload = Workload(upstream_url, feed)
    workload.begin()
    consumer = run.driver()
    try:
        assert until(lambda: has_rows(run), 60.0), consumer.text
        seen = set[str]()
        while len(seen) < 3:
            code, report = verified_json(run, capsys)
            assert (code, report["equal"]) == (0, True), report
            seen.add(report["tables"][0]["resolved_ts"])
            assert consumer.running and workload.running, consumer.text
        with opened(target_url) as target:
            for statement in DRIFT:
                target.execute(statement).close()
        code, report = verified_json(run, capsys)
        (table,) = report["tables"]
        keys = {each["key"]["id"] for each in table["differences"]}
        assert code == 5 and {"2", "3", "77"} <= keys, report
        code, repaired = verified_json(run, capsys, "--repair")
        assert (code, repaired["equal"]) == (0, True), (repaired, consumer.text)
        assert int(repaired["repair"]["resolved_ts"]) > int(table["resolved_ts"])
        assert repaired["repair"]["rows"] >= 3
        assert consumer.running and workload.running, consumer.text
        assert "rows repaired at R" in consumer.text
        assert run.rows("SELECT state, detail FROM ticdc_repair") == [("done", "")]
    finally:
        workload.end()
        consumer.kill()


DRIFT = (
    "UPDATE accounts SET note = 'Row 2' WHERE id = 2",
    "DELETE FROM accounts WHERE id = 3",
    "INSERT INTO accounts VALUES (77, 1, 'nobody')",
    # The stream may put these right itself, at any moment.
    "UPDATE accounts SET balance = -1 WHERE id > 30",
)
