"""Expressions of generated columns, as TiCDC sends them and as SHOW CREATE TABLE prints them."""

import pytest
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.sql.expression import (
    Call,
    ColumnName,
    Expression,
    Null,
    Number,
    Text,
    names,
    parse_expression,
)

A, B, ONE, TWO = ColumnName("a"), ColumnName("b"), Number("1"), Number("2")


def call(name: str, *operands: Expression) -> Call:
    return Call(name, operands)


CASES: list[tuple[str, Expression]] = [
    ("`a`+1", call("+", A, ONE)),
    ("a - 1 - 2", call("-", call("-", A, ONE), TWO)),
    ("a + b * 2 DIV 1", call("+", A, call("DIV", call("*", B, TWO), ONE))),
    ("a mod 2", call("%", A, TWO)),
    ("MOD(a, 2)", call("%", A, TWO)),
    ("-a", call("NEG", A)),
    ("`a`--1", call("-", A, call("NEG", ONE))),
    ("--`a`", call("NEG", call("NEG", A))),
    ("- -1", call("NEG", call("NEG", ONE))),
    ("a >= 1 AND NOT b = 2", call("AND", call(">=", A, ONE), call("NOT", call("=", B, TWO)))),
    ("a or b xor 1 and 2", call("OR", A, call("XOR", B, call("AND", ONE, TWO)))),
    ("a != 1", call("<>", A, ONE)),
    ("a <=> NULL", call("<=>", A, Null())),
    ("a is not null", call("NOT", call("IS NULL", A))),
    ("a NOT IN (1, -2)", call("NOT", call("IN", A, ONE, call("NEG", TWO)))),
    ("IF(`a` IS NULL,1,NULL)", call("IF", call("IS NULL", A), ONE, Null())),
    ("case when a then 1 else 2 end", call("CASE", A, ONE, TWO)),
    ("CASE WHEN a THEN 1 END", call("CASE", A, ONE, Null())),
    ("concat(_utf8mb4'it''s', `b`)", call("CONCAT", Text("it's"), B)),
    ("TRUE", ONE),
    ("1.50", Number("1.50")),
    ("cast(a as decimal(10,2))", Call("CAST", (A,), "DECIMAL(10,2)")),
    ("`a`->'$.x'", call("JSON_EXTRACT", A, Text("$.x"))),
    ("a->>'$.x'", call("JSON_UNQUOTE", call("JSON_EXTRACT", A, Text("$.x")))),
    ("((a))", A),
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=[text for text, _ in CASES])
def test_an_expression_is_read_by_mysqls_precedence(text: str, expected: Expression) -> None:
    assert parse_expression(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a ||",
        "a || b",
        "!a",
        "1e3",
        "_latin1'x'",
        "x'00'",
        "`t`.`a`",
        "a LIKE 'x'",
        "a COLLATE utf8mb4_bin",
        "CASE a WHEN 1 THEN 2 END",
        "DATE_ADD(a, INTERVAL 1 DAY)",
        "a -> b",
        "cast(a as binary)",
        "a IS TRUE",
        "a 1",
        "(" * 60 + "a" + ")" * 60,
    ],
)
def test_what_is_not_certain_is_refused(text: str) -> None:
    with pytest.raises(DefinitionError):
        parse_expression(text)


def test_the_columns_that_it_reads_are_known() -> None:
    assert set(names(parse_expression("IF(a > 1, `B`, CONCAT(a, c))"))) == {"a", "B", "c"}
