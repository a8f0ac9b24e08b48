"""New columns keep a character set of TiDB's where the server's has the same characters and holds
the same texts apart; the real TiDB is asked. Tables with other columns go on."""

import re
from collections.abc import Iterator
from contextlib import closing

import pytest
import sqlalchemy as sa
from support.canonical_rows import contents, created, defined, load
from ticdc_consumer.ddl.table import reflection
from ticdc_consumer.targets.layout import ReferenceChanges
from ticdc_consumer.targets.mysql.session import MySql, open_session
from ticdc_encoder import Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import evolve
from ticdc_encoder.sql.parser import parse_create_table, parse_ddl
from ticdc_encoder.sql.statements import AlterTable


@pytest.fixture
def upstream(tidb_url: str) -> Iterator[MySql]:
    with closing(open_session(sa.make_url(tidb_url))) as session:
        yield session


@pytest.fixture(params=["mysql", "mariadb"])
def target(request: pytest.FixtureRequest) -> Iterator[MySql]:
    """Another server than TiDB."""
    url = sa.make_url(request.getfixturevalue(f"{request.param}_url"))
    with closing(open_session(url)) as session:
        yield session


@pytest.fixture(params=["mysql", "mariadb", "tidb"])
def each(request: pytest.FixtureRequest) -> Iterator[MySql]:
    url = sa.make_url(request.getfixturevalue(f"{request.param}_url"))
    with closing(open_session(url)) as session:
        yield session


def column(type_: str) -> Column:
    return parse_create_table(f"CREATE TABLE t (id INT, c {type_})", "shop").column("c")


# --- the same characters, and the same texts apart ------------------------------------------------

PLANE = [chr(code) for code in range(0x10000) if not 0xD800 <= code <= 0xDFFF]
"""All characters of at most three bytes."""
BEYOND = ["\U00010000", "😀", "\U0010ffff"]
TEXTS = ["", " ", "  ", "aa", "aa ", "aa\t", "Aa", "aA", "a\0", "ss"]
SOME = [*map(chr, range(0x100)), *PLANE[0x100::509], *BEYOND, *TEXTS]
KEPT = [
    ("VARCHAR(9) CHARACTER SET utf8", [*PLANE, *BEYOND, *TEXTS]),
    ("VARCHAR(9) COLLATE utf8_general_ci", [*PLANE, *BEYOND, *TEXTS]),
    ("VARCHAR(9) COLLATE utf8_unicode_ci", [*PLANE, *BEYOND, *TEXTS]),
    ("VARCHAR(9) CHARACTER SET ascii", SOME),
    ("TEXT CHARACTER SET ascii", SOME),
]
"""A type of TiDB's whose character set a new column keeps, and what is tried."""


@pytest.mark.parametrize(("type_", "texts"), KEPT, ids=[type_ for type_, _ in KEPT])
def test_a_kept_character_set_takes_and_separates_the_same_texts(
    upstream: MySql, target: MySql, type_: str, texts: list[str]
) -> None:
    new = target.column_type(column(type_))
    assert " character set utf8mb4 " not in new
    theirs, ours = held(upstream, type_, texts), held(target, new, texts)
    assert theirs.keys() == ours.keys()
    assert len(theirs) >= 128
    of_ours: dict[int, int] = {}
    merged = [n for n, place in ours.items() if of_ours.setdefault(place, theirs[n]) != theirs[n]]
    assert merged == []


def held(server: MySql, type_: str, texts: list[str]) -> dict[int, int]:
    """The texts that a column takes and gives back, by their numbers, each with its place in the
    order: equal texts have one."""
    server.execute("DROP TABLE IF EXISTS held").close()
    server.execute(f"CREATE TABLE held (n INT PRIMARY KEY, c {type_})").close()
    size = 4096 if len(texts) > len(SOME) else 64
    for start in range(0, len(texts), size):
        _insert(server, list(enumerate(texts[start : start + size], start)))
    rows = server.query(
        "SELECT n, HEX(CONVERT(c USING utf8mb4)), DENSE_RANK() OVER (ORDER BY c) FROM held"
    )
    assert [n for n, text, _ in rows if bytes.fromhex(text) != texts[n].encode()] == []
    return {n: place for n, _, place in rows}


def _insert(server: MySql, texts: list[tuple[int, str]]) -> None:
    """Those that the column takes."""
    values = ", ".join(f"({n}, CONVERT(x'{t.encode().hex()}' USING utf8mb4))" for n, t in texts)
    try:
        server.execute(f"INSERT INTO held VALUES {values}").close()  # noqa: S608
    except sa.exc.DBAPIError as error:
        assert "ncorrect string value" in str(error.orig)
        if len(texts) > 1:
            half = len(texts) // 2
            _insert(server, texts[:half])
            _insert(server, texts[half:])


OTHERS = [("latin1", "中"), ("gbk", "\N{LATIN SMALL LETTER N WITH GRAVE}")]
"""A character set that becomes utf8mb4, and a character that TiDB has in it."""


@pytest.mark.parametrize(("charset", "character"), OTHERS)
def test_a_character_set_that_lacks_one_of_tidbs_is_not_kept(
    upstream: MySql, target: MySql, charset: str, character: str
) -> None:
    type_ = f"VARCHAR(9) CHARACTER SET {charset}"
    assert " character set utf8mb4 " in target.column_type(column(type_))
    assert held(upstream, type_, [character]).keys() == {0}
    assert held(target, type_, [character]).keys() == set()


def test_tidb_keeps_all_of_its_own(upstream: MySql) -> None:
    types = {charset: column(f"TEXT CHARACTER SET {charset}") for charset, _ in OTHERS}
    assert {name: upstream.column_type(each) for name, each in types.items()} == {
        "latin1": "text character set latin1 collate latin1_bin",
        "gbk": "text character set gbk collate gbk_chinese_ci",
    }


# --- keys -----------------------------------------------------------------------------------------


def test_a_key_too_long_for_utf8mb4_is_created_and_found(each: MySql) -> None:
    table = defined(
        "CREATE TABLE t (k VARCHAR(1000) CHARACTER SET utf8 PRIMARY KEY, "
        "a VARCHAR(3000) CHARACTER SET ascii, v INT, UNIQUE KEY (a))"
    )
    layout = created(each, table)
    load(each, layout, [["中" * 1000, "a" * 3000, "1"], ["b", None, "2"]])
    load(each, layout, [["b", None, "3"]])
    assert contents(each, layout) == [("b", None, 3), ("中" * 1000, "a" * 3000, 1)]


KEYS = {"utf8mb4": "😀中é", "utf8": "中é", "ascii": "e", "latin1": "😀中é", "gbk": "中é"}


@pytest.mark.parametrize(("charset", "text"), KEYS.items())
def test_rows_are_written_and_deleted_by_keys_of_every_charset(
    each: MySql, charset: str, text: str
) -> None:
    charset = f"CHARACTER SET {charset}"
    table = defined(
        f"CREATE TABLE t (k VARCHAR(9) {charset}, n INT, s TEXT {charset}, PRIMARY KEY (k, n))"
    )
    layout = created(each, table)
    load(each, layout, [[text, "1", text], [text, "2", None], ["x", "1", ""]])
    load(each, layout, [[text, "1", None]], [[text, "2"]])
    assert contents(each, layout) == sorted([(text, 1, None), ("x", 1, "")])


# --- ALTER TABLE ----------------------------------------------------------------------------------

TABLE = """
    CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20), g VARCHAR(5) COLLATE utf8_general_ci)
    CHARACTER SET utf8
"""
AS_BEFORE = """
    CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20) COLLATE utf8mb4_bin NULL,
    g VARCHAR(5) COLLATE utf8mb4_general_ci NULL) CHARACTER SET utf8mb4
"""
"""As earlier releases created it."""
NEW, OLD = ["utf8mb3_bin", "utf8mb3_general_ci"], ["utf8mb4_bin", "utf8mb4_general_ci"]
ALTERS = [
    ("MODIFY COLUMN s VARCHAR(30)", NEW, OLD),
    ("CHANGE COLUMN s s2 VARCHAR(20), ADD COLUMN n INT", NEW, OLD),
    ("RENAME COLUMN g TO g2", NEW, OLD),
    ("ADD COLUMN more VARCHAR(9)", [*NEW, "utf8mb3_bin"], [*OLD, "utf8mb3_bin"]),
    (
        "ADD COLUMN more VARCHAR(9) CHARACTER SET utf8mb4, ADD UNIQUE KEY (s)",
        [*NEW, "utf8mb4_bin"],
        [*OLD, "utf8mb4_bin"],
    ),
    ("MODIFY COLUMN s VARCHAR(20) CHARACTER SET utf8mb4", ["utf8mb4_bin", NEW[1]], OLD),
    ("CONVERT TO CHARACTER SET utf8mb4", ["utf8mb4_bin"] * 2, ["utf8mb4_bin"] * 2),
]
"""The collations of the texts after it, in a new table and in one of an earlier release."""


@pytest.mark.parametrize(("actions", "new", "old"), ALTERS)
@pytest.mark.parametrize("earlier", [False, True])
def test_a_column_is_altered_in_the_character_set_that_it_has(
    each: MySql, actions: str, new: list[str], old: list[str], earlier: bool
) -> None:
    table = defined(TABLE)
    created_as = AS_BEFORE if earlier else each.create_table(None, "t", table)[0]
    each.execute(created_as).close()
    each.execute("INSERT INTO t (id, s, g) VALUES (1, 'é', 'É')").close()
    statements = altered(each, table, actions)
    for text in statements:
        each.execute(text).close()
    assert collations(each) == (old if earlier else new)
    assert altered(each, table, actions) == ()  # a crash may have come before that was noted
    assert each.query("SELECT count(*) FROM t WHERE id = 1") == [(1,)]


WIDENED = [
    ("MODIFY COLUMN s VARCHAR(20) CHARACTER SET utf8mb4, ADD COLUMN n INT", True),
    ("CHANGE COLUMN s z TEXT CHARACTER SET utf8mb4", True),
    ("CONVERT TO CHARACTER SET utf8mb4", True),
    ("MODIFY COLUMN s VARCHAR(30)", False),
    ("ADD COLUMN more VARCHAR(9) CHARACTER SET utf8mb4, ADD KEY (s)", False),
]


@pytest.mark.parametrize(("actions", "copied"), WIDENED)
def test_mysql_copies_a_table_that_gets_another_character_set(
    target: MySql, actions: str, copied: bool
) -> None:
    # MySQL 8.0.15 does not complete some of these changes correctly in place.
    table = defined(TABLE)
    created(target, table)
    (text,) = altered(target, table, actions)
    assert text.endswith(", ALGORITHM=COPY") == (copied and target.dialect == "mysql")
    target.execute(text).close()


def altered(server: MySql, table: Table, actions: str) -> tuple[str, ...]:
    statement = parse_ddl(f"ALTER TABLE t {actions}", "shop")
    assert isinstance(statement, AlterTable)
    schema = server.query("SELECT DATABASE()")[0][0]
    evolved = evolve(statement, table)
    return server.alter_table(schema, "t", evolved, ReferenceChanges()).statements


def collations(server: MySql) -> list[str]:
    """Of the texts, in the table's order; with one name for utf8mb3."""
    rows = server.query(
        "SELECT collation_name FROM information_schema.columns WHERE table_schema = DATABASE() "
        "AND table_name = 't' AND collation_name IS NOT NULL ORDER BY ordinal_position"
    )
    return [re.sub("^utf8_", "utf8mb3_", str(name)) for (name,) in rows]


def test_the_catalog_shows_the_charset_of_a_table_not_defined(
    each: MySql,
) -> None:
    created(each, defined(TABLE))
    relation = each.query("SELECT DATABASE()")[0][0], "t"
    statement = parse_ddl("ALTER TABLE t MODIFY COLUMN s VARCHAR(30), ADD COLUMN n CHAR(9)", "shop")
    assert isinstance(statement, AlterTable)
    evolved = reflection.evolved(each, relation, statement, None)
    for text in each.alter_table(*relation, evolved, ReferenceChanges()).statements:
        each.execute(text).close()
    assert collations(each) == [*NEW, "utf8mb3_bin"]
