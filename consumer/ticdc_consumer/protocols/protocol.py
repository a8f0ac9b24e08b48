"""Differences between protocols, as one entry; and checks for all protocols' events."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ticdc_encoder.errors import ConfigError, TicdcError
from ticdc_encoder.event import Event, Resolved, Table
from ticdc_encoder.formats import Format
from ticdc_encoder.formats.compression import inflate
from ticdc_encoder.formats.format import Waiting
from ticdc_encoder.tso import compose, moment

from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.errors import LOAD_ANEW, Stop, Usage
from ticdc_consumer.protocols.exactness import AS_SENT, Exactness

if TYPE_CHECKING:  # it knows two formats, and the names of protocols need none
    from ticdc_encoder.storage.layout import FileFormat

Decode = Callable[[bytes | None, bytes | None], list[Event]]


class RecordDecoder(Protocol):
    """Decodes a record's events. If rows need schemas from other messages (as Simple's do),
    `unread` are the rows without theirs, which are then forgotten, and `new_schemas` are the
    schemas that came; both since the last call."""

    def __call__(self, key: bytes | None, value: bytes | None) -> list[Event]: ...

    def unread(self) -> Sequence[Waiting]: ...

    def new_schemas(self) -> Sequence[Table]: ...


@dataclass(frozen=True, slots=True)
class PlainDecoder:
    """A decoder without memory."""

    decode: Decode

    def __call__(self, key: bytes | None, value: bytes | None) -> list[Event]:
        return self.decode(key, value)

    def unread(self) -> Sequence[Waiting]:
        return ()

    def new_schemas(self) -> Sequence[Table]:
        return ()


ControlTest = Callable[[bytes | None, bytes | None], bool]
"""Quick test of a record's key and value that lets every resolved message and DDL pass, and few
rows. Passing records are decoded in full, so that a row that imitates either stays a row."""


def every_record(key: bytes | None, value: bytes | None) -> bool:
    """Passes every record: the test of a protocol without a quicker one."""
    return True


def _no_options(options: ReadSettings) -> None:
    return None


def _no_check(options: Settings) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFiles:
    """A protocol in the files of a cloud storage."""

    format: "FileFormat"
    format_options: Callable[[ReadSettings], Any]
    """The format's own options. Raises ConfigError."""
    describe_columns: bool
    """True if a file's records name their columns, so that no schema file is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WireProtocol:
    """A protocol as the consumer reads it: everything that differs by protocol.

    The defaults hold for a protocol whose messages are exact as sent.
    """

    format: Format[Any] | None = None
    """Format that decodes Kafka's messages and encodes them to complete large rows; None for a
    protocol of files."""
    format_options: Callable[[ReadSettings], Any] = _no_options
    """The format's own options."""
    decoder_with_schemas: Callable[[Any, Iterable[Table]], RecordDecoder] | None = None
    """Makes a decoder from the format's own options and the known schemas, for rows that need
    schemas. None: `format.decode` needs nothing but the message."""
    files: StoredFiles | None = None
    """Reader of a cloud storage's files; None if there is none."""

    may_be_control: ControlTest = every_record
    test_inflates: bool = True
    """True if the test looks into values, so that compressed ones must be inflated first."""
    fast_reader: str = ""
    """Function that makes a `FastReader` of layouts, shapes and the greatest credible commit_ts, as
    "package.module:name"; "" if there is none. A name, since the function belongs to the reader."""

    rows_name_their_table: bool = True
    """True if a message has the names of its rows' tables as plain text, unless compressed."""
    asks_registry: bool = False
    """True if the format's options need `[registry]`."""
    rows_in_utc: bool = False
    """True if decoded TIMESTAMP values are in UTC, because the messages name their zone."""
    omits_unchanged: bool = False
    """True if the columns missing in an UPDATE's old row are exactly those that did not change."""
    updates_may_look_like_inserts: bool = False
    """True if an UPDATE sent without its old row looks like an INSERT."""
    exactness: Exactness = AS_SENT

    needs_for_marks: str = ""
    """Sink URI settings without which the protocol has no resolved ts; `check` and the scout name
    them if there is none."""
    needs_for_old_rows: str = ""
    """Changefeed setting with which UPDATEs carry their old row; `check` names it."""
    check_settings: Callable[[Settings], None] = _no_check
    """Checks the protocol's demands on the settings. Raises `Usage`."""
    demo: Mapping[str, Any] | None = None
    """Settings that the demo needs for this protocol; None: the demo does not support it."""

    def decoder(self, options: ReadSettings, schemas: Iterable[Table] = ()) -> RecordDecoder:
        """Returns a decoder of Kafka's messages, completed from the options. `schemas` are those
        known for rows that need one. Raises ConfigError for a protocol of files."""
        if self.format is None:
            raise ConfigError(f"{options.protocol} is not read from Kafka")
        of_format = self.format_options(options)
        if self.decoder_with_schemas is not None:
            return self.decoder_with_schemas(of_format, schemas)
        decode = self.format.decode
        return PlainDecoder(lambda key, value: decode(key, value, of_format))

    def control_test(self, options: ReadSettings) -> ControlTest:
        """`may_be_control` for messages that may be compressed."""
        test = self.may_be_control
        if test is every_record or not self.test_inflates or options.compression == "none":
            return test

        def inflated(key: bytes | None, value: bytes | None) -> bool:
            if value is None:
                return True
            return test(key, inflate(value, options.compression, options.message_limit))

        return inflated


def require_registry(options: Settings) -> None:
    """Raises `Usage` unless the settings name a registry."""
    if "url" not in options.registry:
        raise Usage(
            f"registry.url is not set: {options.protocol}'s messages refer to schemas in the "
            "registry"
        )


def latest_sane(options: Settings) -> int:
    """Returns the greatest commit_ts believed now: `[limits] future_limit` ahead of our clock."""
    return compose(int((time.time() + options.future_limit) * 1000))


def check_ts(event: Event | Waiting, latest: int) -> None:
    """Raises `Stop` for an impossible timestamp, by which nothing is selected."""
    ts = event.resolved_ts if isinstance(event, Resolved) else event.commit_ts
    if not 0 < ts <= latest:
        what = "resolved ts" if isinstance(event, Resolved) else "commit_ts"
        if ts <= 0:
            raise Stop(f"{what} {ts} is not positive")
        raise Stop(
            f"{what} {ts} lies too far in the future: it is after "
            f"{moment(latest):%Y-%m-%d %H:%M} UTC. If this machine's clock is behind, correct it "
            "and start again; else the message is wrong, and to apply it would drop rows: send "
            f"the changefeed to a new topic, set [kafka] topics to it, and {LOAD_ANEW}"
        )


def located(error: TicdcError, topic: str, partition: int, offset: int) -> TicdcError:
    """The error, with the position of the record that it is about."""
    error.add_note(f"at {partition_text(topic, partition)} offset {offset}")
    return error


def partition_text(topic: str, partition: int) -> str:
    """`topic[partition]`, for messages."""
    return f"{topic}[{partition}]"
