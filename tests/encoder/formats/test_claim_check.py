import json
import pickle
import re
from base64 import b64decode
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fsspec.core import url_to_fs  # type: ignore[import-untyped]
from support.golden import Variant, scenario
from support.golden_replay import replayed, sent_changes
from support.wire_golden import facts
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.errors import ConfigError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, RowChange
from ticdc_encoder.formats import FORMATS, canal_json, open_protocol
from ticdc_encoder.formats.claim_check import (
    ClaimCheckEncoder,
    ClaimCheckError,
    ClaimCheckStorage,
    redeem,
)
from ticdc_encoder.formats.simple import Decoder
from ticdc_encoder.message import Message
from ticdc_encoder.sql.parser import parse_create_table

GOLDEN = [v for v in scenario("large").variants.values() if "claim-check" in v.name]
NAME = "0d2e66b2-3b3b-49b1-946b-e5cc94563f89.json"


def storage_of(variant: Variant, folder: Path) -> ClaimCheckStorage:
    """The variant's claim checks, in a folder that is not the one of the messages' locations."""
    for path, content in variant.claim_checks.items():
        (folder / Path(path).name).write_bytes(content)
    return ClaimCheckStorage(folder.as_uri(), raw_value="claim-check-raw" in variant.name)


def decoder_of(variant: Variant) -> Callable[[bytes | None, bytes | None], list[Event]]:
    protocol = variant.name.partition(".")[0].replace("open", "open-protocol")
    format_ = FORMATS[protocol]
    codec = variant.name.rpartition("-")[2]
    options: dict[str, Any] = {"compression": codec if codec in ("lz4", "snappy") else "none"}
    if protocol != "simple":
        return lambda key, value: format_.decode(key, value, format_.Options(**options))
    encoding = "avro" if variant.name.startswith("simple.avro") else "json"
    decoder = Decoder(format_.Options(**options, encoding_format=encoding))
    return lambda key, value: [event for _, event in decoder.decode(key, value)]


@pytest.mark.parametrize("variant", GOLDEN, ids=lambda variant: str(variant.name))
def test_ticdcs_claim_checks_are_redeemed(variant: Variant, tmp_path: Path) -> None:
    storage, decode = storage_of(variant, tmp_path), decoder_of(variant)
    changes, redeemed = [], 0
    for record in variant.records:
        for event in decode(record.key, record.value):
            if isinstance(event, RowChange):
                redeemed += event.claim_check is not None
                changes.append(redeem(event, storage, decode))
    assert redeemed == len(variant.claim_checks)
    assert not any(change.incomplete for change in changes)
    assert facts("large", changes) == facts("large", sent_changes(variant))


# Our own.

DOC = parse_create_table("create table doc(id int primary key, body text)", "lg")
SMALL = RowChange(DOC, 5, None, {"id": 1, "body": "x"})
LARGE = RowChange(DOC, 6, {"id": 2, "body": "y" * 900}, {"id": 2, "body": "z" * 900})
LIMIT = 700


def encoder_of(
    format_: Any, storage: ClaimCheckStorage, **options: Any
) -> tuple[ClaimCheckEncoder, Any]:
    whole = format_.Options(**{"new_architecture": True} | options)
    sent = replace(whole, max_message_bytes=LIMIT)
    if hasattr(whole, "max_batch_size"):
        whole = replace(whole, max_batch_size=1)
    encoder = ClaimCheckEncoder(format_.Encoder(sent), format_.Encoder(whole), storage, LIMIT)
    return encoder, sent


@pytest.mark.parametrize("raw_value", [False, True])
def test_a_large_row_of_canal_json_is_left_in_the_storage(tmp_path: Path, raw_value: bool) -> None:
    storage = ClaimCheckStorage(f"{tmp_path.as_uri()}/checks/", raw_value=raw_value)
    encoder, options = encoder_of(canal_json, storage)
    records = [record for change in (SMALL, LARGE) for record in encoder.row(change)]
    assert encoder.flush() == []
    events = [event for record in records for event in canal_json.decode(*record, options)]
    small, large = events
    assert isinstance(small, RowChange) and isinstance(large, RowChange)
    assert (small.claim_check, small.after) == (None, {"id": 1, "body": "x"})
    assert large.claim_check is not None
    assert large.claim_check.startswith(f"{tmp_path.as_uri()}/checks/")
    assert (large.before, large.after) == ({"id": 2}, {"id": 2})
    (file,) = (tmp_path / "checks").iterdir()
    assert file.read_bytes().startswith(b'{"id":0,' if raw_value else b'{"key":null,"value":"eyJ')
    whole = redeem(large, storage, lambda k, v: canal_json.decode(k, v, options))
    assert (whole.before, whole.after, whole.claim_check) == (LARGE.before, LARGE.after, None)
    assert redeem(small, storage, lambda k, v: []) is small


def test_a_large_row_of_open_protocol_stays_in_its_batch(tmp_path: Path) -> None:
    storage = ClaimCheckStorage(tmp_path.as_uri())
    encoder, options = encoder_of(open_protocol, storage)
    assert encoder.row(SMALL) == encoder.row(LARGE) == []
    ((key, value),) = encoder.flush()
    small, large = open_protocol.decode(key, value, options)
    assert isinstance(small, RowChange) and isinstance(large, RowChange)
    assert key is not None
    assert b'"ohk":true,"ohk":false,"ccl":"file:///' in key
    whole = redeem(large, storage, lambda k, v: open_protocol.decode(k, v, options))
    assert (whole.before, whole.after) == (LARGE.before, LARGE.after)
    assert open_protocol.decode(*encoder.resolved(Resolved(7)), options) == [Resolved(7)]
    ddl = Ddl("lg", "doc", "DROP TABLE doc", 8, 4)
    assert open_protocol.decode(*encoder.ddl(ddl), options) == [ddl]


@pytest.mark.parametrize("new", [True, False])
def test_an_update_whose_key_alone_tells_no_old_row_is_redeemed(tmp_path: Path, new: bool) -> None:
    storage = ClaimCheckStorage(tmp_path.as_uri())
    encoder, options = encoder_of(
        open_protocol, storage, only_output_updated_columns=True, new_architecture=new
    )
    assert encoder.row(LARGE) == []
    ((key, value),) = encoder.flush()
    (large,) = open_protocol.decode(key, value, options)
    assert isinstance(large, RowChange)
    assert (large.before, large.after) == ({} if new else None, {"id": 2})
    whole = redeem(large, storage, lambda k, v: open_protocol.decode(k, v, options))
    assert (whole.before, whole.after) == ({"body": "y" * 900}, LARGE.after)


@pytest.mark.parametrize("name", ["canal-json.claim-check", "open.claim-check"])
def test_files_have_ticdcs_bytes(name: str, tmp_path: Path) -> None:
    variant = scenario("large").variants[name]
    storage, decode = storage_of(variant, tmp_path), decoder_of(variant)
    format_ = FORMATS[name.partition(".")[0].replace("open", "open-protocol")]
    one_each = {"max_batch_size": 1} if "open" in name else {}
    encoder = format_.Encoder(format_.Options(new_architecture=True, **one_each))
    ours = ClaimCheckStorage(f"{tmp_path.as_uri()}/ours")
    files = {Path(path).name: content for path, content in variant.claim_checks.items()}
    for record in variant.records:
        for event in decode(record.key, record.value):
            file = location(event)
            if not file:
                continue
            assert isinstance(event, RowChange)
            whole = redeem(event, storage, decode)
            (true,) = [c for c in sent_changes(variant) if is_of(c, whole)]
            ((key, value),) = [*encoder.row(true), *encoder.flush()]
            assert ours.write(key, value or b"", file) == f"{tmp_path.as_uri()}/ours/{file}"
            content = (tmp_path / "ours" / file).read_bytes()
            assert unclocked(content) == unclocked(files.pop(file))
    assert not files


@pytest.mark.parametrize(
    "name", ["canal-json.claim-check", "canal-json.claim-check-raw", "open.claim-check"]
)
def test_a_changefeed_sends_what_ticdc_sent(name: str) -> None:
    """With compression, TiCDC's smaller or larger bytes decide otherwise which rows are large."""
    variant = scenario("large").variants[name]
    url = f"memory://claim-chec/{name}"
    messages, refused = replayed(
        variant, config=variant.config_toml.replace(f"file:///claim-check/{name}", url)
    )
    assert not refused
    files: Any = url_to_fs(url)[0]
    stored = [files.cat_file(path) for path in files.ls(f"/claim-chec/{name}", detail=False)]
    files.rm(f"/claim-chec/{name}", recursive=True)
    assert sorted(map(repr, map(plain, stored))) == sorted(
        map(repr, map(plain, variant.claim_checks.values()))
    )
    assert by_partition(messages) == by_partition(variant.records)


def by_partition(messages: Iterable[Message]) -> dict[int, list[Any]]:
    parts_of: dict[int, list[Any]] = {}
    for message in messages:
        parts = [nameless(message.key or b""), plain(nameless(message.value or b""))]
        parts_of.setdefault(message.partition, []).append(parts)
    return parts_of


def nameless(data: bytes) -> bytes:
    """A key or value without its claim checks' names, of which each is new."""
    names = rb"(file:///claim-check|memory://claim-chec)/[a-z-]+\.[a-z-]+/[0-9a-f-]{36}"
    return re.sub(names, b"location", data)


def plain(content: bytes) -> Any:
    return unclocked(content) if content.startswith(b'{"key"') else canal(content)


def is_of(true: RowChange, decoded: RowChange) -> bool:
    """Whether an upstream's change is the one that was decoded."""
    identity = (true.commit_ts, true.table.name, true.after)
    same = identity == (decoded.commit_ts, decoded.table.name, decoded.after)
    return same and (true.after is not None or true.before == decoded.before)


def location(event: Event) -> str:
    claim_check = event.claim_check if isinstance(event, RowChange) else None
    return (claim_check or "").rpartition("/")[2]


def unclocked(content: bytes) -> Any:
    """What a claim check holds, without what differs from run to run."""
    members = json.loads(content)
    return members["key"], canal(b64decode(members["value"]))


def canal(value: bytes) -> Any:
    """A message of Canal-JSON without its `ts` and the order in `mysqlType`; others as they are."""
    if not value.startswith(b'{"id":0,'):
        return value
    value = re.sub(rb'"ts":\d+', b"", value, count=1)
    match = re.search(rb'"mysqlType":(\{.*?\}),"old"', value)
    types = None if match is None else sorted(json.loads(match[1]).items())
    return re.sub(rb'"mysqlType":\{.*?\},"old"', b"", value), types


def test_any_storage_that_fsspec_opens_will_do() -> None:
    storage = ClaimCheckStorage("memory://bucket/prefix")
    location_ = storage.write(b"k", b"v")
    assert location_.startswith("memory://bucket/prefix/")
    assert storage.read(location_) == (b"k", b"v")
    assert pickle.loads(pickle.dumps(storage)).read(location_) == (b"k", b"v")


@pytest.mark.parametrize("name", ["canal-json", "open-protocol"])
def test_the_made_samples_are_read(name: str, tmp_path: Path) -> None:
    samples = Path(__file__).parent / "claim_check_vectors.json"
    for sample in json.loads(samples.read_text()):
        if sample["protocol"] != name:
            continue
        (tmp_path / NAME).write_text(sample["content"])
        storage = ClaimCheckStorage(tmp_path.as_uri(), raw_value=sample["raw_value"])
        format_ = FORMATS[name]
        (event,) = format_.decode(*storage.read(f"s3:/other/place/{NAME}"), format_.Options())
        assert isinstance(event, RowChange)
        assert (event.table.schema, event.table.name, event.commit_ts) == ("test", "t", 1)
        assert {n: int(str(v)) for n, v in (event.after or {}).items()} == sample["row"]


# What cannot be.

STRANGE = [
    "file:///etc/passwd",
    "../../secret.json",
    f"x{NAME}",
    f"{NAME}/",
    "",
    f"file:///p/{NAME.upper()}",
]


@pytest.mark.parametrize("location_", STRANGE)
def test_a_location_that_is_no_claim_checks_is_refused(location_: str, tmp_path: Path) -> None:
    with pytest.raises(WireError, match=r"location does not end with <uuid>\.json"):
        ClaimCheckStorage(tmp_path.as_uri()).read(location_)


def test_nothing_but_the_prefix_is_read(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b'{"key":null,"value":"eA=="}')
    inside = ClaimCheckStorage(f"{tmp_path.as_uri()}/prefix")
    with pytest.raises(ClaimCheckError, match=f"the claim check {NAME} is not in the storage"):
        inside.read(f"{tmp_path.as_uri()}/{NAME}")
    with pytest.raises(ClaimCheckError, match="is not in the storage"):
        inside.read(f"{tmp_path.as_uri()}/prefix/../{NAME}")


CONTENTS: list[tuple[bytes, str]] = [
    (b"", "not JSON at character 0"),
    (b"[]", "no JSON object with a value (claim-check-raw-value may be true)"),
    (b'{"key":null}', "no JSON object with a value (claim-check-raw-value may be true)"),
    (b'{"value":1}', "key or value is not base64"),
    (b'{"value":"?"}', "key or value is not base64"),
    (b"x" * 65, f"the claim check {NAME} has more than 64 bytes"),
]


@pytest.mark.parametrize(("content", "message"), CONTENTS)
def test_a_file_that_is_no_claim_check_is_named(
    content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(WireError) as caught:
        ClaimCheckStorage(tmp_path.as_uri(), limit=64).read(NAME)
    assert str(caught.value).removesuffix(f"; in the claim check {NAME}") == message


def test_a_claim_check_of_another_change_is_refused(tmp_path: Path) -> None:
    storage = ClaimCheckStorage(tmp_path.as_uri())
    options = canal_json.Options()
    encoder = canal_json.Encoder(options)

    def decode(key: bytes | None, value: bytes | None) -> list[Event]:
        return canal_json.decode(key, value, options)

    def left(change: RowChange) -> str:
        ((key, value),) = encoder.row(change)
        return storage.write(key, value or b"")

    ((_, value),) = encoder.row(LARGE)
    (change,) = decode(None, value)
    assert isinstance(change, RowChange)
    reduced = replace(change, before={"id": 2}, after={"id": 2}, incomplete=True)
    assert redeem(replace(reduced, claim_check=left(LARGE)), storage, decode) == change
    others = [
        replace(LARGE, commit_ts=7),
        replace(LARGE, table=replace(DOC, name="other")),
        replace(LARGE, after={"id": 3, "body": ""}),
        replace(LARGE, before=None),
        replace(LARGE, after=None),
    ]
    for other in others:
        with pytest.raises(WireError, match="holds another change than its message"):
            redeem(replace(reduced, claim_check=left(other)), storage, decode)
    with pytest.raises(WireError, match="is itself incomplete"):
        again = replace(LARGE, incomplete=True, claim_check=left(LARGE))
        redeem(replace(reduced, claim_check=left(again)), storage, decode)
    mark = encoder.resolved(Resolved(6))
    with pytest.raises(WireError, match="does not hold one row"):
        redeem(replace(reduced, claim_check=storage.write(*mark)), storage, decode)  # type: ignore[arg-type]


def test_a_storage_that_cannot_be_used_is_named_without_its_url(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    blocked = ClaimCheckStorage(f"{tmp_path.as_uri()}/file/below")
    with pytest.raises(ClaimCheckError, match="cannot be written"):
        blocked.write(None, b"x")
    with pytest.raises(ClaimCheckError, match=f"the claim check {NAME}"):
        blocked.read(NAME)
    with pytest.raises(ConfigError, match="fsspec cannot open the claim checks' URL") as caught:
        ClaimCheckStorage("wibble://key:secret@host/prefix").read(NAME)
    assert "secret" not in str(caught.value)
    # This driver connects when it is opened.
    with pytest.raises(ClaimCheckError) as refused:
        ClaimCheckStorage("ftp://key:secret@127.0.0.1:1/prefix").read(NAME)
    words = "the claim checks' storage cannot be opened: ConnectionRefusedError"
    assert str(refused.value) == words
    for url in ("", "///", "s3://bucket/p?access-key=secret"):
        with pytest.raises(ConfigError, match="must be a prefix without parameters") as caught:
            ClaimCheckStorage(url)
        assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("uri", "large", "message"),
    [
        ("kafka://b/t?protocol=open-protocol", {}, "claim-check needs a claim-check-storage-uri"),
        (
            "kafka://b/t?protocol=open-protocol",
            {"claim-check-storage-uri": "file:///p", "claim-check-raw-value": True},
            "claim-check-raw-value is not for open-protocol",
        ),
        (
            "kafka://b/t?protocol=canal-json",
            {"claim-check-storage-uri": "file:///p"},
            "large-message-handle-option of canal-json needs enable-tidb-extension",
        ),
    ],
)
def test_settings_that_ticdc_refuses_are_refused(
    uri: str, large: dict[str, Any], message: str
) -> None:
    handle = {"large-message-handle-option": "claim-check", **large}
    with pytest.raises(ConfigError) as caught:
        Changefeed(uri, {"sink": {"kafka-config": {"large-message-handle": handle}}})
    assert str(caught.value) == message
