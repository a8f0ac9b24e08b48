"""What existing rows hold after a DDL, as a real TiDB answered: `*_columns.tsv`, which
`support/tidb_answers.py` writes."""

import pytest
from support.server_address import server_address
from support.tidb_answers import ADDED, CHANGED, Answer, answers, column, sessions, shown
from ticdc_consumer.errors import Unsupported
from ticdc_consumer.targets.schema.initial import initial

STOPS = {
    "DATETIME DEFAULT '2024-01-01 10:11:12+02:00'": "another time zone",
    "INT DEFAULT 2.5e0": "halves of a double, which are not those of a text",
    "INT DEFAULT (5)": "expressions",
    "TIME DEFAULT '2024-01-01 10:11:12'": "a date",
    "TIMESTAMP DEFAULT '2024-01-01 10:11:12'": "the session's time zone",
    "TIMESTAMP NULL DEFAULT '2011-11-11 11:11:11'": "the same",
    "TIMESTAMP NOT NULL DEFAULT '2011-11-11 11:11:11'": "the same",
    "TIMESTAMP(3) NOT NULL DEFAULT '2011-11-11 11:11:11.5'": "the same",
    "YEAR DEFAULT 1.5": "a year with a fraction",
    "VARBINARY(3) DEFAULT x'00ff'": "bytes beyond its length, which a longer type would show",
    "VARBINARY(2) DEFAULT x'e282'": "the same",
    "BINARY(4) DEFAULT x'00ff'": "the same",
    "BINARY(2) DEFAULT x'00ff'": "the same",
    "VARCHAR(3) DEFAULT 'abc  '": "spaces beyond its length, which a longer type would show",
}
"""What stops, and why it does."""


@pytest.mark.parametrize("case", answers(ADDED), ids=str)
def test_a_new_column_gives_existing_rows_tidbs_values(case: Answer) -> None:
    (definition,) = case.question
    added, computed = column(definition), "DEFAULT (" in definition
    if definition in STOPS:
        with pytest.raises(Unsupported):
            initial(added, computed)
        return
    value = initial(added, computed)
    if added.type.name in ("float", "double"):
        assert float(str(value)) == float(case.answer.strip("'"))
    else:
        assert shown(value).strip("'") == case.answer.strip("'")


def test_spaces_beyond_the_length_come_back_with_a_longer_type() -> None:
    for tidb in sessions(server_address("TIDB_URL")):
        tidb.run("CREATE TABLE t (id INT PRIMARY KEY)")
        tidb.run("INSERT INTO t VALUES (1)")
        tidb.run("ALTER TABLE t ADD COLUMN a VARCHAR(3) DEFAULT 'abc  '")
        assert tidb.run("SELECT HEX(a) FROM t").scalar() == "616263"
        tidb.run("ALTER TABLE t MODIFY COLUMN a VARCHAR(8)")
        assert tidb.run("SELECT HEX(a) FROM t").scalar() == "6162632020"


@pytest.mark.slow
def test_tidb_gives_these_answers(long: bool) -> None:
    """All of them with --long."""
    asked, changed = answers(ADDED), answers(CHANGED)
    if not long:
        asked, changed = asked[::24], changed[::48]
    for tidb in sessions(server_address("TIDB_URL")):
        told = [tidb.added(*case.question) for case in asked]
        told += [tidb.changed(*case.question) for case in changed]
        assert [text.partition("\t")[0] for text in told] == [
            case.answer for case in (*asked, *changed)
        ]
