import pytest
from ticdc_consumer.targets.mysql.create import MySqlColumn
from ticdc_consumer.targets.mysql.defaults import CatalogColumn, other_default

SAME: list[tuple[str, str | None, str | None]] = [
    ("int", None, None),
    ("int", None, "NULL"),  # MariaDB
    ("int", "'7'", "7"),
    ("decimal(9,2)", "'1.50'", "1.50"),
    ("varchar(9) character set utf8mb4 collate utf8mb4_bin", "'n'", "n"),
    ("varchar(9) character set utf8mb4 collate utf8mb4_bin", "'n'", "'n'"),  # MariaDB
    ("varchar(9)", r"'a\b'", r"a\\b"),  # not every catalog shows it as it is
    ("timestamp", None, "0000-00-00 00:00:00"),  # which some servers give by themselves
    ("datetime", "CURRENT_TIMESTAMP", "current_timestamp()"),
    ("text", "('n')", r"_utf8mb4\'n\'"),
    ("bit(3)", "b'101'", "b'101'"),
]
OTHER: list[tuple[str, str | None, str | None]] = [
    ("int", "'7'", None),
    ("int", "'7'", "NULL"),
    ("int", "'7'", "8"),
    ("int", None, "7"),
    ("varchar(9)", "'n'", "'m'"),
    ("datetime", "CURRENT_TIMESTAMP", "2024-01-02 03:04:05"),
    ("datetime", "'2024-01-02 03:04:05'", "CURRENT_TIMESTAMP"),
]


@pytest.mark.parametrize(("type_", "given", "shown"), SAME)
def test_a_default_is_known_again_as_catalogs_show_it(
    type_: str, given: str | None, shown: str | None
) -> None:
    present = CatalogColumn(type_, True, None, shown, "")
    assert not other_default(MySqlColumn(type_, True, given), present)


@pytest.mark.parametrize(("type_", "given", "shown"), OTHER)
def test_another_default_is_told_from_it(type_: str, given: str | None, shown: str | None) -> None:
    present = CatalogColumn(type_, True, None, shown, "")
    assert other_default(MySqlColumn(type_, True, given), present)


@pytest.mark.parametrize("extra", ["VIRTUAL GENERATED", "STORED GENERATED"])
def test_a_column_that_is_computed_is_none_that_is_not(extra: str) -> None:
    plain, computed = MySqlColumn("int", True, None), MySqlColumn("int", True, None, "AS (1)")
    shown = CatalogColumn("int", True, None, None, extra)
    assert (other_default(plain, shown), other_default(computed, shown)) == (True, False)
    shown = CatalogColumn("int", True, None, None, "DEFAULT_GENERATED")
    assert (other_default(plain, shown), other_default(computed, shown)) == (False, True)
