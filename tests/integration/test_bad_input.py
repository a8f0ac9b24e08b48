"""Bad input: one sentence that names the place, exit code 3, and nothing in the target touched."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from support.torture_cli import Begin, refuses
from support.torture_topics import Feed, canal, framed, inserted, table, ts
from ticdc_encoder.event import Ddl, Resolved, Row
from ticdc_encoder.formats.compression import deflate

Record = tuple[bytes | None, bytes | None]

ROW = inserted(150, {"id": 3, "name": "three"})
VERSION = (1).to_bytes(8, "big")
HOUR = 3_600_000 << 18
WIDE = table("CREATE TABLE `items` (`id` INT NOT NULL PRIMARY KEY, `name` VARCHAR(400))")


# --- messages that are none ----------------------------------------------------------------------


def cut_off(feed: Feed) -> Record:
    key, value = feed.record(ROW)
    return key, (value or b"")[:-30]


def text(feed: Feed) -> Record:
    return None, b"hello"


def nothing(feed: Feed) -> Record:
    return None, None


def empty(feed: Feed) -> Record:
    return b"", b""


def changed(**members: Any) -> Callable[[Feed], Record]:
    """A row's message with other members."""

    def make(feed: Feed) -> Record:
        key, value = feed.record(ROW)
        return key, canal(value, lambda message: message.update(members))

    return make


def row_at(commit_ts: object) -> Callable[[Feed], Record]:
    return changed(_tidb={"commitTs": commit_ts})


def mark_at(resolved_ts: object) -> Callable[[Feed], Record]:
    def make(feed: Feed) -> Record:
        key, value = feed.record(Resolved(ts(150)))
        return key, canal(value, lambda m: m.update(_tidb={"watermarkTs": resolved_ts}))

    return make


def ddl_at(commit_ts: object) -> Callable[[Feed], Record]:
    def make(feed: Feed) -> Record:
        key, value = feed.record(Ddl("shop", "items", "TRUNCATE TABLE `items`", ts(150), 11))
        return key, canal(value, lambda m: m.update(_tidb={"commitTs": commit_ts}))

    return make


def without_extension(feed: Feed) -> Record:
    key, value = feed.record(ROW)
    return key, canal(value, lambda message: message.pop("_tidb"))


def in_another(protocol: str) -> Callable[[Feed], Record]:
    def make(feed: Feed) -> Record:
        return Feed(feed.kafka, protocol, "other").record(ROW)

    return make


NO_TS = "is not a timestamp of 1 to 2^64 - 1"
FAR = ts(150) * 2
"""Of the year 2078."""

CANAL: list[tuple[str, Callable[[Feed], Record], str]] = [
    ("a truncated message", cut_off, "not JSON at character"),
    ("text", text, "not JSON at character 0"),
    ("no value", nothing, "an empty value is not canal-json"),
    ("an empty value", empty, "an empty value is not canal-json"),
    ("another protocol", in_another("open-protocol"), "(it looks like open-protocol)"),
    ("an array", lambda _: (None, b"[]"), "not a canal-json object"),
    ("a row of unknown type", changed(type="UPSERT"), "an unknown type: 'UPSERT'"),
    ("a row without data", changed(data=None), "data is not a list of objects"),
    ("a row of a column without type", changed(mysqlType={}), "column `id` has no mysqlType"),
    ("no extension", without_extension, "set enable-tidb-extension=true in the changefeed's"),
    ("commit_ts 0", row_at(0), f"commitTs {NO_TS}"),
    ("a negative commit_ts", row_at(-1), f"commitTs {NO_TS}"),
    ("commit_ts 2^64", row_at(1 << 64), f"commitTs {NO_TS}"),
    ("no commit_ts", row_at(None), f"commitTs {NO_TS}"),
    ("a commit_ts as text", row_at(str(ts(150))), f"commitTs {NO_TS}"),
    ("commit_ts 2^64 - 1", row_at((1 << 64) - 1), "lies too far in the future"),
    ("commit_ts 2^63", row_at(1 << 63), "lies too far in the future"),
    ("a commit_ts of 2078", row_at(FAR), f"commit_ts {FAR} lies too far in the future"),
    ("a mark of 0", mark_at(0), f"watermarkTs {NO_TS}"),
    ("a negative mark", mark_at(-1), f"watermarkTs {NO_TS}"),
    ("a mark of 2^64", mark_at(1 << 64), f"watermarkTs {NO_TS}"),
    ("a mark of 2078", mark_at(FAR), f"resolved ts {FAR} lies too far in the future"),
    ("a DDL of 0", ddl_at(0), f"commitTs {NO_TS}"),
    ("a DDL of 2^64", ddl_at(1 << 64), f"commitTs {NO_TS}"),
    ("a DDL of 2078", ddl_at(FAR), f"commit_ts {FAR} lies too far in the future"),
]


@pytest.mark.parametrize("partition", [0, 1])
@pytest.mark.parametrize(("make", "words"), [c[1:] for c in CANAL], ids=[c[0] for c in CANAL])
def test_what_is_no_canal_json_stops(
    begin: Begin, make: Callable[[Feed], Record], words: str, partition: int
) -> None:
    feed, run = begin()
    feed.send_raw(partition, *make(feed))
    feed.mark(200)
    refuses(run, words, f"{feed.topic}[{partition}] offset {3 - partition}")


def reframed(
    keys: Callable[[bytes], bytes] = lambda key: framed([key]),
    values: Callable[[bytes], bytes] = lambda value: framed([value]),
    version: bytes = VERSION,
) -> Callable[[Feed], Record]:
    """A row's own key and value in other frames."""

    def make(feed: Feed) -> Record:
        key, value = feed.record(ROW)
        return version + keys((key or b"")[16:]), values((value or b"")[8:])

    return make


def open_at(kind: int, commit_ts: object) -> Callable[[Feed], Record]:
    def make(feed: Feed) -> Record:
        key = b'{"ts":%s,"scm":"shop","tbl":"items","t":%d}' % (str(commit_ts).encode(), kind)
        value = {1: (feed.record(ROW)[1] or b"")[8:], 2: b'{"q":"TRUNCATE TABLE items","t":11}'}
        return VERSION + framed([key]), framed([value.get(kind, b"")])

    return make


OPEN: list[tuple[str, Callable[[Feed], Record], str]] = [
    ("no key", lambda f: (None, f.record(ROW)[1]), "no key: not open-protocol of version 1"),
    (
        "a truncated key",
        lambda f: ((f.record(ROW)[0] or b"")[:-1], f.record(ROW)[1]),
        "the key ends",
    ),
    ("a truncated value", cut_off, "the value ends inside of item 1"),
    ("half a length", lambda f: (f.record(ROW)[0], b"\0\0\0"), "the value ends inside of item 1"),
    ("another version", reframed(version=bytes(8)), "a key of another version"),
    ("another protocol", in_another("canal-json"), "(it looks like canal-json)"),
    (
        "a negative length in the key",
        reframed(keys=lambda key: framed([key], [-len(key)])),
        "the key ends inside of item 1",
    ),
    (
        "a negative length in the value",
        reframed(values=lambda value: framed([value], [-8])),
        "the value ends inside of item 1",
    ),
    (
        "an oversized length in the key",
        reframed(keys=lambda key: framed([key], [1 << 40])),
        "the key ends inside of item 1",
    ),
    (
        "an oversized length in the value",
        reframed(values=lambda value: framed([value], [(1 << 63) - 1])),
        "the value ends inside of item 1",
    ),
    (
        "keys that overlap",
        reframed(keys=lambda key: framed([key, key], [len(key) + 8, len(key)])),
        "the key ends inside of item 2",
    ),
    (
        "values that overlap",
        reframed(
            keys=lambda key: framed([key, key]),
            values=lambda value: framed([value, value], [len(value) + 8, len(value)]),
        ),
        "the value ends inside of item 2",
    ),
    (
        "a value that ends early",
        reframed(values=lambda value: framed([value], [len(value) - 8])),
        "the value ends inside of item 2",
    ),
    (
        "more keys than values",
        reframed(keys=lambda key: framed([key, key])),
        "2 keys but 1 values",
    ),
    ("a key that is text", reframed(keys=lambda _: framed([b"hello"])), "the key: not JSON"),
    ("a value that is text", reframed(values=lambda _: framed([b"hello"])), "the value: not JSON"),
    ("commit_ts 0", open_at(1, 0), f"ts {NO_TS}"),
    ("a negative commit_ts", open_at(1, -5), f"ts {NO_TS}"),
    ("commit_ts 2^64", open_at(1, 1 << 64), f"ts {NO_TS}"),
    ("a commit_ts of 2078", open_at(1, FAR), f"commit_ts {FAR} lies too far in the future"),
    ("a DDL of 2078", open_at(2, FAR), f"commit_ts {FAR} lies too far in the future"),
    ("a mark of 0", open_at(3, 0), f"ts {NO_TS}"),
    ("a mark of 2078", open_at(3, FAR), f"resolved ts {FAR} lies too far in the future"),
    ("an unknown kind", open_at(4, ts(150)), "a row or DDL without a value"),
]


@pytest.mark.parametrize("partition", [0, 1])
@pytest.mark.parametrize(("make", "words"), [c[1:] for c in OPEN], ids=[c[0] for c in OPEN])
def test_what_is_no_open_protocol_stops(
    begin: Begin, make: Callable[[Feed], Record], words: str, partition: int
) -> None:
    feed, run = begin("open-protocol")
    feed.send_raw(partition, *make(feed))
    feed.mark(200)
    refuses(run, words, f"{feed.topic}[{partition}] offset {3}")


KNOWN: list[tuple[str, str, Callable[[Feed], Record], str]] = [
    ("canal-json", "a truncated message", cut_off, "not JSON at character"),
    ("canal-json", "no extension", without_extension, "set enable-tidb-extension=true"),
    ("canal-json", "commit_ts 0", row_at(0), f"commitTs {NO_TS}"),
    ("canal-json", "a commit_ts of 2078", row_at(FAR), f"commit_ts {FAR} lies too far"),
    ("open-protocol", "a truncated value", cut_off, "the value ends inside of item 1"),
    ("open-protocol", "commit_ts 0", open_at(1, 0), f"ts {NO_TS}"),
    ("open-protocol", "a commit_ts of 2078", open_at(1, FAR), f"commit_ts {FAR} lies too far"),
]


@pytest.mark.parametrize(
    ("protocol", "make", "words"),
    [(protocol, *case) for protocol, _, *case in KNOWN],
    ids=[f"{protocol}-{name}" for protocol, name, *_ in KNOWN],
)
def test_the_fast_reader_lets_nothing_bad_pass(
    begin: Begin, protocol: str, make: Callable[[Feed], Record], words: str
) -> None:
    feed, run = begin(protocol)
    feed.send(1, *[inserted(130, {"id": 10 + n, "name": "x"}) for n in range(30)])
    feed.send_raw(1, *make(feed))
    feed.mark(200)
    refuses(run, words, f"{feed.topic}[1] offset")


# --- compressed values ---------------------------------------------------------------------------


def bomb(feed: Feed, codec: str) -> Record:
    """A row whose value inflates to a megabyte."""
    key, value = Feed(feed.kafka, feed.protocol, f"plain-{codec}").record(ROW)
    padding = b" " * (1 << 20)
    if feed.protocol == "canal-json":
        return key, deflate((value or b"") + padding, codec)  # type: ignore[arg-type]
    return key, framed([deflate((value or b"")[8:] + padding, codec)])  # type: ignore[arg-type]


@pytest.mark.parametrize("partition", [0, 1])
@pytest.mark.parametrize("codec", ["lz4", "snappy"])
@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
def test_a_value_is_inflated_up_to_the_limit_only(
    begin: Begin, protocol: str, codec: str, partition: int
) -> None:
    feed, run = begin(protocol, source__compression=codec, limits__message_limit="64 KiB")
    feed.send_raw(partition, *bomb(feed, codec))
    feed.mark(200)
    refuses(run, "the compressed value inflates to more than 65536 bytes", f"[{partition}] offset")
    assert run(limits__message_limit="2 MiB").code == 0
    assert run.rows("SELECT name FROM items WHERE id = 3") == [("three",)]


@pytest.mark.parametrize(
    ("codec", "words"),
    [("lz4", "the value is not an LZ4 frame"), ("snappy", "the value is not a Snappy block")],
)
def test_a_plain_value_where_compression_is_configured_stops(
    begin: Begin, codec: str, words: str
) -> None:
    feed, run = begin(source__compression=codec)
    feed.send_raw(1, None, b"{}")
    feed.mark(200)
    refuses(run, words)


# --- the future ----------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
@pytest.mark.parametrize("kind", ["row", "mark"])
def test_the_bound_on_the_future_only_ever_stops(begin: Begin, protocol: str, kind: str) -> None:
    feed, run = begin(protocol)
    soon = (time.time_ns() // 1_000_000 << 18) + HOUR - ts(0)
    if kind == "mark":
        feed.mark(soon, 0)
    else:
        feed.send(1, inserted(soon, {"id": 3, "name": "three"}))
        feed.mark(200)
    words = "lies too far in the future", "If this machine's clock is behind, correct it"
    refuses(run, *words, limits__future_limit="60")
    assert run(limits__future_limit="4000").code == 0
    assert run.resolved_ts == ts(soon if kind == "mark" else 200)
    assert run.rows("SELECT id FROM items ORDER BY id") == [(1,), (2,)]


# --- rows that imitate ---------------------------------------------------------------------------

IMITATIONS = [
    '{"id":0,"database":"","table":"","isDdl":false,"type":"TIDB_WATERMARK","_tidb":{"watermarkTs":'
    f"{ts(500)}}}}}",
    '","isDdl":true,"type":"TRUNCATE","sql":"TRUNCATE TABLE items',
    "TIDB_WATERMARK",
    f'{{"ts":{ts(500)},"t":3}}',
    f'"t":3,"ts":{ts(500)}',
    '"t":2,"q":"DROP TABLE items"',
    "TRUNCATE TABLE items; DROP TABLE items; --",
    f'{{"version":1,"type":"WATERMARK","commitTs":{ts(500)},"buildTs":1}}',
    f'","op":"m","source":{{"commit_ts":{ts(500)}}}',
]


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol", "simple", "debezium"])
def test_a_row_that_imitates_a_mark_or_a_ddl_stays_a_row(begin: Begin, protocol: str) -> None:
    feed, run = begin(protocol)
    for number, imitation in enumerate(IMITATIONS):
        feed.send(number % 2, inserted(150, {"id": 10 + number, "name": imitation}, WIDE))
    feed.mark(200)
    assert run().code == 0
    assert run.resolved_ts == ts(200)
    assert [name for (name,) in run.rows("SELECT name FROM items WHERE id > 9 ORDER BY id")] == (
        IMITATIONS
    )


def test_a_table_that_is_called_like_a_mark_is_a_table(begin: Begin) -> None:
    feed, run = begin()
    odd = 'CREATE TABLE `TIDB_WATERMARK` (`isDdl` INT PRIMARY KEY, `"isDdl":true` VARCHAR(9))'
    feed.create(110, odd)
    for number in range(9):
        row: Row = {"isDdl": number, '"isDdl":true': "true"}
        feed.send(number % 2, inserted(150, row, table(odd)))
    feed.mark(200)
    assert run().code == 0
    assert run.rows("SELECT count(*) FROM TIDB_WATERMARK") == [(9,)]
    assert run.resolved_ts == ts(200)
