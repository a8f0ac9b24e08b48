"""`import ticdc_encoder`: what comes with it, and what comes later."""

import subprocess
import sys

import pytest

NOT_NEEDED = ("sqlglot", "confluent_kafka", "pyspark", "sqlalchemy", "fsspec", "fastavro")

DECODING = r"""
from ticdc_encoder import FORMATS, Ddl, Resolved

def events(protocol, key, value):
    format_ = FORMATS[protocol]
    return format_.decode(key, value, format_.Options())

row = b'{"database":"d","table":"t","pkNames":["a"],"isDdl":false,"type":"INSERT","es":1,"ts":1,'
row += b'"sql":"","sqlType":{"a":4},"mysqlType":{"a":"int"},"old":null,"data":[{"a":"7"}],'
row += b'"_tidb":{"commitTs":429918007904436226}}'
(change,) = events("canal-json", None, row)
assert change.after == {"a": 7}

drop = b'{"version":1,"type":"QUERY","sql":"DROP DATABASE `shop`","commitTs":429918007904436226}'
assert events("simple", None, drop) == [Ddl("shop", "", "DROP DATABASE `shop`", 429918007904436226)]

mark = b'{"version":1,"type":"WATERMARK","commitTs":429918007904436226,"buildTs":1}'
assert events("simple", None, mark) == [Resolved(429918007904436226)]
"""

PROGRAMS = {
    "the package": "import ticdc_encoder",
    "the events": "from ticdc_encoder import RowChange, Table, Message\nimport ticdc_encoder.event",
    "every name of the face": "from ticdc_encoder import *\nChangefeed",
    "decoding": DECODING,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_decoding_needs_no_sql_parser_and_no_client(program: str) -> None:
    absent = f"import sys\nsys.modules.update(dict.fromkeys({NOT_NEEDED}))\n"
    if "Changefeed" in program:  # whose event filters are SQL expressions
        absent += "del sys.modules['sqlglot']\n"
    subprocess.run([sys.executable, "-c", absent + program], check=True)


def test_the_package_itself_imports_no_format_and_no_parser() -> None:
    program = """
import sys, ticdc_encoder
loaded = {name for name in sys.modules if name.startswith("ticdc_encoder.")}
assert not any(name.split(".")[1] in ("formats", "sql", "changefeed") for name in loaded), loaded
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_produce_is_where_it_was() -> None:
    from ticdc_encoder.kafka.produce import produce as moved
    from ticdc_encoder.produce import produce

    assert produce is moved
