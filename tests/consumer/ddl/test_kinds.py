"""The table of kinds has a row for each kind of statement, and knows what each statement names."""

from typing import get_args

import pytest
from ticdc_consumer.ddl.kinds import ACTIONS, KINDS, Names, names_of
from ticdc_consumer.ddl.names import parsed
from ticdc_consumer.ddl.translate import TRANSLATIONS
from ticdc_encoder.sql.statements import Action, Statement

A, B, C = ("d", "a"), ("d", "b"), ("d", "c")
KEY = "CONSTRAINT k FOREIGN KEY (id) REFERENCES b (id)"

NAMES = {
    "CREATE TABLE a (id INT PRIMARY KEY)": Names((A,)),
    f"CREATE TABLE a (id INT PRIMARY KEY, {KEY})": Names((A,), parents=(B,)),
    "CREATE TABLE a LIKE b": Names((A,), like=(B,)),
    "DROP TABLE a": Names((A,)),
    "TRUNCATE TABLE a": Names((A,)),
    "ALTER TABLE a ADD COLUMN v INT": Names((A,)),
    "CREATE INDEX i ON a (v)": Names((A,)),
    f"ALTER TABLE a ADD {KEY}": Names((A,), parents=(("", "b"),)),
    "ALTER TABLE a EXCHANGE PARTITION p WITH TABLE b": Names((A,), exchanged=(B,)),
    "RENAME TABLE a TO b": Names((A, B)),
    "RECOVER TABLE a": Names((A,), restored=(A,)),
    "FLASHBACK TABLE a TO c": Names((C,), restored=(A,)),
    "RECOVER TABLE BY JOB 53": Names(complete=False),
    "CREATE VIEW a AS SELECT id FROM b": Names(views=(A,)),
    "DROP VIEW a": Names(views=(A,)),
    "CREATE DATABASE e": Names(schema="e"),
    "ALTER DATABASE e CHARACTER SET utf8mb4": Names(schema="e"),
    "DROP DATABASE e": Names(schema="e", contents=True),
    "CREATE SEQUENCE a": Names(complete=False),
}


@pytest.mark.parametrize("query", NAMES)
def test_what_a_statement_names(query: str) -> None:
    assert names_of(parsed(query, "d")) == NAMES[query]


def test_the_table_has_a_row_and_a_translation_for_each_kind_of_statement() -> None:
    kinds = set(get_args(Statement))
    assert (set(KINDS), set(TRANSLATIONS)) == (kinds, kinds)
    assert {type(parsed(query, "d")) for query in NAMES} == kinds


def test_the_table_has_a_row_for_each_action_of_alter_table() -> None:
    assert set(ACTIONS) == set(get_args(Action))
