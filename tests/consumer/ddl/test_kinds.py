"""The table of kinds has a row for each kind of statement, and knows what each statement names."""

from typing import get_args

import pytest
from ticdc_consumer.ddl.kinds import ACTIONS, KINDS, Named, names_of
from ticdc_consumer.ddl.names import parsed
from ticdc_consumer.ddl.translate import TRANSLATIONS
from ticdc_encoder.sql.statements import Action, Statement

A, B, C = ("d", "a"), ("d", "b"), ("d", "c")
KEY = "CONSTRAINT k FOREIGN KEY (id) REFERENCES b (id)"

NAMES = {
    "CREATE TABLE a (id INT PRIMARY KEY)": Named((A,)),
    f"CREATE TABLE a (id INT PRIMARY KEY, {KEY})": Named((A,), parents=(B,)),
    "CREATE TABLE a LIKE b": Named((A,), like=(B,)),
    "DROP TABLE a": Named((A,)),
    "TRUNCATE TABLE a": Named((A,)),
    "ALTER TABLE a ADD COLUMN v INT": Named((A,)),
    "CREATE INDEX i ON a (v)": Named((A,)),
    f"ALTER TABLE a ADD {KEY}": Named((A,), parents=(("", "b"),)),
    "ALTER TABLE a EXCHANGE PARTITION p WITH TABLE b": Named((A,), exchanged=(B,)),
    "RENAME TABLE a TO b": Named((A, B)),
    "RECOVER TABLE a": Named((A,), restored=(A,)),
    "FLASHBACK TABLE a TO c": Named((C,), restored=(A,)),
    "RECOVER TABLE BY JOB 53": Named(complete=False),
    "CREATE VIEW a AS SELECT id FROM b": Named(views=(A,)),
    "DROP VIEW a": Named(views=(A,)),
    "CREATE DATABASE e": Named(schema="e"),
    "ALTER DATABASE e CHARACTER SET utf8mb4": Named(schema="e"),
    "DROP DATABASE e": Named(schema="e", contents=True),
    "CREATE SEQUENCE a": Named(complete=False),
}


@pytest.mark.parametrize("query", NAMES)
def test_what_a_statement_names(query: str) -> None:
    assert names_of(parsed(query, "d")) == NAMES[query]


def test_each_kind_of_statement_has_a_row_and_a_translation() -> None:
    kinds = set(get_args(Statement))
    assert (set(KINDS), set(TRANSLATIONS)) == (kinds, kinds)
    assert {type(parsed(query, "d")) for query in NAMES} == kinds


def test_each_action_of_alter_table_has_a_row() -> None:
    assert set(ACTIONS) == set(get_args(Action))
