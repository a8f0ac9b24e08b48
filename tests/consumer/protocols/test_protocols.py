"""The one look-up of protocols: ours by name, those of others by their entry points."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
import ticdc_consumer
from support.both_paths import options_for, taken
from ticdc_consumer.cli.arguments import DEMO_PROTOCOLS
from ticdc_consumer.config import protocol_names
from ticdc_consumer.config.protocol_names import GROUP, NOT_READ, OURS
from ticdc_consumer.cut.read.fast.reader import FastReader
from ticdc_consumer.errors import Usage
from ticdc_consumer.protocols import PROTOCOLS, protocol_of
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.storage.layout import FILE_FORMATS


def test_every_format_is_read_or_refused_with_a_reason() -> None:
    assert {*FORMATS, *FILE_FORMATS} - {*OURS} == {*NOT_READ} & {*FORMATS}
    for name in OURS:
        assert (PROTOCOLS[name].format is not None) == (name in FORMATS)
        assert (PROTOCOLS[name].files is not None) == (name in FILE_FORMATS)


def test_the_demo_offers_the_protocols_whose_entries_have_one() -> None:
    assert [*DEMO_PROTOCOLS] == [name for name in OURS if PROTOCOLS[name].demo is not None]


@pytest.mark.parametrize("name", OURS)
def test_a_fast_reader_that_an_entry_names_is_one(name: str) -> None:
    if PROTOCOLS[name].fast_reader:
        reader: FastReader = resolve_name(PROTOCOLS[name].fast_reader)((), {}, 0)
        assert not taken(reader, (None, None)).changes


_CANAL = b'{"id":0,"database":"w","table":"t","pkNames":null,%s,"es":1,"ts":1,"sql":"%s"}'
_LIKE_A_ROW = rb"\"isDdl\":false,\"type\":\"INSERT\""
_LIKE_A_MARK = rb"\"isDdl\":false,\"type\":\"TIDB_WATERMARK\""


@pytest.mark.parametrize(
    ("value", "may_be"),
    [
        (_CANAL % (b'"isDdl":false,"type":"INSERT"', b""), False),
        (_CANAL % (b'"isDdl":false,"type":"UPDATE"', b""), False),
        (_CANAL % (b'"isDdl":false,"type":"DELETE"', _LIKE_A_MARK), False),
        (_CANAL % (b'"isDdl":false,"type":"TIDB_WATERMARK"', b""), True),
        (_CANAL % (b'"isDdl":false,"type":"TIDB_WATERMARK"', _LIKE_A_ROW), True),
        (_CANAL % (b'"isDdl":true,"type":"QUERY"', _LIKE_A_ROW), True),
        (_CANAL % (b'"type":"TIDB_WATERMARK","isDdl":false', b""), True),
        (_CANAL % (b'"type":"INSERT","isDdl":false', b""), True),
        (b"", True),
        (None, True),
    ],
)
def test_what_may_be_a_mark_or_ddl_of_canal_json_is_decoded(
    value: bytes | None, may_be: bool
) -> None:
    assert PROTOCOLS["canal-json"].may_be_control(None, value) is may_be


@pytest.fixture
def points(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[EntryPoint]]:
    """The entry points of other distributions."""
    registered: list[EntryPoint] = []

    def entry_points(**chosen: Any) -> EntryPoints:
        return EntryPoints(registered).select(**chosen)

    monkeypatch.setattr(protocol_names, "entry_points", entry_points)
    monkeypatch.setattr(PROTOCOLS, "_loaded", {})
    yield registered


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, value, GROUP)


def test_a_protocol_of_others_is_one_of_all(points: list[EntryPoint]) -> None:
    points.append(point("toy", "support.toy_protocol:PROTOCOL"))
    assert [*PROTOCOLS] == [*OURS, "toy"]
    assert len(PROTOCOLS) == len(OURS) + 1
    assert "toy" in PROTOCOLS
    assert PROTOCOLS["toy"].needs_for_marks == "marks=true"


def test_none_of_ours_can_be_replaced(points: list[EntryPoint]) -> None:
    points.append(point("avro", "support.toy_protocol:PROTOCOL"))
    assert [*PROTOCOLS] == [*OURS]
    assert PROTOCOLS["avro"].format is FORMATS["avro"]


WRONG = [
    ("a module that is missing", "toys_of_nobody:PROTOCOL", "its entry point toys_of_nobody"),
    ("a name that is missing", "support.toy_protocol:TOY", "its entry point support.toy_protocol"),
    ("another object", "support.toy_protocol:ITEMS", "is not a WireProtocol"),
]


@pytest.mark.parametrize(("value", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_an_entry_point_that_fails_is_named(
    points: list[EntryPoint], value: str, message: str
) -> None:
    points.append(point("toy", value))
    with pytest.raises(Usage, match=f"protocol toy: .*{message}"):
        PROTOCOLS["toy"]


def test_a_name_that_nobody_has_is_refused(points: list[EntryPoint]) -> None:
    assert "toy" not in PROTOCOLS
    with pytest.raises(KeyError):
        PROTOCOLS["toy"]
    with pytest.raises(Usage, match="protocol toy is not known here"):
        protocol_of(options_for("toy"))


def test_entries_need_neither_spark_nor_arrow() -> None:
    program = """
import sys
from ticdc_consumer.config.protocol_names import OURS
from ticdc_consumer.protocols import PROTOCOLS
before = {*sys.modules}
assert [PROTOCOLS[name] for name in OURS]
assert not {"pyspark", "pyarrow", "sqlalchemy", "ticdc_consumer.cut"} & {*sys.modules}
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def _compared(module: Path) -> Iterator[int]:
    """The lines where a module compares a protocol's name."""
    for node in ast.walk(ast.parse(module.read_text())):
        match node:
            case ast.Compare(left=left, comparators=comparators):
                operands = [left, *comparators]
            case ast.Match(subject=subject):
                operands = [subject]
            case _:
                continue
        names = {getattr(o, "attr", None) or getattr(o, "id", None) for o in operands}
        if "protocol" in names:
            yield node.lineno


def test_a_protocols_name_is_compared_nowhere_else() -> None:
    (root,) = ticdc_consumer.__path__
    compared = [
        f"{path.relative_to(root)}:{line}"
        for path in Path(root).rglob("*.py")
        for line in _compared(path)
    ]
    assert compared == []
