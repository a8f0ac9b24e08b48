"""FLOAT and DOUBLE over their whole range, as Dumpling writes those of the real TiDB."""

import re
import struct
from pathlib import Path

import pytest
from support.dumpling import dump
from support.upstream_tidb import Upstream
from ticdc_consumer.errors import Stop
from ticdc_consumer.upstream.dump.pieces import Piece
from ticdc_consumer.upstream.dump.rows import DumpSettings, batches
from ticdc_encoder.sql.parser import parse_create_table

CREATE = "CREATE TABLE t (id int PRIMARY KEY, f float, d double)"
PATTERNS = (0, 1, 0x2AAAAA, 0x400000, 0x7FFFFF)
"""Fractions of a float32."""


def singles() -> list[float]:
    """Some of every exponent, and what is beside the powers of ten where TiDB's text changes."""
    bits = [exponent << 23 | fraction for exponent in range(255) for fraction in PATTERNS]
    for power in (1e15, 1e-15):
        (middle,) = struct.unpack("<I", struct.pack("<f", power))
        bits += range(middle - 3, middle + 4)
    numbers: list[float] = [struct.unpack("<f", struct.pack("<I", each))[0] for each in bits]
    return [number * (-1) ** place for place, number in enumerate(numbers)]


@pytest.mark.parametrize("form", ["sql", "csv"])
def test_a_float_of_a_dump_is_exact_or_refused(form: str, tidb: Upstream, tmp_path: Path) -> None:
    stored = singles()
    doubles = [number * 1.0000000001 for number in stored]
    tidb.execute(CREATE)
    values = [
        f"({n}, '{f!r}', '{d!r}')" for n, (f, d) in enumerate(zip(stored, doubles, strict=True))
    ]
    tidb.execute(f"INSERT INTO t VALUES {', '.join(values)}")  # noqa: S608
    dump(tidb, tmp_path / "dump", "--filetype", form)
    (file,) = (tmp_path / "dump").glob(f"{tidb.schema}.t.*.{form}")
    table = parse_create_table(CREATE, tidb.schema)
    begin = b"INSERT INTO `t` VALUES\n" if form == "sql" else b'"id","f","d"\n'
    rows = re.findall(rb"^\(?\d.*\n", file.read_bytes(), re.MULTILINE)
    refused, taken = [], 0
    for row in rows:
        content = begin + row
        piece = Piece(file.name, 0, len(content), 1)
        number = int(row.strip(b"(").split(b",")[0])
        try:
            ((_, singles_, doubles_),) = batches(table, piece, content, DumpSettings(), 9)
        except Stop as error:
            assert "six digits of a FLOAT" in str(error)
            refused.append(abs(stored[number]))
            continue
        taken += 1
        text = singles_[0].as_py()
        assert struct.pack("<f", float(text)) == struct.pack("<f", stored[number] + 0.0)
        assert float(doubles_[0].as_py()) == doubles[number]
    assert taken + len(refused) == len(stored)
    (limit,) = struct.unpack("<f", struct.pack("<f", 1e15))
    assert refused == [
        abs(number) for number in stored if number and not 1e-15 <= abs(number) < limit
    ]
