"""What the formats import: not each other's insides, and nothing that decoding does not need."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import ticdc_encoder.formats

FORMATS = Path(ticdc_encoder.formats.__file__).parent
PACKAGES = sorted(path.parent.name for path in FORMATS.glob("*/__init__.py"))

BUILDS_ON = {"debezium_avro": {"avro", "debezium"}}
"""Debezium's events in Avro: the fields of the one, in the binary encoding of the other."""


def imported_formats(package: str) -> set[str]:
    names: set[str] = set()
    for path in (FORMATS / package).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "ticdc_encoder.formats":
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.removeprefix("ticdc_encoder.formats.").partition(".")[0])
    return names & {*PACKAGES} - {package}


@pytest.mark.parametrize("package", PACKAGES)
def test_no_format_imports_another(package: str) -> None:
    assert imported_formats(package) == BUILDS_ON.get(package, set())


def test_what_formats_share_knows_no_format() -> None:
    shared = {path for path in FORMATS.glob("*.py") if path.name != "__init__.py"}
    assert len(shared) > 10
    known = {
        (path.name, node.module)
        for path in shared
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        and str(node.module).startswith(tuple(f"ticdc_encoder.formats.{p}" for p in PACKAGES))
    }
    assert known == set()


WITHOUT = ("sqlglot", "confluent_kafka", "fastavro", "fsspec", "sqlalchemy", "pyspark")

ROWS = """
import sys
sys.modules.update(dict.fromkeys({absent}))

from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import RowChange, Table
from ticdc_encoder.formats import FORMATS, csv

TABLE = Table("d", "t", (Column("a", ColumnType("int"), nullable=False),), handle_key=("a",))
CHANGE = RowChange(TABLE, 429918007904436226, None, {{"a": 7}})

def read(protocol, **options):
    format_ = FORMATS[protocol]
    options = format_.Options(**options)
    encoder = format_.Encoder(options)
    (record,) = [*encoder.row(CHANGE), *encoder.flush()]
    (change,) = format_.decode(*record, options)
    return {{name: int(value) for name, value in change.after.items()}}

for protocol in ("canal-json", "open-protocol", "simple", "debezium"):
    assert read(protocol) == {{"a": 7}}, protocol

((_, data),) = csv.Encoder(csv.Options(include_commit_ts=True)).row(CHANGE)
(change,) = csv.decode(data, TABLE, csv.Options(include_commit_ts=True))
assert change.after == {{"a": 7}}

loaded = {{name for name in sys.modules if name.startswith("ticdc_encoder.sql.")}}
assert loaded <= {{"ticdc_encoder.sql.words"}}, loaded
"""


def test_rows_need_no_sql_parser_no_client_and_no_fastavro() -> None:
    program = ROWS.format(absent=WITHOUT)
    subprocess.run([sys.executable, "-c", program], check=True)
