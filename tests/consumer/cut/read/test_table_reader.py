"""What a row change must be like before its facts count."""

from dataclasses import replace

import pytest
from support.both_paths import job_of, options_for
from ticdc_consumer.cut.read.report import NO_LAYOUT
from ticdc_consumer.cut.read.table_reader import TableReader
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols.shape import ExpectedShape, shape
from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Row, RowChange, Table

ID = Column("id", ColumnType("int"), nullable=False)
AT = Column("at", ColumnType("time", decimals=2))
TABLE = Table("shop", "t", (ID, AT), handle_key=("id",))
NAME = ("shop", "t")
ROW: Row = {"id": 1, "at": "01:02:03"}
KEY: Row = {"id": 1}


def reader(protocol: str, deletes_only: bool = False) -> TableReader:
    job = job_of(options_for(protocol), {NAME: TABLE})
    if deletes_only:
        keys = shape(replace(TABLE, columns=(ID,)))
        job = replace(job, shapes={NAME: (0, ExpectedShape(keys, keys_only=True))})
    return TableReader(job, NAME)


def test_a_row_of_the_layouts_shape_is_the_change_itself() -> None:
    change = RowChange(TABLE, 5, after=ROW)
    assert reader("canal-json").checked(change) is change


def test_digits_that_the_protocol_leaves_out_are_restored() -> None:
    change = reader("debezium").checked(RowChange(TABLE, 5, after=ROW))
    assert change.after == {"id": 1, "at": "01:02:03.00"}


LAYOUTS = [
    ("one for whole rows", False, RowChange(TABLE, 5, after=ROW), False),
    ("one for DELETEs, and a DELETE", True, RowChange(TABLE, 5, before=ROW), False),
    ("one for DELETEs, and another change", True, RowChange(TABLE, 5, after=ROW), True),
]


@pytest.mark.parametrize(
    ("deletes_only", "change", "lacks"), [c[1:] for c in LAYOUTS], ids=[c[0] for c in LAYOUTS]
)
def test_whether_a_change_lacks_a_layout(
    deletes_only: bool, change: RowChange, lacks: bool
) -> None:
    assert reader("canal-json", deletes_only).lacks_layout(change) == lacks


def test_a_table_that_the_job_does_not_know_lacks_any_layout() -> None:
    unknown = TableReader(job_of(options_for("canal-json"), {}), NAME)
    assert unknown.number == NO_LAYOUT
    assert unknown.lacks_layout(RowChange(TABLE, 5, before=ROW))


WRONG = [
    (
        "another key",
        RowChange(replace(TABLE, handle_key=("at",)), 5, after=ROW),
        r"shop\.t: the stream names \(at\) as the key, the cut began with \(id\)",
    ),
    (
        "a DELETE that does not name its row",
        RowChange(TABLE, 5, before={"at": "01:02:03"}),
        r"shop\.t: a DELETE without key column id",
    ),
    (
        "a DELETE whose key is of another type",
        RowChange(replace(TABLE, columns=(replace(ID, type=ColumnType("json")),)), 5, before=KEY),
        r"shop\.t: rows of two shapes in one cut: id int, now id json: was a column selector",
    ),
    (
        "another shape",
        RowChange(replace(TABLE, columns=(ID,)), 5, after={"id": 1}),
        r"shop\.t: rows of two shapes in one cut: at time: was a column selector",
    ),
]


@pytest.mark.parametrize(("change", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_change_that_is_not_one_of_the_layouts_rows_stops(
    change: RowChange, message: str
) -> None:
    with pytest.raises(Stop, match=message):
        reader("canal-json").checked(change)


@pytest.mark.parametrize(
    ("change", "message"), [w[1:] for w in WRONG if w[1].after is None], ids=["no key", "type"]
)
def test_of_a_layout_for_deletes_the_keys_are_compared(change: RowChange, message: str) -> None:
    with pytest.raises(Stop, match=message):
        reader("canal-json", deletes_only=True).checked(change)


@pytest.mark.parametrize(("protocol", "exact"), [("avro", False), ("canal-json", True)])
def test_a_table_that_the_protocol_loses_something_of_is_refused(
    protocol: str, exact: bool
) -> None:
    keyless = replace(TABLE, handle_key=())
    if exact:
        reader(protocol).require_exact(keyless)
        return
    with pytest.raises(Stop, match=r"shop\.t: its messages have no key"):
        reader(protocol).require_exact(keyless)
