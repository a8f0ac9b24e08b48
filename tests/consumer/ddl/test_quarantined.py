"""How a DDL stands to the tables that are quarantined."""

import pytest
from ticdc_consumer.ddl.quarantined import relation
from ticdc_encoder.event import Ddl

ASIDE = {("shop", "Items")}
CASES = [
    ("alone", "items", "ALTER TABLE `shop`.`items` ADD COLUMN n INT"),
    ("alone", "items", "TRUNCATE TABLE ITEMS"),
    ("alone", "items", "DROP TABLE `shop`.`items`"),
    ("alone", "items", "CREATE TABLE items (id INT PRIMARY KEY)"),
    ("apart", "other", "ALTER TABLE `other` ADD COLUMN items INT"),
    ("apart", "other", "DROP TABLE `other`"),
    ("apart", "other", "CREATE TABLE other LIKE shop.things"),
    ("apart", "v", "CREATE VIEW v AS SELECT a FROM other"),
    ("apart", "", "CREATE DATABASE IF NOT EXISTS `shop`"),
    ("apart", "", "ALTER DATABASE `shop` CHARACTER SET utf8mb4"),
    ("apart", "", "DROP DATABASE `depot`"),
    ("joined", "", "DROP DATABASE `Shop`"),
    ("joined", "things", "RENAME TABLE `shop`.`items` TO `shop`.`things`"),
    ("joined", "items", "RENAME TABLE `shop`.`things` TO `shop`.`items`"),
    ("joined", "other", "CREATE TABLE other LIKE items"),
    ("joined", "other", "ALTER TABLE other ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES items (id)"),
    ("joined", "items", "ALTER TABLE items ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES other (id)"),
    (
        "joined",
        "other",
        "CREATE TABLE other (a INT, FOREIGN KEY (a) REFERENCES items (id))",
    ),
    ("joined", "other", "ALTER TABLE `items` EXCHANGE PARTITION p WITH TABLE `other`"),
    ("joined", "v", "CREATE VIEW v AS SELECT a FROM shop.items"),
    ("joined", "items", "FLASHBACK TABLE items TO TIMESTAMP '2026-01-01'"),
    ("joined", "other", "SOMETHING THAT NOBODY KNOWS OF items"),
    ("apart", "other", "SOMETHING THAT NOBODY KNOWS OF items_2"),
]


@pytest.mark.parametrize(("expected", "table", "query"), CASES)
def test_a_ddl_waits_with_its_table_or_goes_on_or_stops(
    expected: str, table: str, query: str
) -> None:
    assert relation(Ddl("shop", table, query, 5), ASIDE) == expected


def test_a_table_of_that_name_elsewhere_goes_on() -> None:
    assert relation(Ddl("depot", "items", "DROP TABLE items", 5), ASIDE) == "apart"


def test_a_rename_between_two_of_them_is_of_more_than_one() -> None:
    both = {("shop", "items"), ("shop", "things")}
    assert relation(Ddl("shop", "things", "RENAME TABLE items TO things", 5), both) == "joined"
