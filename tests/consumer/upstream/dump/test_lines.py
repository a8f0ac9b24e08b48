"""Lines as Dumpling writes them, and lines that it does not write."""

import time

import pytest
from ticdc_consumer.errors import Stop
from ticdc_consumer.upstream.dump.lines import Lines, csv_lines, sql_lines
from ticdc_consumer.upstream.dump.pieces import Piece
from ticdc_encoder.sql.parser import parse_create_table

TABLE = parse_create_table("CREATE TABLE t (a int PRIMARY KEY, b varchar(9), c blob)", "s")
GENERATED = parse_create_table(
    'CREATE TABLE `t``` (a int PRIMARY KEY, b int AS (1) VIRTUAL, `c,"` int)', "s"
)

Values = list[bytes | None]


def read(lines: Lines, content: bytes) -> list[Values]:
    """The values of each row."""
    unquotes = [lines.unquote(column) for column in lines.columns]
    return [
        [
            None if value == lines.null else unquote(value)
            for unquote, value in zip(unquotes, record, strict=True)
        ]
        for record in lines.records(Piece("f", 0, len(content), 1), content)
    ]


SQL: list[tuple[bytes, Values]] = [
    (rb"(1,'one',x'00ff');", [b"1", b"one", b"\x00\xff"]),
    (rb"(-1,'',x''),", [b"-1", b"", b""]),
    (rb"(1e-300,NULL,NULL),", [b"1e-300", None, None]),
    (rb"(1,'NULL','x\'00\''),", [b"1", b"NULL", b"x'00'"]),
    (rb"(1,'),(','\n\r\0\Z\\\'\"'),", [b"1", b"),(", b"\n\r\0\x1a\\'\""]),
    (rb"(1,'\\',','),", [b"1", b"\\", b","]),
    (rb"(1,'\\n','/*!40014 */;'),", [b"1", rb"\n", b"/*!40014 */;"]),
]


@pytest.mark.parametrize(("line", "values"), SQL)
def test_a_row_of_an_insert_has_these_values(line: bytes, values: Values) -> None:
    content = b"/*!40101 SET NAMES binary*/;\nINSERT INTO `t` VALUES\n" + line + b"\n"
    assert read(sql_lines(TABLE), content) == [values]


def test_columns_that_are_generated_are_left_out_by_name() -> None:
    content = b'INSERT INTO `t``` (`a`,`c,"`) VALUES\n(1,2);\n'
    assert read(sql_lines(GENERATED), content) == [[b"1", b"2"]]
    assert read(csv_lines(GENERATED, {}), b'"a","c,\\""\r\n1,2\r\n') == [[b"1", b"2"]]


CSV: list[tuple[dict[str, bool | str], bytes, Values]] = [
    ({}, b'1,"one","\xff\\0"\r\n', [b"1", b"one", b"\xff\0"]),
    ({}, rb'1,\N,"\\N"' + b"\r\n", [b"1", None, rb"\N"]),
    ({}, rb'1,"a,b","\n\r\\\""' + b"\n", [b"1", b"a,b", b'\n\r\\"']),
    ({"csv-separator": "\t"}, b'1\t"a,\tb"\t\\N\r\n', [b"1", b"a,\tb", None]),
    ({"csv-separator": "|", "csv-delimiter": ""}, rb"1|a\|b,|\\N" + b"\n", [b"1", b"a|b,", rb"\N"]),
    ({"csv-separator": "|", "csv-delimiter": ""}, rb"1||\N" + b"\n", [b"1", b"", None]),
    ({"csv-null-value": ""}, b'1,,""\n', [b"1", None, b""]),
    ({"csv-null-value": "NULL"}, b'1,NULL,"NULL"\n', [b"1", None, b"NULL"]),
    ({"csv-delimiter": "'"}, rb"""1,'it\'s "','x'""" + b"\n", [b"1", b"it's \"", b"x"]),
    ({"csv-output-dialect": "redshift"}, b'1,"61","00ff"\n', [b"1", b"61", b"\x00\xff"]),
    ({"csv-output-dialect": "bigquery"}, b'1,"61","AP8="\n', [b"1", b"61", b"\x00\xff"]),
]


@pytest.mark.parametrize(("settings", "line", "values"), CSV)
def test_a_line_of_csv_has_these_values(
    settings: dict[str, bool | str], line: bytes, values: Values
) -> None:
    lines = csv_lines(TABLE, settings)
    assert read(lines, lines.header + b"\r\n" + line) == [values]
    assert read(csv_lines(TABLE, {**settings, "no-header": True}), line) == [values]


NOT_DUMPLINGS = [
    b"(1,'one',x'00ff')",
    b"(1,'one',x'00f');",
    b"(1,'o\tne' ,x'00');",
    b"(1,'it''s',x'00');",
    b"(1,'a\"b',x'00');",
    b"(1,'a\rb',x'00');",
    rb"(1,'a\tb',x'00');",
    rb"(1,'a\',x'00');",
    b"(1,null,x'00');",
    b"(1,_binary 'a',x'00');",
    b"(1,'a',0x00);",
    b"( 1,'a',x'00');",
    b"(1,'a',x'00'),(2,'a',x'00');",
    b"INSERT INTO `u` VALUES",
    b"DELETE FROM t;",
    b"/*!40101 SET NAMES binary*/; DROP TABLE t /*!*/;",
    b"",
]


@pytest.mark.parametrize("line", NOT_DUMPLINGS)
def test_a_line_that_dumpling_does_not_write_is_refused(line: bytes) -> None:
    with pytest.raises(Stop, match=r"^f, byte 23: the row is not as Dumpling writes it with"):
        read(sql_lines(TABLE), b"INSERT INTO `t` VALUES\n" + line + b"\n")


HOSTILE = [
    b"(" + b"'" * 2_000_001 + b",",
    b"(1,'" + rb"\'" * 1_000_000,
    b"(1,'" + b"a" * 2_000_000,
    b"(1," * 600_000,
    b"(1,x'" + b"00" * 1_000_000,
    b"(1," + b"1" * 2_000_000 + b"x",
    b"/*!" + b"*" * 2_000_000,
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_hostile_line_is_refused_in_linear_time(number: int) -> None:
    for lines in (sql_lines(TABLE), csv_lines(TABLE, {"no-header": True})):
        before = time.process_time()
        with pytest.raises(Stop):
            read(lines, HOSTILE[number].replace(b"'", lines.comma) + b"\n")
        assert time.process_time() - before < 2
