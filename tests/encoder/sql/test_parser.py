import json
import time

import pytest
from support.golden import SCENARIOS, TableVersion, scenario
from support.golden_changes import table_at
from ticdc_encoder.column import TEMPORALS, Column, ColumnType, Index
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import (
    AlterSchema,
    AlterTable,
    CreateSchema,
    CreateTable,
    CreateTableLike,
    DropSchema,
    DropTable,
    Other,
    RenameTable,
    Statement,
    TruncateTable,
    altered_table,
    from_json,
    parse_create_table,
    parse_ddl,
    to_json,
)
from ticdc_encoder.sql.statements import AddIndex, Charset, DropView

VERSIONS = [version for name in SCENARIOS for version in scenario(name).tables if version.create]
CREATED = [
    (name, event, line["commit_ts"])
    for name in SCENARIOS
    for line in scenario(name).script
    for event in line.get("events", ())
    if event["type"] == 3 and " LIKE " not in event["query"]
]


def defined(version: TableVersion) -> Table:
    assert version.create is not None
    return parse_create_table(version.create, version.schema)


def column_type(type_: ColumnType) -> str:
    """As information_schema.columns words it; TiDB leaves ZEROFILL out there."""
    text = type_.name
    if type_.elements:
        text += "(" + ",".join("'" + e.replace("'", "''") + "'" for e in type_.elements) + ")"
    elif type_.name in TEMPORALS:
        text += f"({type_.decimals})" if type_.decimals else ""
    elif type_.length is not None:
        scale = "" if type_.decimals is None else f",{type_.decimals}"
        text += f"({type_.length}{scale})"
    return text + (" unsigned" if type_.unsigned else "")


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v.schema}.{v.table}@{v.since_ts}")
def test_what_tidb_shows_has_the_columns_of_its_catalog(version: TableVersion) -> None:
    table = defined(version)
    assert (table.schema, table.name) == (version.schema, version.table)
    assert [
        (
            column.name,
            column_type(column.type),
            column.type.charset,
            column.type.collation,
            column.nullable,
            column.default,
            column.generated,
            column.auto_increment,
        )
        for column in table.columns
    ] == [
        (
            row["column_name"],
            row["column_type"],
            row["character_set_name"],
            row["collation_name"],
            row["is_nullable"] == "YES",
            row["column_default"],
            {"STORED": "stored", "VIRTUAL": "virtual"}.get(row["extra"].split(" ")[0]),
            row["extra"] == "auto_increment",
        )
        for row in version.columns
    ]
    keyed = {row["column_name"] for row in version.columns if row["column_key"] == "PRI"}
    primary = {name for index in table.indexes if index.primary for name in index.columns}
    assert primary == keyed


@pytest.mark.parametrize("version", VERSIONS, ids=lambda v: f"{v.schema}.{v.table}@{v.since_ts}")
def test_a_table_survives_json(version: TableVersion) -> None:
    table = defined(version)
    assert from_json(json.loads(json.dumps(to_json(table)))) == table


@pytest.mark.parametrize(("name", "event", "ts"), CREATED)
def test_what_ticdc_prints_is_what_tidb_shows(name: str, event: dict[str, str], ts: int) -> None:
    printed = parse_create_table(event["query"], event["schema"])
    stored = table_at(name, printed.schema, printed.name, ts)
    assert [(c.name, c.type, c.nullable, c.generated) for c in printed.columns] == [
        (c.name, c.type, c.nullable, c.generated) for c in stored.columns
    ]
    # A foreign key's own index is only in what TiDB shows.
    assert set(printed.indexes) - set(stored.indexes) == set()
    assert [i for i in printed.indexes if i.unique] == [i for i in stored.indexes if i.unique]
    assert (printed.handle_key, printed.partitioned) == (stored.handle_key, stored.partitioned)


TYPES = [
    ("bool", ColumnType("tinyint", length=1)),
    ("boolean", ColumnType("tinyint", length=1)),
    ("integer", ColumnType("int", length=11)),
    ("int unsigned", ColumnType("int", unsigned=True, length=10)),
    ("int8", ColumnType("bigint", length=20)),
    ("middleint(5) zerofill", ColumnType("mediumint", True, True, 5)),
    ("dec", ColumnType("decimal", length=10, decimals=0)),
    ("numeric(7)", ColumnType("decimal", length=7, decimals=0)),
    ("fixed(7,3) unsigned", ColumnType("decimal", True, length=7, decimals=3)),
    ("double precision", ColumnType("double")),
    ("real", ColumnType("double")),
    ("float(24)", ColumnType("float")),
    ("float(25)", ColumnType("double")),
    ("float(10,2)", ColumnType("float", length=10, decimals=2)),
    ("bit", ColumnType("bit", length=1)),
    ("year", ColumnType("year", length=4)),
    ("date", ColumnType("date")),
    ("datetime", ColumnType("datetime", decimals=0)),
    ("timestamp(6)", ColumnType("timestamp", decimals=6)),
    ("json", ColumnType("json")),
    ("vector", ColumnType("vector")),
    ("vector(3)", ColumnType("vector", length=3)),
    ("vector<float>(3)", ColumnType("vector", length=3)),
    ("binary", ColumnType("binary", length=1)),
    ("long varbinary", ColumnType("mediumblob")),
    ("blob(200)", ColumnType("tinyblob")),
    ("char(3) charset binary", ColumnType("binary", length=3)),
    ("varchar(3) byte", ColumnType("varbinary", length=3)),
    ("text character set binary", ColumnType("blob")),
]


def text(
    name: str,
    length: int | None = None,
    charset: str = "utf8mb4",
    collation: str = "utf8mb4_bin",
    elements: tuple[str, ...] = (),
) -> ColumnType:
    return ColumnType(name, length=length, charset=charset, collation=collation, elements=elements)


TEXT_TYPES = [
    ("character varying(9)", text("varchar", 9)),
    ("national char(4)", text("char", 4)),
    ("nvarchar(4)", text("varchar", 4)),
    ("long varchar", text("mediumtext")),
    ("text(60)", text("tinytext")),
    ("text(70)", text("text")),
    ("enum('a,b','c''d ','\"')", text("enum", elements=("a,b", "c'd", '"'))),
    ("set('x') collate utf8_bin", text("set", None, "utf8", "utf8_bin", ("x",))),
    ("char charset gbk", text("char", 1, "gbk", "gbk_chinese_ci")),
    ("char character set = utf8mb3", text("char", 1, "utf8", "utf8_bin")),
    ("char ascii", text("char", 1, "latin1", "latin1_bin")),
    ("char binary", text("char", 1)),
    ("char collate latin1_bin", text("char", 1, "latin1", "latin1_bin")),
]


@pytest.mark.parametrize(("sql", "expected"), TYPES + TEXT_TYPES)
def test_a_type_is_what_tidb_makes_of_it(sql: str, expected: ColumnType) -> None:
    assert parse_create_table(f"create table t (c {sql})", "s").column("c").type == expected


def test_a_column_inherits_what_the_table_says() -> None:
    table = parse_create_table(
        "create table t (a char(1), b char(1) collate utf8mb4_general_ci, c int) charset latin1",
        "s",
    )
    assert [(c.type.charset, c.type.collation) for c in table.columns] == [
        ("latin1", "latin1_bin"),
        ("utf8mb4", "utf8mb4_general_ci"),
        (None, None),
    ]
    binary = parse_create_table("create table t (a varchar(9)) default character set = binary", "s")
    assert binary.column("a").type == ColumnType("varbinary", length=9)


IN_DATABASES = [
    ("binary", "varchar(9)", ColumnType("varbinary", length=9)),
    ("binary", "nchar(3)", ColumnType("binary", length=3)),
    ("binary", "text(128)", ColumnType("tinyblob")),
    ("binary", "varchar(3) binary", ColumnType("varbinary", length=3)),
    ("binary", "enum('a')", text("enum", None, "binary", "binary", ("a",))),
    ("binary", "char(3) charset latin1", text("char", 3, "latin1", "latin1_bin")),
    ("binary", "varchar(3) collate utf8mb4_bin", text("varchar", 3)),
    ("gbk", "text(100)", text("tinytext", None, "gbk", "gbk_chinese_ci")),
    ("gbk", "text(128)", text("text", None, "gbk", "gbk_chinese_ci")),
    ("gbk", "varchar(3) binary", text("varchar", 3, "gbk", "gbk_chinese_ci")),
    ("gbk", "long", text("mediumtext", None, "gbk", "gbk_chinese_ci")),
    ("latin1", "text(128)", text("tinytext", None, "latin1", "latin1_bin")),
    ("latin1", "char binary", text("char", 1, "latin1", "latin1_bin")),
    ("latin1", "int", ColumnType("int", length=11)),
]
"""What TiDB 8.4 makes of a column in a database of that character set."""


@pytest.mark.parametrize(("charset", "sql", "expected"), IN_DATABASES)
def test_a_table_without_a_character_set_has_its_databases(
    charset: str, sql: str, expected: ColumnType
) -> None:
    create = f"create table t (c {sql})"
    match parse_ddl(f"create database s charset {charset}", "s"):
        case CreateSchema(charset=of_database):
            statement = parse_ddl(create, "s", of_database)
    assert isinstance(statement, CreateTable)
    assert (statement.table.column("c").type, statement.table.charset) == (expected, charset)
    named = parse_ddl(f"{create} charset utf8mb4", "s", of_database)
    assert named == parse_ddl(create, "s")


def test_binary_means_the_default_collation_of_the_character_set() -> None:
    table = parse_create_table(
        "create table t (a char binary, b char binary charset gbk, c enum('x') binary) "
        "collate utf8mb4_general_ci",
        "s",
    )
    assert [c.type.collation for c in table.columns] == [
        "utf8mb4_bin",
        "gbk_chinese_ci",
        "utf8mb4_general_ci",
    ]


DEFAULTS = [
    ("int default -1", "-1"),
    ("int default +1", "1"),
    ("bool default true", "1"),
    ("int default null", None),
    ("double default 1e+10", "1e+10"),
    ("bit(4) default b'0101'", "b'0101'"),
    ("varbinary(4) default x'41ff'", "x'41ff'"),
    ("varchar(9) default _latin1'it''s'", "it's"),
    ("varchar(9) default ''", ""),
    ("timestamp default now()", "CURRENT_TIMESTAMP"),
    ("datetime(3) default current_timestamp(3) on update now(3)", "CURRENT_TIMESTAMP(3)"),
    ("varchar(40) default (uuid())", None),
    ("date default (current_date)", None),
]


@pytest.mark.parametrize(("sql", "expected"), DEFAULTS)
def test_a_default_is_its_literal(sql: str, expected: str | None) -> None:
    assert parse_create_table(f"create table t (c {sql})", "s").column("c").default == expected


def test_keys_of_columns_come_after_those_of_the_table() -> None:
    table = parse_create_table(
        """CREATE TABLE t (a INT UNIQUE, B INT NOT NULL UNIQUE KEY, c INT PRIMARY KEY NONCLUSTERED,
           UNIQUE (b), UNIQUE INDEX big (a, b DESC) USING BTREE COMMENT 'x' /*!80000 INVISIBLE */,
           FULLTEXT KEY ft (d(3)), KEY ((lower(d))), d VARCHAR(10) COMMENT ',)' CHECK (a > 0),
           CONSTRAINT positive CHECK (a > 0) NOT ENFORCED,
           CONSTRAINT FOREIGN KEY fk (a) REFERENCES o.p (x) ON DELETE SET NULL ON UPDATE NO ACTION,
           UNIQUE KEY whole (d(10)))""",
        "s",
    )
    assert table.indexes == (
        Index("PRIMARY", ("c",), True, True, (None,)),
        Index("B", ("B",), True, False, (None,)),
        Index("big", ("a", "B"), True, False, (None, None)),
        Index("ft", ("d",), False, False, (3,)),
        Index("expression_index", (), False, False, (), True),
        Index("whole", ("d",), True, False, (None,)),
        Index("a", ("a",), True, False, (None,)),
        Index("B_2", ("B",), True, False, (None,)),
    )
    assert table.handle_key == ("c",)
    assert not table.column("c").nullable


def test_a_unique_index_over_a_part_of_the_rows_identifies_none() -> None:
    table = parse_create_table(
        """CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, `where` INT NOT NULL,
           UNIQUE KEY part (a) WHERE `b` > 3 AND `a` IS NOT NULL, UNIQUE whole (a, `where`))""",
        "s",
    )
    assert table.indexes == (
        Index("part", ("a",), True, False, (None,), partial=True),
        Index("whole", ("a", "where"), True, False, (None, None)),
    )
    assert table.handle_key == ("a", "where")
    added = "UNIQUE INDEX part (a) COMMENT 'x' WHERE b = 1"
    for query in (f"ALTER TABLE t ADD {added}", "CREATE UNIQUE INDEX part ON t (a) WHERE b = 1"):
        assert parse_ddl(query, "s") == AlterTable("s", "t", (AddIndex(table.indexes[0]),))


def test_the_primary_key_is_clustered_by_default() -> None:
    for sql, clustered in (
        ("id int primary key", True),
        ("id int primary key /*T![clustered_index] CLUSTERED */", True),
        ("id int key /*T![clustered_index] NONCLUSTERED */ comment 'x'", False),
        ("id int, primary key (id)", True),
        ("id int, primary key (id) /*T![clustered_index] NONCLUSTERED */", False),
    ):
        table = parse_create_table(f"create table t ({sql})", "s")
        assert [index.clustered for index in table.indexes] == [clustered], sql


def test_what_tidb_comments_hold_counts_and_others_do_not() -> None:
    table = parse_create_table(
        """CREATE TABLE /* c int, */ t ( -- a line
          `id` bigint /*T![auto_rand] AUTO_RANDOM(5, 54) */ # another
          , `v` varchar(9) /*!50503 CHARACTER SET utf8mb4 */ DEFAULT '/*!not a comment*/'
          , `n` serial
        ) /*T! SHARD_ROW_ID_BITS=4 */ /*!50100 PARTITION BY HASH (`id`) PARTITIONS 2 */""",
        "s",
    )
    assert [column.name for column in table.columns] == ["id", "v", "n"]
    assert table.column("v").default == "/*!not a comment*/"
    assert table.column("n") == Column(
        "n", ColumnType("bigint", True, length=20), nullable=False, auto_increment=True
    )
    assert table.partitioned


def test_names_are_literal() -> None:
    odd = "a`b'c\"d;--e/*f*/😀\\"
    quoted = "`" + odd.replace("`", "``") + "`"
    table = parse_create_table(f"create table {quoted}.{quoted} ({quoted} int, `key` int)", "s")
    assert (table.schema, table.name) == (odd, odd)
    assert [column.name for column in table.columns] == [odd, "key"]


STATEMENTS: list[tuple[str, Statement]] = [
    (
        "CREATE DATABASE `a` CHARACTER SET = utf8mb4",
        CreateSchema("a", charset=Charset("utf8mb4", "utf8mb4_bin")),
    ),
    ("CREATE DATABASE `a`", CreateSchema("a")),
    ("CREATE DATABASE a COLLATE gbk_bin", CreateSchema("a", charset=Charset("gbk", "gbk_bin"))),
    (
        "CREATE DATABASE a CHARSET 'GBK'",
        CreateSchema("a", charset=Charset("gbk", "gbk_chinese_ci")),
    ),
    ("CREATE DATABASE a CHARSET utf8mb3", CreateSchema("a", charset=Charset("utf8", "utf8_bin"))),
    (
        "CREATE DATABASE a CHARSET gbk CHARSET binary",
        CreateSchema("a", charset=Charset("binary", "binary")),
    ),
    ("create schema if not exists b;", CreateSchema("b", if_not_exists=True)),
    ("DROP DATABASE IF EXISTS `a;b`", DropSchema("a;b", if_exists=True)),
    ("DROP TABLE `x`.`t`", DropTable("x", "t")),
    ("drop table if exists `t;`;", DropTable("s", "t;", if_exists=True)),
    ("TRUNCATE TABLE `t`", TruncateTable("s", "t")),
    ("truncate x.t", TruncateTable("x", "t")),
    (
        "CREATE TABLE IF NOT EXISTS t (a INT)",
        CreateTable(
            Table.define("s", "t", (Column("a", ColumnType("int", length=11)),)), if_not_exists=True
        ),
    ),
    ("CREATE TABLE a LIKE b", CreateTableLike("s", "a", ("s", "b"))),
    ("CREATE TABLE IF NOT EXISTS x.a (LIKE y.b)", CreateTableLike("x", "a", ("y", "b"), True)),
    ("DROP TABLE a, b", Other("DROP TABLE a, b", "drop table")),
    ("DROP VIEW `shop`.`vw`", DropView("shop", "vw")),
    ("RENAME TABLE a TO b;", RenameTable(("s", "a"), ("s", "b"))),
    ("RENAME TABLE a TO b, c TO d", Other("RENAME TABLE a TO b, c TO d", "rename table")),
    ("ALTER TABLE `ttl`", AlterTable("s", "ttl", ())),
    (
        "ALTER DATABASE x CHARACTER SET = latin1",
        AlterSchema("x", Charset("latin1", "latin1_bin")),
    ),
    (
        "ALTER DATABASE COLLATE utf8mb4_general_ci CHARACTER SET = utf8mb4;",
        AlterSchema("s", Charset("utf8mb4", "utf8mb4_general_ci")),
    ),
    ("ALTER DATABASE x PLACEMENT POLICY = DEFAULT", AlterSchema("x")),
]


@pytest.mark.parametrize(("query", "expected"), STATEMENTS)
def test_a_statement_becomes_data(query: str, expected: Statement) -> None:
    assert parse_ddl(query, "s") == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("RENAME TABLE `a`.`b` TO `c`.`d`", ("a", "b", True)),
        ("ALTER TABLE b RENAME AS a.c", ("s", "b", True)),
        ("ALTER TABLE b RENAME COLUMN x TO y", ("s", "b", False)),
        ("ALTER TABLE a.b EXCHANGE PARTITION p WITH TABLE c", ("a", "b", False)),
        ("DROP TABLE b", None),
    ],
)
def test_a_table_is_altered_or_renamed(query: str, expected: object) -> None:
    assert altered_table(query, "s") == expected


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_ddl_of_ticdc_is_read(name: str) -> None:
    for line in scenario(name).script:
        for event in line.get("events", ()):
            parse_ddl(event["query"], event["schema"])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "an empty statement"),
        (" ; ", "an empty statement"),
        ("drop table a; drop table b", "unexpected 'drop' after the statement"),
        ("drop table 'a'", "expected a name or word, found 'a'"),
        ("alter table `a", "unbalanced quotes"),
        ("create table t (a int", "expected ), found the end; in the definition of s.t"),
        ("create table t (a geometry)", "unknown type 'geometry'"),
        ("create table t (a int wibble)", "unexpected 'wibble'"),
        ("create table t (a int, A int)", "a column is defined twice"),
        ("create table t (a int, key (b))", "index on an unknown column 'b'"),
        ("create table t (a int primary key, b int primary key)", "two primary keys"),
        ("create table t (a int) select 1", "AS SELECT"),
        ("create table t (a text(99999999999))", "too long"),
        ("create table t (a decimal(1.5))", "expected an integer, found '1.5'"),
        ("alter table t coalesce partition 1e3", "expected an integer, found '1e3'"),
        ("create table t (a enum('x') default 2)", "no label of enum has the number 2"),
        ("create table t (a int, index a (a), index a (a))", "two keys of the name 'a'"),
    ],
)
def test_what_cannot_be_read_is_an_error(query: str, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        parse_ddl(query, "s")
    assert message in str(caught.value)


RAW = {
    r"CREATE TABLE `t` (`e` ENUM('C:\new','it''s\') DEFAULT 'C:\\new')": "C:\\new|it's\\",
    r"CREATE TABLE `t` (`e` SET('a\','\b') COMMENT 'it\\')": "a\\|\\b",
    r"CREATE TABLE `t` (`e` ENUM('a')) COMMENT = 'C:\'": "a",
    r"CREATE TABLE `t` (`e` ENUM('a') COMMENT 'ENUM(\'\\')": "a",
    "CREATE TABLE `SET('a` (`e` ENUM('\\'))": "\\",
    # Not as TiCDC writes it.
    r"create table t (e enum('a\\b', 'c\'d'))": r"a\b|c'd",
}


@pytest.mark.parametrize(("query", "labels"), RAW.items())
def test_labels_and_comments_have_their_backslashes_as_they_are(query: str, labels: str) -> None:
    (column,) = parse_create_table(query, "s").columns
    assert "|".join(column.type.elements) == labels


def test_what_looks_like_a_clause_in_a_comment_is_none() -> None:
    query = r"ALTER TABLE `t` COMMENT = 'it\'', ADD COLUMN `z` INT -- '"
    assert parse_ddl(query, "s") == parse_ddl("ALTER TABLE `t` COMMENT = 'x'", "s")


WITHOUT_AN_END = ["\\'", "'\\", "enum('\\',", "ENUM(\\", "COMMENT = \\", "`\\"]


@pytest.mark.parametrize("end", ["'", "\\"])
@pytest.mark.parametrize("text", WITHOUT_AN_END)
def test_a_text_without_an_end_is_refused_at_once(text: str, end: str) -> None:
    began = time.process_time()
    with pytest.raises(DefinitionError):
        parse_ddl("create table t (a int comment " + text * 50_000 + end, "s")
    # By its square it took minutes; now it is less than a second.
    assert time.process_time() - began < 20


def test_an_unnamed_key_gets_a_name_that_no_other_was_given() -> None:
    table = parse_create_table("create table t (a int, b int, index (a), index a (b))", "s")
    assert [(index.name, index.columns) for index in table.indexes] == [
        ("a_2", ("a",)),
        ("a", ("b",)),
    ]


def test_a_collation_counts_wherever_it_stands() -> None:
    for options in (
        "COLLATE = utf8mb4_general_ci CHARSET = utf8mb4",
        "CHARSET = utf8mb4 COLLATE = utf8mb4_general_ci",
    ):
        table = parse_create_table(f"create table t (a varchar(9)) {options}", "s")
        assert (table.collation, table.columns[0].type.collation) == ("utf8mb4_general_ci",) * 2


def test_a_table_like_an_unqualified_one_is_like_an_unknown_one() -> None:
    for query, like in (
        ("CREATE TABLE `t` LIKE `src`", ("s", "src")),
        ("CREATE TABLE `s`.`t` LIKE `src`", ("", "src")),
        ("CREATE TABLE `s`.`t` (LIKE `u`.`src`)", ("u", "src")),
    ):
        assert parse_ddl(query, "s") == CreateTableLike("s", "t", like, False)


def test_only_a_create_table_with_columns_defines_a_table() -> None:
    with pytest.raises(DefinitionError, match="not a CREATE TABLE with columns but DropTable"):
        parse_create_table("drop table t", "s")
