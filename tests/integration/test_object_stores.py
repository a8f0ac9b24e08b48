"""The storage sink's reading from real object stores, by fsspec's drivers: opt-in, by the variable
OBJECT_STORES: URLs of empty buckets that exist, with spaces between. How: docs/how-to/files.md."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any
from uuid import uuid4

import pytest
from fsspec.core import url_to_fs  # type: ignore[import-untyped]
from ticdc_consumer.config.options import Settings
from ticdc_consumer.source.storage.files import Files
from ticdc_consumer.source.storage.source import StorageSource
from ticdc_consumer.upstream.dump.pieces import PieceReader
from ticdc_encoder.storage.layout import METADATA, metadata_json

BUCKETS = os.environ.get("OBJECT_STORES", "").split()
PAGES = 5_100
"""Files: Azure lists 5,000 in a page, others 1,000."""

pytestmark = [
    pytest.mark.skipif(not BUCKETS, reason="OBJECT_STORES is not set"),
    pytest.mark.timeout(900),
]


class Store:
    """A folder of a bucket, written by a client of its own, as TiCDC's is."""

    def __init__(self, bucket: str) -> None:
        self.url = f"{bucket}/{uuid4().hex}/sink"
        self._client, self._prefix = url_to_fs(self.url, skip_instance_cache=True)

    def write(self, path: str, content: bytes = b"x") -> None:
        self._client.pipe_file(f"{self._prefix}/{path}", content)

    def write_all(self, paths: list[str]) -> None:
        with ThreadPoolExecutor(16) as threads:
            list(threads.map(self.write, paths))

    def delete(self, path: str) -> None:
        self._client.rm_file(f"{self._prefix}/{path}")


@pytest.fixture(params=BUCKETS)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    yield Store(request.param)


def test_a_listing_is_of_now(store: Store) -> None:
    files = Files(store.url)
    assert files.list() == {}
    store.write("s/t/1.csv", b"1")
    assert files.list() == {"s/t/1.csv": 1}
    store.write("s/t/2.csv", b"")
    store.write("s/t/1.csv", b"111")
    assert files.list("s/t") == {"s/t/1.csv": 3, "s/t/2.csv": 0}
    store.delete("s/t/1.csv")
    assert files.list() == {"s/t/2.csv": 0}


def test_a_file_that_is_written_again_is_read_again(store: Store) -> None:
    files = Files(store.url)
    assert files.read(METADATA) is None
    for content in (b"first", b"a longer second", b"3rd", b""):
        store.write(METADATA, content)
        assert files.read(METADATA) == content
    store.delete(METADATA)
    assert files.read(METADATA) is None


def test_neighbours_of_the_prefix_are_not_listed(store: Store) -> None:
    for path in ("sink/t.csv", "sink2/t.csv", "sink.csv"):
        store.write(path)
    assert [*Files(f"{store.url}/sink").list()] == ["t.csv"]
    assert [*Files(f"{store.url}/sink/").list()] == ["t.csv"]


def test_many_pages_are_listed_whole_while_files_come_and_go(store: Store) -> None:
    paths = [f"s/t/CDC{number:06}.csv" for number in range(1, PAGES + 1)]
    store.write_all(paths)
    files, stop = Files(store.url), Event()

    def come_and_go() -> int:
        number = 0
        while not stop.is_set():
            number += 1
            for folder in ("a", "s/t/A", "z"):
                store.write(f"{folder}/{number}.csv")
                store.delete(f"{folder}/{number}.csv")
        return number

    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(come_and_go)
        try:
            listings = [files.list() for _ in range(5)]
        finally:
            stop.set()
        assert writing.result() > 1
    assert all(not set(paths) - set(listing) for listing in listings)
    assert set(files.list()) == set(paths)


NAMES = "a b|a+b|a%20b|a%b|ä|中文|a?b|a#b|a&b|a*b|[a]|{a}|a'b|a\"b|a:b|a=b|$a|~a|<a>|a..b|a;b|a@b"


@pytest.mark.parametrize("name", [*NAMES.split("|"), "a|b", "e\u0301"])
def test_a_table_may_be_called(name: str, store: Store) -> None:
    files, path = Files(store.url), f"s/{name}/1.csv"
    store.write(path, name.encode())
    assert files.list() == {path: len(name.encode())}
    assert [*files.list(f"s/{name}")] == [path]
    assert files.read(path) == name.encode()


@pytest.mark.parametrize("size", [0, 1, 1023, 1024])
def test_a_file_of_a_dump_is_read_to_its_end(
    size: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ticdc_consumer.upstream.dump.pieces.BLOCK", 512)
    content = os.urandom(size)
    store.write("s.t-schema.sql", content)
    with PieceReader(Files(store.url)) as reader:
        assert b"".join(reader.blocks("s.t-schema.sql")) == content


def test_directories_and_marks_appear_as_they_are_written(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ticdc_consumer.source.storage.source.EVERY", 0.0)
    options: dict[str, Any] = {"storage_date_separator": "none", "storage_csv": {}}
    source = StorageSource(
        Settings(
            changefeed="c",
            protocol="csv",
            topics=(),
            kafka={},
            target_url="sqlite:///unused",
            storage_url=store.url,
            **options,
        )
    )
    assert source.list().ends == {}
    assert source.poll(5.0) == 0
    for number in (1, 2, 3):
        ts = (460_000_000_000 + number) << 18
        store.write(f"s/t/460000000000/CDC{number:06}.csv")
        store.write(METADATA, metadata_json(ts))
        assert source.poll(5.0) == 1
        assert [mark.resolved_ts for mark in source.marks] == [ts]
        assert [*source.list().ends.values()] == [number]
