"""TiDB's types in MySQL, MariaDB and TiDB, without a server."""

from dataclasses import replace

import pytest
from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.layout import TargetColumn
from ticdc_consumer.targets.mysql.collations import merges, new_collation
from ticdc_consumer.targets.mysql.dialects import DIALECTS, MARIADB, MYSQL, TIDB, dialect_of
from ticdc_consumer.targets.mysql.quoting import quote_name
from ticdc_consumer.targets.mysql.session import TARGETS
from ticdc_consumer.targets.mysql.types import codec, column_type
from ticdc_consumer.targets.rules import VECTOR_AS_TEXT
from ticdc_encoder import Column, ColumnType
from ticdc_encoder.sql.parser import parse_create_table

BIN = " character set utf8mb4 collate utf8mb4_bin"
ASCII = " character set ascii collate ascii_bin"
UTF8 = " character set utf8mb3 collate utf8mb3_bin"
UTF8_CI = " character set utf8mb3 collate utf8mb3_general_ci"


CI = " character set utf8mb4 collate utf8mb4_general_ci"


def own(collation: str) -> str:
    return f" character set {collation.partition('_')[0]} collate {collation}"


def declared(type_: str) -> ColumnType:
    """The type as TiDB's CREATE TABLE declares it."""
    return parse_create_table(f"CREATE TABLE t (c {type_})", "shop").columns[0].type


NEW_COLUMNS = [
    ("tinyint", "tinyint"),
    ("bool", "tinyint(1)"),
    ("tinyint(1) unsigned", "tinyint(1) unsigned"),
    ("smallint unsigned", "smallint unsigned"),
    ("mediumint(9)", "mediumint"),
    ("int(8) unsigned zerofill", "int unsigned"),
    ("bigint(20) unsigned", "bigint unsigned"),
    ("bit", "bit(1)"),
    ("bit(64)", "bit(64)"),
    ("float", "float"),
    ("float(10,2)", "float"),
    ("float unsigned", "float unsigned"),
    ("float(53)", "double"),
    ("double(20,5)", "double"),
    ("decimal", "decimal(10,0)"),
    ("decimal(65,30)", "decimal(65,30)"),
    ("decimal(6,3) unsigned", "decimal(6,3) unsigned"),
    ("year", "year"),
    ("date", "date"),
    ("datetime", "datetime"),
    ("datetime(6)", "datetime(6)"),
    ("timestamp(3)", "timestamp(3)"),
    ("time(1)", "time(1)"),
    ("char", "char(1)" + BIN),
    ("char(0)", "char(0)" + BIN),
    ("varchar(16383)", "varchar(16383)" + BIN),
    ("tinytext", "tinytext" + BIN),
    ("text charset ascii", "text" + ASCII),
    ("binary(8)", "binary(8)"),
    ("varbinary(300)", "varbinary(300)"),
    ("mediumblob", "mediumblob"),
    ("enum('a','it''s','1')", "enum('a','it''s','1')" + BIN),
    ("set('x','y\\\\z')", "set('x','y\\z')" + BIN),
]


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize(("type_", "new"), NEW_COLUMNS)
def test_a_new_column_holds_every_value(type_: str, new: str, dialect: object) -> None:
    assert column_type(Column("c", declared(type_)), dialect) == new  # type: ignore[arg-type]


DIFFERENCES = [
    ("json", "longtext" + BIN, "longtext" + BIN, "json"),
    (
        "varchar(9) collate utf8mb4_0900_ai_ci",
        "varchar(9) character set utf8mb4 collate utf8mb4_0900_ai_ci",
        "varchar(9) character set utf8mb4 collate utf8mb4_nopad_bin",
        "varchar(9) character set utf8mb4 collate utf8mb4_0900_ai_ci",
    ),
    (
        "varchar(9) collate utf8mb4_0900_bin",
        "varchar(9) character set utf8mb4 collate utf8mb4_0900_bin",
        "varchar(9) character set utf8mb4 collate utf8mb4_nopad_bin",
        "varchar(9) character set utf8mb4 collate utf8mb4_0900_bin",
    ),
    *[
        (type_, other, other, tidb)
        for type_, other, tidb in (
            ("varchar(9) collate utf8mb4_general_ci", *["varchar(9)" + CI] * 2),
            ("varchar(9) charset utf8", "varchar(9)" + UTF8, "varchar(9)" + own("utf8_bin")),
            (
                "varchar(9) collate utf8_general_ci",
                "varchar(9)" + UTF8_CI,
                "varchar(9)" + own("utf8_general_ci"),
            ),
            (
                "varchar(9) collate utf8_unicode_ci",
                "varchar(9)" + UTF8,
                "varchar(9)" + own("utf8_unicode_ci"),
            ),
            (
                "varchar(20000) charset utf8",
                "varchar(20000)" + UTF8,
                "varchar(20000)" + own("utf8_bin"),
            ),
            ("varchar(21845) charset utf8", "mediumtext" + UTF8, "mediumtext" + own("utf8_bin")),
            ("text charset utf8", "text" + UTF8, "text" + own("utf8_bin")),
            ("varchar(9) charset latin1", "varchar(9)" + BIN, "varchar(9)" + own("latin1_bin")),
            (
                "varchar(20000) charset latin1",
                "mediumtext" + BIN,
                "varchar(20000)" + own("latin1_bin"),
            ),
            ("text charset latin1", "mediumtext" + BIN, "text" + own("latin1_bin")),
            ("varchar(9) charset gbk", "varchar(9)" + BIN, "varchar(9)" + own("gbk_chinese_ci")),
            ("varchar(9) collate gbk_bin", "varchar(9)" + BIN, "varchar(9)" + own("gbk_bin")),
            ("tinytext charset gbk", "text" + BIN, "tinytext" + own("gbk_chinese_ci")),
            ("longtext charset gbk", "longtext" + BIN, "longtext" + own("gbk_chinese_ci")),
            ("enum('a') charset utf8", *["enum('a')" + BIN] * 2),
        )
    ],
]


@pytest.mark.parametrize(("type_", "mysql", "mariadb", "tidb"), DIFFERENCES)
def test_the_three_differ_in_a_few_types(type_: str, mysql: str, mariadb: str, tidb: str) -> None:
    column = Column("c", declared(type_))
    assert [column_type(column, dialect) for dialect in (MYSQL, MARIADB, TIDB)] == [
        mysql,
        mariadb,
        tidb,
    ]


def test_a_collation_that_nobody_knows_becomes_the_finest() -> None:
    type_ = ColumnType("varchar", length=9, collation="utf8mb4_zh_pinyin_tidb_as_cs")
    assert column_type(Column("c", type_), MARIADB).endswith("utf8mb4_nopad_bin")


def test_only_tidb_has_a_vector() -> None:
    column = Column("v", ColumnType("vector", length=3))
    assert column_type(column, TIDB) == "vector(3)"
    for dialect in (MYSQL, MARIADB):
        with pytest.raises(Stop, match=r"column v: .* VECTOR .* vector-as-text"):
            column_type(column, dialect)


def test_labels_that_are_not_known_make_no_column() -> None:
    with pytest.raises(Stop, match="column e: the labels of this enum are not known"):
        column_type(Column("e", ColumnType("enum")), MYSQL)


# A source type of None length or decimals is one whose protocol does not tell.
FITTING = [
    (declared("tinyint"), "tinyint(4)", "integer"),
    (declared("int unsigned"), "bigint(20)", "integer"),
    (declared("bigint unsigned"), "decimal(20,0)", "integer"),
    (declared("bit(8)"), "tinyint(3) unsigned", "integer"),
    (declared("bit(8)"), "bit(9)", "integer"),
    (ColumnType("bit"), "bit(9)", "integer"),
    (declared("year"), "year(4)", "integer"),
    (declared("year"), "smallint(6)", "integer"),
    (declared("float"), "float", "float"),
    (declared("float"), "double", "double"),
    (declared("float(10,2)"), "float(10,2)", "float"),
    (ColumnType("float"), "float(10,2)", "float:2"),
    (ColumnType("double"), "double(10,3)", "double:3"),
    (declared("decimal(10,2)"), "decimal(12,3)", "decimal:12:3"),
    (ColumnType("decimal"), "decimal(5,1)", "decimal:5:1"),
    (ColumnType("decimal", unsigned=True), "decimal(5,1) unsigned", "decimal:5:1"),
    (declared("char(10)"), "char(10)", "text"),
    (declared("char(10)"), "varchar(10)", "text"),
    (declared("varchar(10)"), "varchar(11)", "text"),
    (ColumnType("varchar"), "varchar(3)", "text:3"),
    (ColumnType("varchar"), "tinytext", "text:255b"),
    (ColumnType("varchar"), "text", "text"),
    (ColumnType("char"), "varchar(3)", "text"),
    (declared("varchar(10)"), "tinytext", "text"),
    (declared("varchar(16383)"), "text", "text"),
    (declared("tinytext"), "varchar(255)", "text"),
    (declared("text"), "longtext", "text"),
    (declared("text charset gbk"), "mediumtext", "text"),
    (declared("varchar(9)"), "json", None),
    (declared("binary(8)"), "binary(8)", "binary:8"),
    (ColumnType("binary"), "binary(8)", "binary:8"),
    (declared("binary(8)"), "varbinary(8)", "binary"),
    (declared("varbinary(8)"), "blob", "binary"),
    (declared("blob"), "mediumblob", "binary"),
    (declared("date"), "date", "date"),
    (declared("datetime"), "datetime(6)", "datetime:6"),
    (ColumnType("datetime"), "datetime", "datetime:0"),
    (declared("timestamp(3)"), "timestamp(3)", "datetime:3"),
    (declared("time(3)"), "time(6)", "time:6"),
    (declared("enum('a','b')"), "enum('a','b','c')", "enum:3"),
    (declared("set('a','b')"), "set('a','b')", "integer"),
    (declared("json"), "json", "text"),
    (declared("json"), "longtext", "text"),
    (declared("tinyint"), "tinyint(3) unsigned", None),
    (declared("int unsigned"), "int(11)", None),
    (declared("bigint"), "int(11)", None),
    (declared("bigint unsigned"), "decimal(19,0)", None),
    (declared("int"), "varchar(20)", None),
    (declared("int"), "double", None),
    (declared("int"), "year(4)", None),
    (declared("bit(9)"), "bit(8)", None),
    (declared("double"), "float", None),
    (declared("float"), "float unsigned", None),
    (declared("decimal(10,2)"), "decimal(10,1)", None),
    (declared("decimal(10,2)"), "decimal(10,3)", None),
    (declared("decimal(10,2)"), "decimal(10,2) unsigned", None),
    (declared("decimal(10,2)"), "double", None),
    (declared("varchar(10)"), "varchar(9)", None),
    (declared("varchar(10)"), "char(10)", None),
    (declared("text"), "varchar(9999)", None),
    (declared("text"), "tinytext", None),
    (declared("text charset gbk"), "text", None),
    (declared("varbinary(8)"), "binary(8)", None),
    (declared("binary(8)"), "binary(9)", None),
    (declared("varbinary(8)"), "varchar(8)", None),
    (declared("blob"), "tinyblob", None),
    (declared("varchar(8)"), "varbinary(80)", None),
    (declared("date"), "datetime", None),
    (declared("datetime"), "timestamp", None),
    (declared("timestamp"), "datetime", None),
    (declared("datetime(6)"), "datetime(3)", None),
    (declared("enum('a')"), "varchar(9)", None),
    (declared("set('a')"), "enum('a')", None),
    (declared("json"), "text", None),
]


def there(type_: str) -> TargetColumn:
    labels = type_[type_.index("(") + 1 : -1] if type_.startswith(("enum", "set")) else ""
    textual = type_.startswith(("char", "varchar", "enum", "set")) or type_.endswith("text")
    return TargetColumn(
        "c",
        type_,
        nullable=True,
        collation="utf8mb4_bin" if textual else None,
        elements=tuple(label.strip("'") for label in labels.split(",")) if labels else (),
    )


@pytest.mark.parametrize(("source", "target", "name"), FITTING)
def test_a_users_column_takes_a_type_or_is_refused(
    source: ColumnType, target: str, name: str | None
) -> None:
    if name is None:
        with pytest.raises(Stop, match="does not fit into"):
            codec(source, there(target), MYSQL)
    else:
        assert codec(source, there(target), MYSQL) == name


@pytest.mark.parametrize("type_", ["enum", "set"])
def test_labels_of_the_target_are_not_taken_for_upstreams(type_: str) -> None:
    with pytest.raises(Stop, match=f"the labels of this {type_} are not known: neither its rows"):
        codec(ColumnType(type_), there(f"{type_}('a','b')"), MYSQL)


def test_labels_in_another_order_are_refused() -> None:
    with pytest.raises(Stop, match="labels are not the first ones"):
        codec(declared("enum('b','a')"), there("enum('a','b')"), MYSQL)


def test_labels_that_the_catalog_cannot_show_are_told() -> None:
    with pytest.raises(Stop, match=r"catalog shows characters beyond U\+FFFF as \?"):
        codec(declared("ENUM('😀', 'b')"), there("enum('?','b')"), MYSQL)


def test_null_is_caught_where_mariadb_stores_the_current_time() -> None:
    column = replace(there("timestamp(6)"), nullable=False)
    assert codec(ColumnType("timestamp"), column, MARIADB) == "instant:6"


CHARSETS = [
    ("utf8mb4_general_ci", None, True),
    ("utf8mb3_general_ci", None, True),
    ("utf8mb3_general_ci", "utf8mb4", False),
    ("ascii_bin", "utf8", False),
    ("utf8_bin", "utf8", True),
    ("utf8mb3_bin", "gbk", True),
    ("latin1_swedish_ci", "latin1", False),
    ("latin1_swedish_ci", "ascii", True),
    ("ascii_bin", "ascii", True),
    ("gbk_chinese_ci", "gbk", False),
]


@pytest.mark.parametrize(("collation", "charset", "holds"), CHARSETS)
def test_a_column_of_a_smaller_character_set_is_refused(
    collation: str, charset: str | None, holds: bool
) -> None:
    column = replace(there("varchar(9)"), collation=collation)
    source = ColumnType("varchar", length=9, charset=charset)
    if holds:
        assert codec(source, column, MYSQL) == "text"
    else:
        with pytest.raises(Stop):
            codec(source, column, MYSQL)


def test_a_vector_goes_into_text_by_a_rule_of_the_user_only() -> None:
    source = ColumnType("vector", length=3)
    with pytest.raises(Stop, match="under the rule vector-as-text only"):
        codec(source, there("longtext"), MYSQL)
    assert codec(source, there("longtext"), MYSQL, frozenset({VECTOR_AS_TEXT})) == "text"
    assert codec(source, there("vector(3)"), TIDB) == "text"
    with pytest.raises(Stop):
        codec(source, there("vector(4)"), TIDB)


MERGING = [
    # target, upstream (None: the stream did not tell), whether it may merge keys
    ("utf8mb4_bin", None, False),
    ("utf8mb4_bin", "utf8mb4_bin", False),
    ("utf8mb4_nopad_bin", "utf8mb4_bin", False),
    ("utf8mb4_0900_bin", "utf8mb4_bin", False),
    ("utf8mb4_general_ci", None, True),
    ("utf8mb4_0900_as_cs", None, True),
    ("utf8mb4_general_ci", "utf8mb4_general_ci", False),
    ("utf8mb4_bin", "utf8mb4_general_ci", False),
    ("utf8mb4_unicode_ci", "utf8mb4_general_ci", True),
    ("utf8mb4_general_nopad_ci", "utf8mb4_general_ci", False),
    ("utf8mb4_unicode_ci", "utf8mb4_unicode_ci", True),
    ("utf8mb4_bin", "utf8mb4_unicode_ci", False),
    ("utf8mb4_unicode_nopad_ci", "utf8mb4_unicode_ci", True),
    ("utf8mb4_general_ci", "utf8_general_ci", False),
    ("utf8mb4_bin", "utf8mb4_0900_ai_ci", True),
    ("utf8mb4_nopad_bin", "utf8mb4_0900_ai_ci", False),
    ("utf8mb4_0900_as_cs", "utf8mb4_0900_ai_ci", False),
    ("utf8mb4_0900_ai_ci", "utf8mb4_0900_ai_ci", False),
    ("utf8mb4_bin", "utf8mb4_0900_bin", True),
    ("utf8mb4_bin", "gbk_chinese_ci", False),
    ("utf8mb4_bin", "latin1_bin", False),
    ("utf8mb4_general_ci", "latin1_bin", True),
    ("utf8mb4_bin", "utf8mb4_something_new", True),
    ("utf8mb4_nopad_bin", "utf8mb4_something_new", False),
]


@pytest.mark.parametrize(("target", "upstream", "merging"), MERGING)
def test_a_coarser_collation_is_recognised(
    target: str, upstream: str | None, merging: bool
) -> None:
    assert merges(target, ColumnType("varchar", collation=upstream), MYSQL) is merging


TIDBS_OWN = ["utf8mb4_unicode_ci", "utf8_unicode_ci", "utf8mb4_0900_ai_ci", "gbk_chinese_ci"]


@pytest.mark.parametrize("collation", TIDBS_OWN)
def test_a_collation_of_tidb_is_no_coarser_than_itself_in_tidb(collation: str) -> None:
    assert not merges(collation, ColumnType("varchar", collation=collation), TIDB)
    assert not merges("utf8mb4_bin", ColumnType("varchar", collation="utf8mb4_unicode_ci"), TIDB)
    new = new_collation(ColumnType("varchar", collation=collation), TIDB)
    assert not merges(new, ColumnType("varchar", collation=collation), TIDB)


def test_collations_of_what_is_compared_as_numbers_do_not_matter() -> None:
    assert not merges("utf8mb4_general_ci", ColumnType("enum"), MYSQL)


def test_the_character_set_alone_tells_tidbs_default_collation() -> None:
    assert not merges("utf8mb4_bin", ColumnType("varchar", charset="gbk"), MYSQL)


NAMES = [
    ("item", "`item`"),
    ("a`b", "`a``b`"),
    ("'; DROP TABLE x; --", "`'; DROP TABLE x; --`"),
    ('"\\%s', '`"\\%s`'),
    ("表", "`表`"),
    ("n" * 64, "`" + "n" * 64 + "`"),
]


@pytest.mark.parametrize(("name", "quoted"), NAMES)
def test_a_name_is_quoted(name: str, quoted: str) -> None:
    assert quote_name(name, wide=False) == quoted


@pytest.mark.parametrize("name", ["", "a\0b", "ends with ", "n" * 65, "a😀", "\ud800"])
def test_a_name_that_the_server_would_change_is_refused(name: str) -> None:
    with pytest.raises(Stop, match="the name"):
        quote_name(name, wide=False)


def test_tidb_takes_every_character_in_a_name() -> None:
    assert quote_name("a😀", wide=True) == "`a😀`"


VERSIONS = [
    ("8.0.15", MYSQL),
    ("9.1.0-debug", MYSQL),
    ("10.11.19-MariaDB-0+deb12u1", MARIADB),
    ("5.5.5-10.4.2-MariaDB-log", MARIADB),
    ("8.0.11-TiDB-v8.1.0", TIDB),
    ("5.7.25-TiDB-v5.4.0", TIDB),
]


@pytest.mark.parametrize(("version", "dialect"), VERSIONS)
def test_the_servers_version_tells_which_of_the_three_it_is(version: str, dialect: object) -> None:
    assert dialect_of(version) is dialect


def test_each_of_the_three_is_a_target() -> None:
    targets = TARGETS
    assert {name: target.dialect for name, target in targets.items()} == {
        name: name for name in ("mysql", "mariadb", "tidb")
    }
