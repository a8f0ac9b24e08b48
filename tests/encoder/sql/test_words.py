"""The words of a statement."""

import pytest
from ticdc_encoder.sql.words import named_schema

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
