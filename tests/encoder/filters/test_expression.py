from decimal import Decimal
from typing import Any

import pytest
from ticdc_encoder.errors import ConfigError, DefinitionError
from ticdc_encoder.filters.expression import condition
from ticdc_encoder.sql.parser import parse_create_table

TABLE = parse_create_table(
    "create table t (id bigint primary key, n int, p decimal(20,4), f float, d double,"
    " s varchar(20) collate utf8mb4_bin, c varchar(20) collate utf8mb4_general_ci, b varbinary(9),"
    " day date, at datetime(3), ts timestamp, len time, e enum('new','old'), y year, bits bit(8),"
    " `select` int, j json, v int as (n + 1) virtual)",
    "shop",
)
ROW: dict[str, Any] = {
    "id": 18,
    "n": None,
    "p": Decimal("2.5000"),
    "f": 1.1,
    "d": 1.1,
    "s": "abc ",
    "c": "Été",
    "b": b"\xff",
    "day": "2024-03-01",
    "at": "2024-03-01 10:00:00.500",
    "ts": "2024-03-01 23:00:00",
    "len": "-01:30:00",
    "e": 2,
    "y": 2024,
    "bits": 5,
    "select": 1,
    "j": "{}",
}

# What TiDB says of the row: 1 ("yes"), and anything else ("no").
EXPRESSIONS = {
    "id = 18": "yes",
    "t.ID = 18 and `select`": "yes",
    "other.id = 18": "shop.t has no column id",
    "id >= 18 and id < 18.5": "yes",
    "id <> 18 or p > 2.4999": "yes",
    "id != 18": "no",
    "not id = 17": "yes",
    "!(id = 18)": "no",
    "id": "no",  # 18 is true, but not 1
    "`select`": "yes",
    "id and 1": "yes",
    "id xor 0": "yes",
    "id || n": "yes",
    "n = 1": "no",
    "n <> 1": "no",
    "not (n = 1)": "no",
    "n is null": "yes",
    "n is not null": "no",
    "n <=> null": "yes",
    "id <=> 18": "yes",
    "(n = 1) is null": "yes",
    "(n = 1) is not true": "yes",
    "(id = 18) is true": "yes",
    "n = 1 or id = 18": "yes",
    "n = 1 and id = 17": "no",
    "(n = 1 and id = 17) is false": "yes",
    "id in (1, 18.0, null)": "yes",
    "id not in (1, 2)": "yes",
    "id not in (1, null)": "no",
    "id between 18 and 19": "yes",
    "id between 18 and n": "no",
    "id not between n and 17": "yes",
    "id = '18'": "yes",
    "id = '18 apples'": "yes",
    "s > 0": "no",
    "p = 2.5": "yes",
    "f = 1.1": "no",
    "f > 1.1 and f < 1.2": "yes",
    "d = 1.1": "yes",
    "d = 11e-1": "yes",
    "s = 'abc'": "yes",  # trailing spaces do not count
    "s = 'ABC'": "no",
    "s < 'abd'": "yes",
    "s like 'abc'": "no",
    "s like 'a_c%'": "yes",
    r"s like 'a\_c%'": "no",
    "s not like 'b%'": "yes",
    "c = 'ete'": "yes",
    "c like 'ÉT%'": "yes",
    "c like 'ete'": "yes",
    "c like '_T_'": "yes",
    "c like 'et'": "no",
    "s is 'new'": "IS is evaluated for NULL, TRUE and FALSE",
    "id is 5": "IS is evaluated for NULL, TRUE and FALSE",
    f"{'(' * 5000}id{')' * 5000}": "not an SQL expression",
    "c < 'x'": "the order of utf8mb4_general_ci is not known",
    "c = s": "texts of utf8mb4_bin and utf8mb4_general_ci are not compared",
    "lower(c) = 'été' and upper(s) = 'ABC'": "yes",
    "length(c) = 5 and char_length(c) = 3 and length(b) = 1": "yes",
    "b = 'a'": "no",
    "day = '2024-3-1'": "yes",
    "day < '2024-03-01 00:00:01'": "yes",
    "at > '2024-03-01T10:00'": "yes",
    "at >= day": "yes",
    "at = '2024-03-01 10:00:00.5'": "yes",
    "ts = '2024-03-02 08:00:00'": "yes",  # in Asia/Tokyo
    "len < '00:00:01' and len = '-1:30'": "yes",
    "day = 'soon'": "'soon' is not a time",
    "day = 20240301": "are not compared",
    "e = 'old'": "yes",
    "e = 2": "yes",
    "e > 'new'": "are not compared",
    "y = 2024 and bits = 5": "yes",
    "id + 1 = 19 and id - 20 = -2 and id * 2 = 36": "yes",
    "id % 5 = 3 and mod(-18, 5) = -3 and (id % 0) is null": "yes",
    "p + 0.5 = 3": "yes",
    "d * 10 = 11": "yes",
    "coalesce(n, id) = 18 and ifnull(n, 1)": "yes",
    "coalesce(n, s) = 1": "COALESCE is evaluated for values of one type",
    "s + 1 = 1": "arithmetic is evaluated for numbers",
    "missing = 1": "shop.t has no column missing",
    "v = 1": "column v is virtual",
    "j = 1": "column j is json, which is not evaluated",
    "id in (select 1)": "IN is not evaluated",
    "date(at) = '2024-03-01'": "DATE is not evaluated",
    "id =": "not an SQL expression",
    "id = 1e": "not an SQL expression",
    "id = 'x": "not an SQL expression",
}


@pytest.mark.parametrize(("text", "expected"), EXPRESSIONS.items())
def test_an_expression_has_the_value_that_it_has_in_tidb(text: str, expected: str) -> None:
    if expected in ("yes", "no"):
        holds = condition(text, TABLE, "Asia/Tokyo")
        assert holds(ROW) is (expected == "yes")
    else:
        with pytest.raises(ConfigError) as raised:
            condition(text, TABLE)
        assert expected in str(raised.value)
        assert text in str(raised.value)


def test_a_row_without_a_column_that_is_asked_for_is_an_error() -> None:
    with pytest.raises(DefinitionError, match=r"a row of shop\.t without `n`"):
        condition("n = 1", TABLE)({"id": 1})


def test_a_like_of_many_wildcards_takes_linear_time() -> None:
    row = ROW | {"s": "a" * 3000}
    assert not condition(f"s like '{'%a' * 20}b'", TABLE)(row)
