"""The words of a statement."""

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.sql.words import SqlWords, named_schema

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
def test_comments_that_are_never_closed_take_time_by_their_length(text: str) -> None:
    # By their square 300,000 characters took minutes; now it is less than a second.
    began = time.process_time()
    with suppress(DefinitionError):  # the tokenizer says so of some
        SqlWords("CREATE DATABASE d " + text * (300_000 // len(text)))
    assert time.process_time() - began < 20
