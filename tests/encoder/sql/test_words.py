"""The words of a statement."""

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.sql.words import SqlWords, escaped, masked, named_schema, restored

STATEMENTS = [
    ("CREATE DATABASE `shop`", "shop"),
    ("create schema if not exists `shop` character set = utf8mb4 collate utf8mb4_bin;", "shop"),
    ("DROP DATABASE IF EXISTS `my shop`", "my shop"),
    ("ALTER DATABASE shop COLLATE utf8mb4_bin", "shop"),
    ("DROP SCHEMA\n`shop`\n", "shop"),
    ("DROP TABLE `shop`.`orders`", None),
    ("CREATE TABLE `database` (id INT)", None),
]


@pytest.mark.parametrize(("query", "schema"), STATEMENTS)
def test_a_statement_about_a_database_names_it(query: str, schema: str | None) -> None:
    assert named_schema(query) == schema
    # A comment makes it a statement for the tokenizer.
    assert named_schema(f"/* by hand */ {query}") == schema


COMMENTS = [
    ("a /*!80000 b */ c", "a b c"),
    ("a /*T![x,y] b */ c", "a b c"),
    ("a /*T! b */ c /* d */ e -- f", "a b c e"),
    ("a # /*! b */", "a"),
    ("a--1 '--' ---b -- c", "a - - 1 -- - - - b"),
    ("'/*! x */' a", "/*! x */ a"),
    ("a /*!b*//*c*/ d", "a b d"),
]


@pytest.mark.parametrize(("sql", "expected"), COMMENTS)
def test_the_text_of_executable_comments_counts(sql: str, expected: str) -> None:
    words = SqlWords(sql)
    assert " ".join(iter_words(words)) == expected


def iter_words(words: SqlWords) -> Iterator[str]:
    while not words.done():
        yield words.next()


@pytest.mark.parametrize("text", ["/*!", "/*T![", "/*", "/*T![x"])
def test_comments_that_are_never_closed_take_linear_time(text: str) -> None:
    # By their square 300,000 characters took minutes; now it is less than a second.
    began = time.process_time()
    with suppress(DefinitionError):  # the tokenizer says so of some
        SqlWords("CREATE DATABASE d " + text * (300_000 // len(text)))
    assert time.process_time() - began < 20


RESTORED = [
    # TiDB's own driver of values doubles the backslashes of literals and of columns' comments.
    (r"DEFAULT _UTF8MB4'C:\\new\\bin'", r"C:\new\bin"),
    (r"DEFAULT _UTF8MB4'x\\'", "x\\"),
    (r"DEFAULT _UTF8MB4'it''s \\'' \\%\\_'", r"it's \' \%\_"),
    ("DEFAULT _UTF8MB4'\0\n\x1a\t\"'", '\0\n\x1a\t"'),
    (r"DEFAULT 'C:\\new' /* by a route */", r"C:\new"),
    (r"DEFAULT _BINARY'a\\b'", r"a\b"),
    (r"COMMENT 'it''s\\'", "it's\\"),
    # The parser's own driver doubles none.
    (r"DEFAULT _UTF8MB4'C:\new\bin'", r"C:\new\bin"),
    (r"DEFAULT _UTF8MB4'\d+'", r"\d+"),
    (r"DEFAULT _UTF8MB4'x\'", "x\\"),
    (r"DEFAULT _UTF8MB4'\\host\share' COMMENT 'a\\b'", r"\\host\share"),
    (r"DEFAULT _UTF8MB4'it''s \''' COMMENT 'c\'", r"it's \'"),
    (r"DEFAULT _LATIN1'\n' COMMENT '`it''s\'", r"\n"),
    # By hand, with MySQL's escapes.
    (r"default 'it\'s \"x\"\n\\'", 'it\'s "x"\n\\'),
    (r"DEFAULT 'a\tb' COMMENT 'it\'s'", "a\tb"),
    (r"""default "it's \"x\"" """, 'it\'s "x"'),
    (r"DEFAULT _UTF8MB4'it\'s'", "it's"),
]


@pytest.mark.parametrize(("clause", "text"), RESTORED)
def test_a_backslash_in_a_restored_text_is_what_it_was_upstream(clause: str, text: str) -> None:
    words = SqlWords(escaped(f"ALTER TABLE `t` ADD COLUMN `c\\` VARCHAR(30) {clause}"))
    while not (words.kind() == "string" or words.at_introducer()):
        words.next()
    assert words.string() == text


INDEXED = r"""CREATE TABLE `t` (`a` INT COMMENT 'c\\',`e` ENUM('C:\new','x\') DEFAULT _UTF8MB4'x\\',
    INDEX `i`(`a`) COMMENT 'i\',INDEX `k`(`e`) COMMENT 'it''s\') COMMENT = 't\' PARTITION BY
    LIST COLUMNS (`e`) (PARTITION `p` VALUES IN (_UTF8MB4'x\\') COMMENT = 'p\\\')"""


def test_labels_are_read_as_tidb_shows_them() -> None:
    # As TiDB 8.4 shows what was written as 'a\\\\b', 'c\\\\\\\\d', 'q\\'x', 'z\\\\'.
    shown = (
        "CREATE TABLE `t` (\n"
        "  `enum('x\\b')` int NOT NULL COMMENT 'set(\\'\\')',\n"
        "  `e` enum('a\\b','c\\\\d','n','q''x','z\\') DEFAULT 'a\\\\b',\n"
        "  `s` set('a\\t','x') DEFAULT NULL COMMENT 'a\\\\b'\n"
        ")"
    )
    name, e, s = parse_create_table(restored(shown), "d").columns
    assert name.name == "enum('x\\b')"
    assert e.type.elements == ("a\\b", "c\\\\d", "n", "q'x", "z\\")
    assert (e.default, s.comment) == ("a\\b", "a\\b")
    assert s.type.elements == ("a\\t", "x")


@pytest.mark.parametrize("label", [r"a\\nb", r"c\\\\n", r"z\\0", r"\\r"])
def test_labels_that_tidb_shows_alike_are_refused(label: str) -> None:
    with pytest.raises(DefinitionError, match="its labels are not certain"):
        restored(f"CREATE TABLE t (e enum('b','{label}'))")


def test_texts_that_are_never_escaped_end_at_their_quotes() -> None:
    """As TiDB restores labels, options, and comments of indexes."""
    words, texts = SqlWords(escaped(INDEXED)), []
    while not words.done():
        kind, text = words.kind(), words.next()
        texts += [text] if kind == "string" else []
    assert texts == ["c\\", "C:\\new", "x\\", "x\\", "i\\", "it's\\", "t\\", "x\\", "p\\\\\\"]


def test_a_masked_statement_has_its_words_where_they_were() -> None:
    assert masked(r"ENUM('a\') DEFAULT 'a\\'") == r"ENUM('a_') DEFAULT 'a\\'"
    assert masked(r"DEFAULT _UTF8MB4'\d' COMMENT 'c\\'") == "DEFAULT _UTF8MB4'_d' COMMENT 'c__'"
