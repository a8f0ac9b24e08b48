"""`debezium-include-start-ts`: a row's source carries the start_ts of its transaction.

Source: TiCDC's master (no release has it), `pkg/sink/codec/debezium/codec.go`: in the payload the
member is between commit_ts and cluster_id, in the schema behind them; DDL and resolved ts have
none.
"""

from typing import Any

import pytest
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.errors import ConfigError, WireError
from ticdc_encoder.event import Ddl, Resolved, RowChange, Transaction
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.sql.parser import parse_create_table

URI = "kafka://b/t?protocol=debezium&partition-num=1"
ON = f"{URI}&debezium-include-start-ts=true&enable-tidb-extension=true"
MASTER: Any = {"version": "9.0.0", "new_architecture": True}
TABLE = parse_create_table("create table t (id int primary key)", "s")
ROW = Transaction(6, (RowChange(TABLE, 6, None, {"id": 1}, start_ts=5),), start_ts=5)
FORMAT = FORMATS["debezium"]

SOURCE = (
    b'"source":{"version":"2.4.0.Final","connector":"TiCDC","name":"default","ts_ms":0,'
    b'"snapshot":"false","db":"s","table":"t","server_id":0,"gtid":null,"file":"","pos":0,"row":0,'
    b'"thread":0,"query":null,"commit_ts":6,"start_ts":5,"cluster_id":"default"}'
)
QUERY = b'{"type":"string","optional":true,"field":"query"},'
EXTENSION = (
    b'{"type":"int64","optional":false,"field":"commit_ts"},'
    b'{"type":"string","optional":false,"field":"cluster_id"},'
)
START_TS = (
    b'{"type":"int64","optional":false,"field":"start_ts"}],'
    b'"optional":false,"name":"io.debezium.connector.mysql.Source","field":"source"}'
)


def test_a_row_carries_it_in_its_source_as_the_schema_declares() -> None:
    (message,) = Changefeed(ON, **MASTER, clock=lambda: 0).encode(ROW)
    assert message.value is not None
    assert SOURCE in message.value
    assert QUERY + EXTENSION + START_TS in message.value
    (row,) = FORMAT.decode(message.key, message.value, FORMAT.Options())
    assert isinstance(row, RowChange)
    assert (row.after, row.commit_ts, row.start_ts) == ({"id": 1}, 6, 5)


def test_without_the_extension_the_schema_declares_nothing_else() -> None:
    changefeed = Changefeed(ON.replace("enable-tidb-extension=true", ""), **MASTER)
    (message,) = changefeed.encode(ROW)
    assert message.value is not None
    assert b'"commit_ts":6,"start_ts":5,"cluster_id":"default"' in message.value
    assert QUERY + START_TS in message.value


def test_ddl_resolved_ts_and_rows_without_the_setting_have_none() -> None:
    changefeed = Changefeed(ON, **MASTER)
    query = "CREATE TABLE `t` (`id` INT PRIMARY KEY)"
    sent = [*changefeed.ddl(Ddl("s", "t", query, 5, 3)), *changefeed.resolve(9)]
    sent += Changefeed(ON, {"sink": {"debezium": {"include-start-ts": True}}}, **MASTER).resolve(9)
    off = ON.replace("start-ts=true", "start-ts=false")
    sent += Changefeed(off, {"sink": {"debezium": {"include-start-ts": True}}}, **MASTER).encode(
        ROW
    )
    assert len(sent) == 4
    for message in sent:
        assert message.value is not None
        assert b"start_ts" not in message.value
    events = [e for m in sent for e in FORMAT.decode(m.key, m.value, FORMAT.Options())]
    assert events[1] == Resolved(9)


def test_the_file_has_it_under_another_name() -> None:
    changefeed = Changefeed(URI, "[sink.debezium]\ninclude-start-ts = true", **MASTER)
    (message,) = changefeed.encode(ROW)
    assert b'"start_ts":5' in (message.value or b"")


def test_a_start_ts_that_is_no_timestamp_is_an_error() -> None:
    (message,) = Changefeed(ON, **MASTER).encode(ROW)
    broken = (message.value or b"").replace(b'"start_ts":5', b'"start_ts":"5"')
    with pytest.raises(WireError, match="start_ts is not a timestamp"):
        FORMAT.decode(message.key, broken, FORMAT.Options())


@pytest.mark.parametrize(
    ("version", "new"),
    [("8.5.7", False), ("8.5.7", True), ("9.0.0-beta.2.pre", False), ("9.0.0", False)],
)
def test_no_release_or_beta_has_it(version: str, new: bool) -> None:
    message = r"debezium-include-start-ts needs TiCDC's new architecture, of 9\.0\.0 or later"
    with pytest.raises(ConfigError, match=message):
        Changefeed(ON, version=version, new_architecture=new)


@pytest.mark.parametrize("protocol", ["canal-json", "debezium-avro", "avro"])
def test_it_is_of_debezium_alone(protocol: str) -> None:
    uri = ON.replace("protocol=debezium", f"protocol={protocol}")
    with pytest.raises(ConfigError, match=f"include-start-ts is not for {protocol}$"):
        Changefeed(uri, **MASTER)
