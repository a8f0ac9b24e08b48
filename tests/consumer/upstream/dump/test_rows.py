"""What Dumpling writes of a value -> its canonical form. Of all types: integration/."""

import pytest
from ticdc_consumer.errors import Stop
from ticdc_consumer.upstream.dump.pieces import Piece
from ticdc_consumer.upstream.dump.rows import DumpSettings, batches
from ticdc_encoder.sql.parser import parse_create_table

VALUES = [
    ("int(5) zerofill", b"00042", "42"),
    ("decimal(6,2) zerofill", b"1.25", "1.25"),
    ("year", b"'0000'", "0"),
    ("float", b"16777216", "16777216.0"),
    ("float", b"100000000000000", "100000000000000.0"),
    ("float", b"0.0000000000000010000001", "1.0000001e-15"),
    ("float", b"0", "0.0"),
    ("double", b"1.2345678901234568e17", "1.2345678901234568e17"),
    ("bit(64)", b"x'ffffffffffffffff'", "18446744073709551615"),
    ("enum('a','it''s')", rb"'it\'s'", "2"),
    ("enum('a','b')", b"''", "0"),
    ("enum('a','')", b"''", "2"),
    ("set('x','y','z')", b"'x,z'", "5"),
    ("set('x','y')", b"''", "0"),
    ("timestamp", b"'2024-06-01 10:20:30'", "2024-06-01 08:20:30"),
    ("timestamp(3)", b"'0000-00-00 00:00:00.000'", "0000-00-00 00:00:00.000"),
    ("datetime", b"'2024-03-31 02:30:00'", "2024-03-31 02:30:00"),
    ("binary(4)", b"x'6100'", b"a\0\0\0"),
]


def read(sql: str, value: bytes) -> list[str | bytes | None]:
    table = parse_create_table(f"CREATE TABLE t (id int PRIMARY KEY, c {sql})", "s")
    content = b"INSERT INTO `t` VALUES\n(1," + value + b"),\n(2,NULL);\n"
    piece = Piece("s.t.0.sql", 0, len(content), 2)
    (arrays,) = batches(table, piece, content, DumpSettings(time_zone="Europe/Berlin"), 9)
    return [each.as_py() for each in arrays[1]]


@pytest.mark.parametrize(("sql", "written", "canonical"), VALUES)
def test_a_value_has_its_canonical_form(sql: str, written: bytes, canonical: str | bytes) -> None:
    assert read(sql, written) == [canonical, None]


WRONG = [
    ("varchar(9)", b"'\xff'", "text that is not UTF-8"),
    ("enum('a')", b"'b'", "not a value of enum: dump again"),
    ("set('a')", b"'a,b'", "not a value of set: dump again"),
    ("year", b"'x'", "not a value of year: dump again"),
    ("float", b"1e15", "Dumpling has only six digits of a FLOAT below 1e-15, or from 1e15 on; end"),
    ("float", b"-3.40282e38", "Dumpling has only six digits of a FLOAT"),
    ("float(30,2)", b"1.23457e-20", "Dumpling has only six digits of a FLOAT"),
    (
        "timestamp",
        b"'2024-03-31 02:30:00'",
        "a time that occurs twice or never in .source. dump_time",
    ),
    (
        "timestamp",
        b"'2024-10-27 02:30:00'",
        "a time that occurs twice or never in .source. dump_time",
    ),
]


@pytest.mark.parametrize(("sql", "written", "words"), WRONG)
def test_no_value_of_its_type_is_refused_without_showing_it(
    sql: str, written: bytes, words: str
) -> None:
    with pytest.raises(Stop, match=f"^s.t.0.sql: s.t.c: {words}"):
        read(sql, written)
