"""Claim checks: rows too large for Kafka, which TiCDC leaves in a storage and names in a message.

Only the last part of a location is used, below the prefix that is configured here: no message can
lead anywhere else. Source: TiCDC `pkg/sink/kafka/claimcheck`.
"""

import binascii
import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any
from uuid import uuid4

from ticdc_encoder.errors import ConfigError, TicdcError, WireError
from ticdc_encoder.event import Ddl, Event, Resolved, Row, RowChange, Table
from ticdc_encoder.formats.format import Encoder, OptionsT, Record, SchemaEncoder, record_size
from ticdc_encoder.formats.json_text import load

_NAME = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json")


class ClaimCheckError(TicdcError):
    """A claim check's file that cannot be read or written."""


class ClaimCheckStorage:
    """The files of a changefeed's claim checks.

    `url` is a prefix that fsspec opens with `options`: what TiCDC calls claim-check-storage-uri, or
    another URL of the same storage. `raw_value` is the changefeed's claim-check-raw-value, `limit`
    bounds a file's bytes. It may be pickled.
    """

    def __init__(
        self,
        url: str,
        *,
        raw_value: bool = False,
        limit: int = 512 << 20,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if "?" in url or not url.strip("/"):
            raise ConfigError("the claim checks' URL must be a prefix without parameters")
        self._url = url.rstrip("/")
        self._raw_value = raw_value
        self._limit = limit
        self._options = dict(options or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return _storage, (self._url, self._raw_value, self._limit, self._options)

    def read(self, location: str) -> Record:
        """The record that a claim check stands for, its value still compressed if the changefeed
        compresses; with `raw_value` it has no key. Raises `ClaimCheckError` if the file cannot be
        read, `WireError` if it, or the location, is not a claim check's."""
        name = location.rpartition("/")[2]
        if _NAME.fullmatch(name) is None:
            raise WireError("a claim check's location does not end with <uuid>.json")
        files, prefix = self._files
        try:
            content: bytes = files.cat_file(f"{prefix}/{name}", end=self._limit + 1)
        except FileNotFoundError as error:
            raise ClaimCheckError(f"the claim check {name} is not in the storage") from error
        except Exception as error:
            raise ClaimCheckError(
                f"the claim check {name} cannot be read: {type(error).__name__}"
            ) from error
        if len(content) > self._limit:
            raise WireError(f"the claim check {name} has more than {self._limit} bytes")
        if self._raw_value:
            return None, content
        try:
            return _parsed(content)
        except WireError as error:
            error.add_note(f"in the claim check {name}")
            raise

    def write(self, key: bytes | None, value: bytes, name: str | None = None) -> str:
        """Writes a record into a new file and returns its location."""
        name = f"{uuid4()}.json" if name is None else name
        files, prefix = self._files
        try:
            files.makedirs(prefix, exist_ok=True)
            files.pipe_file(f"{prefix}/{name}", value if self._raw_value else _written(key, value))
        except Exception as error:
            raise ClaimCheckError(
                f"the claim check {name} cannot be written: {type(error).__name__}"
            ) from error
        return f"{self._url}/{name}"

    @cached_property
    def _files(self) -> tuple[Any, str]:
        """The file system, and the prefix in it."""
        try:
            from fsspec.core import url_to_fs  # type: ignore[import-untyped]
        except ImportError as error:
            raise ConfigError("claim checks need `pip install ticdc-consumer[storage]`") from error
        try:
            files, prefix = url_to_fs(self._url, **self._options)
        except (ImportError, ValueError, TypeError) as error:
            reason = str(error) if isinstance(error, ImportError) else type(error).__name__
            raise ConfigError(f"fsspec cannot open the claim checks' URL: {reason}") from error
        except Exception as error:
            # Some drivers connect here.
            raise ClaimCheckError(
                f"the claim checks' storage cannot be opened: {type(error).__name__}"
            ) from error
        return files, prefix.rstrip("/")


def _storage(url: str, raw_value: bool, limit: int, options: dict[str, Any]) -> ClaimCheckStorage:
    return ClaimCheckStorage(url, raw_value=raw_value, limit=limit, options=options)


def _parsed(content: bytes) -> Record:
    members = load(content)
    if not isinstance(members, dict) or not members.get("value"):
        raise WireError("no JSON object with a value (claim-check-raw-value may be true)")
    return _base64(members.get("key")) or None, _base64(members["value"])


def _base64(text: Any) -> bytes:
    try:
        return binascii.a2b_base64(text or "", strict_mode=True)
    except (TypeError, ValueError) as error:
        raise WireError("key or value is not base64") from error


def _written(key: bytes | None, value: bytes) -> bytes:
    quoted = "null" if key is None else f'"{b64encode(key).decode()}"'
    return f'{{"key":{quoted},"value":"{b64encode(value).decode()}"}}'.encode()


def redeem(
    change: RowChange,
    storage: ClaimCheckStorage,
    decode: Callable[[bytes | None, bytes | None], list[Event]],
) -> RowChange:
    """The whole change for one with a `claim_check`. `decode` is the topic's protocol with its
    options. Raises `WireError` if the file holds another change."""
    if change.claim_check is None:
        return change
    events = decode(*storage.read(change.claim_check))
    name = change.claim_check.rpartition("/")[2]
    if len(events) != 1 or not isinstance(whole := events[0], RowChange):
        raise WireError(f"the claim check {name} does not hold one row")
    names = [(c.table.schema, c.table.name, c.commit_ts) for c in (change, whole)]
    # Open Protocol may omit the row before an UPDATE if no key column changed.
    inserted = change.before is None and change.after is not None
    if names[0] != names[1] or not (
        (inserted or _includes(change.before, whole.before))
        and _includes(change.after, whole.after)
    ):
        raise WireError(f"the claim check {name} holds another change than its message")
    if whole.incomplete or whole.claim_check is not None:
        raise WireError(f"the claim check {name} is itself incomplete")
    return whole


def _includes(reduced: Row | None, whole: Row | None) -> bool:
    """Returns whether a whole row has all values of its reduced form."""
    if reduced is None or whole is None:
        return reduced is whole
    return all(name in whole and whole[name] == value for name, value in reduced.items())


class ClaimCheckEncoder:
    """An encoder that leaves rows beyond max-message-bytes in a storage.

    `whole` writes a single row, without any limit; `encoder` writes the records for Kafka.
    """

    def __init__(
        self, encoder: Encoder, whole: Encoder, storage: ClaimCheckStorage, max_message_bytes: int
    ) -> None:
        self._encoder = encoder
        self._whole = whole
        self._storage = storage
        self._limit = max_message_bytes

    def row(self, change: RowChange) -> list[Record]:
        key, value = record = [*self._whole.row(change), *self._whole.flush()][-1]
        if record_size(record) > self._limit:
            location = self._storage.write(key, value or b"")
            change = replace(change, incomplete=True, claim_check=location)
        return self._encoder.row(change)

    def flush(self) -> list[Record]:
        return self._encoder.flush()

    def bootstrap(self, table: Table) -> Record:
        """The table's schema, of a protocol that sends it apart from rows."""
        assert isinstance(self._encoder, SchemaEncoder)
        return self._encoder.bootstrap(table)

    def ddl(self, ddl: Ddl) -> Record:
        return self._encoder.ddl(ddl)

    def resolved(self, resolved: Resolved) -> Record:
        return self._encoder.resolved(resolved)


def without_limits(options: OptionsT) -> OptionsT:
    """A format's options for single rows of any size."""
    limits = {"max_message_bytes": 1 << 62, "max_batch_size": 1}
    return replace(options, **{n: limit for n, limit in limits.items() if hasattr(options, n)})
