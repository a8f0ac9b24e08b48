"""The tables of "TiCDC Behavior in Splitting UPDATE Events", row by row: which messages a TiCDC of
that version sends of two transactions. The new architecture, which the tables do not know, follows.

Of CSV and Avro before 7.4 TiCDC's code is followed, not its tables, which say "split, not sorted"
of one-row transactions alone: `convertRowChangedEvents` in
`cdc/processor/sinkmanager/table_sink_wrapper.go` at v6.5.3, v6.5.4, v7.1.1, v7.2.0 and v7.3.0.
"""

import re
from typing import Any

import pytest
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.changefeed.storage import StorageChangefeed
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import RowChange, Transaction
from ticdc_encoder.sql.parser import parse_create_table

TS = 429918007904436226
SQL = "create table t (id int primary key {}, u int not null unique, v int)"
LOOSE = parse_create_table(SQL.format("nonclustered"), "s")
CLUSTERED = parse_create_table(SQL.format("clustered"), "s")

# `1,10,0>2,10,0` is an UPDATE, `1,10,0>` a DELETE, `>2,10,0` an INSERT.
ONE_ROW = ("1,10,0>1,11,0",)
SEVERAL = ("1,10,0>2,10,0", "2,20,0>1,20,0", "5,50,0>5,50,1", ">7,70,0")
WHOLE = [*SEVERAL]
HALVES = ["1,10,0>", ">1,11,0"]
SORTED = ["1,10,0>", "2,20,0>", "5,50,0>5,50,1", ">2,10,0", ">1,20,0", ">7,70,0"]
APPENDED = ["1,10,0>", "2,20,0>", "5,50,0>5,50,1", ">7,70,0", ">2,10,0", ">1,20,0"]

IN_PLACE = ["1,10,0>", ">2,10,0", "2,20,0>", ">1,20,0", ">5,50,1", ">7,70,0"]
NO_OLD_ROWS = [">1,11,0"]

NEVER = ([*ONE_ROW], WHOLE)
HANDLE_KEY = (NO_OLD_ROWS, IN_PLACE)
ALWAYS = (HALVES, SORTED)
# Versions, protocols, the messages of ONE_ROW and of SEVERAL; and with output-raw-change-event,
# None where there is no such setting.
Row = tuple[tuple[str, ...], str, tuple[list[str], list[str]], Any]
TABLE: list[Row] = [
    # Release 6.5
    (("6.5.0", "6.5.2"), "ALL", NEVER, None),
    (("6.5.3",), "Canal/Open", NEVER, None),
    (("6.5.3",), "CSV/Avro", HANDLE_KEY, None),
    (("6.5.4",), "Canal/Open", ([*ONE_ROW], SORTED), None),  # only transactions of several changes
    (("6.5.4",), "CSV/Avro", HANDLE_KEY, None),
    (("6.5.5", "6.5.9"), "ALL", ALWAYS, None),
    (("6.5.10", "6.5.12"), "ALL", ALWAYS, NEVER),
    # Release 7.1
    (("7.1.0",), "ALL", NEVER, None),
    (("7.1.1",), "Canal/Open", NEVER, None),
    (("7.1.1",), "CSV/Avro", HANDLE_KEY, None),
    (("7.1.2", "7.1.5"), "ALL", ALWAYS, None),
    (("7.1.6",), "ALL", ALWAYS, NEVER),
    # Release 7.5
    (("7.2.0", "7.3.0"), "Canal/Open", NEVER, None),
    (("7.2.0", "7.3.0"), "CSV/Avro", HANDLE_KEY, None),
    (("7.4.0", "7.5.0", "7.5.2"), "ALL", ALWAYS, None),
    (("7.5.3", "7.5.7", "7.5.8"), "ALL", ALWAYS, NEVER),
    # Release 8.1
    (("7.6.0", "8.0.0", "8.1.0"), "ALL", ALWAYS, None),
    (("8.1.1", "8.2.0", "8.5.3"), "ALL", ALWAYS, NEVER),
    # Two architectures, of which the old one is the default
    (("8.5.4", "8.5.7", "8.5.8", "9.0.0"), "ALL", ALWAYS, NEVER),
    (
        ("8.5.4 new", "8.5.7 new", "8.5.8 new", "9.0.0 new", "26.3.4 new"),
        "ALL",
        (HALVES, APPENDED),
        NEVER,
    ),
]
PROTOCOLS = {
    "ALL": ("canal-json", "open-protocol", "csv"),
    "Canal/Open": ("canal-json", "open-protocol"),
    "CSV/Avro": ("csv",),
}
CASES = [
    (version, protocol, raw, messages[several], changes)
    for versions, protocols, by_default, if_raw in TABLE
    for version in versions
    for protocol in PROTOCOLS[protocols]
    for raw, messages in ((False, by_default), (True, if_raw))
    if messages is not None
    for several, changes in enumerate((ONE_ROW, SEVERAL))
]


def row(text: str) -> dict[str, int] | None:
    return dict(zip("iuv", map(int, text.split(",")), strict=True)) if text else None


def change(text: str, table: Any = LOOSE) -> RowChange:
    before, after = map(row, text.split(">"))
    named = [of and {"id": of["i"], "u": of["u"], "v": of["v"]} for of in (before, after)]
    return RowChange(table, TS, named[0], named[1])


def canal(text: str) -> tuple[bytes | None, bytes]:
    before, after = map(row, text.split(">"))
    kind = "DELETE" if after is None else "INSERT" if before is None else "UPDATE"
    image = '{{"id":"{i}","u":"{u}","v":"{v}"}}'
    data = image.format(**(after or before or {}))
    old = "null" if before is None or after is None else f"[{image.format(**before)}]"
    return None, (
        '{"id":0,"database":"s","table":"t","pkNames":["id"],"isDdl":false,"type":"' + kind + '",'
        '"es":1640007049196,"ts":0,"sql":"","sqlType":{"id":4,"u":4,"v":4},'
        '"mysqlType":{"id":"int","u":"int","v":"int"},"old":' + old + ',"data":[' + data + "],"
        '"_tidb":{"commitTs":429918007904436226}}'
    ).encode()


def opened(text: str) -> tuple[bytes | None, bytes]:
    before, after = map(row, text.split(">"))
    image = (
        '{{"id":{{"t":3,"h":true,"f":11,"v":{i}}},"u":{{"t":3,"f":17,"v":{u}}},'
        '"v":{{"t":3,"f":65,"v":{v}}}}}'
    )
    parts = []
    if after is not None:
        parts.append('"u":' + image.format(**after))
    if before is not None:
        parts.append(('"d":' if after is None else '"p":') + image.format(**before))
    key, value = b'{"ts":429918007904436226,"scm":"s","tbl":"t","t":1}', ",".join(parts).encode()
    return (
        b"\0\0\0\0\0\0\0\1" + len(key).to_bytes(8, "big") + key,
        (len(value) + 2).to_bytes(8, "big") + b"{" + value + b"}",
    )


def csv(text: str) -> bytes:
    before, after = text.split(">")
    kind = "D" if not after else "I" if not before else "U"
    return f'"{kind}","t","s",429918007904436226,{after or before}\r\n'.encode()


def sent(version: str, protocol: str, raw: bool, changes: tuple[RowChange, ...]) -> Any:
    version, _, architecture = version.partition(" ")
    new = architecture == "new"
    transaction = Transaction(TS, changes)
    if protocol == "csv":
        storage = "[sink.csv]\ninclude-commit-ts = true\n[sink.cloud-storage-config]\n"
        config = storage + "output-raw-change-event = true" * raw
        files = StorageChangefeed(
            "file:///sink?protocol=csv", config, version, new_architecture=new
        )
        files.encode(transaction)
        return files.flush()[0].content
    uri = f"kafka://h/t?protocol={protocol}&partition-num=1&max-batch-size=1"
    config = "[sink.kafka-config]\n" + "output-raw-change-event = true" * raw
    uri += "&enable-tidb-extension=true" * (protocol == "canal-json")
    changefeed = Changefeed(uri, config, version, new_architecture=new, clock=lambda: 0)
    messages = changefeed.encode(transaction) + changefeed.flush()
    return [(message.key, message.value) for message in messages]


def literal(protocol: str, messages: list[str]) -> Any:
    if protocol == "csv":
        return b"".join(map(csv, messages))
    return [(canal if protocol == "canal-json" else opened)(text) for text in messages]


@pytest.mark.parametrize(("version", "protocol", "raw", "messages", "changes"), CASES)
def test_a_version_sends_what_the_documents_say(
    version: str, protocol: str, raw: bool, messages: list[str], changes: tuple[str, ...]
) -> None:
    result = sent(version, protocol, raw, tuple(map(change, changes)))
    assert result == literal(protocol, messages)


WITHOUT_RAW = [
    (version, protocol)
    for versions, protocols, _, if_raw in TABLE
    for version in versions
    for protocol in PROTOCOLS[protocols]
    if if_raw is None
]


@pytest.mark.parametrize(("version", "protocol"), WITHOUT_RAW)
def test_a_version_without_raw_events_refuses_the_setting(version: str, protocol: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"{version} has no output-raw-change-event")):
        sent(version, protocol, True, (change(*ONE_ROW),))


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("version", ["6.5.12", "7.1.6", "7.5.7", "7.5.8", "8.5.3", "8.5.8"])
def test_tidb_always_splits_a_row_that_leaves_a_clustered_key(version: str, raw: bool) -> None:
    moved = change("1,10,0>2,10,0", CLUSTERED)
    assert sent(version, "canal-json", raw, (moved,)) == literal(
        "canal-json", ["1,10,0>", ">2,10,0"]
    )


@pytest.mark.parametrize("version", ["6.5.0", "7.1.1", "7.3.0"])
def test_versions_that_split_nothing_send_clustered_keys_halves(version: str) -> None:
    moved = change("1,10,0>2,10,0", CLUSTERED)
    expected = literal("canal-json", ["1,10,0>", ">2,10,0"])
    assert sent(version, "canal-json", False, (moved,)) == expected
