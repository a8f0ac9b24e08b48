"""Differences between protocols, an entry each.

`PROTOCOLS` is the one place where a protocol's name is looked up: its entry, a `WireProtocol`, has
everything that the rest of the consumer needs to know of it. Entries are imported when they are
asked for.

Experimental: another distribution may add protocols, by the entry point group
`ticdc_consumer.protocols`. In its pyproject.toml that is one line per protocol:

    [project.entry-points."ticdc_consumer.protocols"]
    toy = "toy_protocol:PROTOCOL"

where `toy_protocol.PROTOCOL` is a `WireProtocol`. The distribution must be installed where the
consumer runs and where Spark's tasks run (a zip of it may be given by `--py-files`). A name of ours
cannot be replaced. The fields of `WireProtocol` may change with every release, and whether rows of
such a protocol are applied exactly is up to its decoder.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields

from ticdc_encoder.event import Table

from ticdc_consumer.config.protocol_names import entry_named, is_protocol, no_entry, protocol_names
from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.errors import Usage
from ticdc_consumer.protocols.protocol import (
    ControlTest,
    PlainDecoder,
    RecordDecoder,
    StoredFiles,
    WireProtocol,
)


class _Protocols(Mapping[str, WireProtocol]):
    """Entries by name, each imported at its first use."""

    def __init__(self) -> None:
        self._loaded: dict[str, WireProtocol] = {}

    def __getitem__(self, name: str) -> WireProtocol:
        """Raises KeyError for a name that nobody has, and `Usage` for an entry point of another
        distribution that is not a `WireProtocol`."""
        entry = self._loaded.get(name)
        if entry is None:
            imported = entry_named(name)
            if not isinstance(imported, WireProtocol):
                raise no_entry(name)
            entry = self._loaded[name] = imported
        return entry

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or is_protocol(name)

    def __iter__(self) -> Iterator[str]:
        return iter(protocol_names())

    def __len__(self) -> int:
        return len(protocol_names())


PROTOCOLS: Mapping[str, WireProtocol] = _Protocols()
"""Entries by the `protocol` of the changefeed's sink URI."""


def protocol_of(options: ReadSettings) -> WireProtocol:
    """The entry of `[protocol]`. Raises `Usage` if this process has none of that name."""
    try:
        return PROTOCOLS[options.protocol]
    except KeyError:
        raise Usage(f"protocol {options.protocol} is not known here") from None


def for_tasks(options: ReadSettings) -> ReadSettings:
    """The options that Spark's tasks need, without other secrets: a registry's only if the protocol
    uses one."""
    part = {option.name: getattr(options, option.name) for option in fields(ReadSettings)}
    needs_registry = protocol_of(options).asks_registry
    return ReadSettings(**part | {"registry": options.registry if needs_registry else {}})


def decoder(options: ReadSettings, schemas: Iterable[Table] = ()) -> RecordDecoder:
    """Returns the configured protocol's decoder. `schemas` are those known for rows that need one.
    A protocol of files has no messages to decode."""
    protocol = protocol_of(options)
    if protocol.format is None:
        return PlainDecoder(lambda key, value: [])
    return protocol.decoder(options, schemas)


def control_test(options: ReadSettings) -> ControlTest:
    """The configured protocol's quick test for possible resolved messages and DDL."""
    return protocol_of(options).control_test(options)


def stored_files(options: ReadSettings) -> StoredFiles:
    """Returns the reader of the configured protocol's files. Raises `Usage` if it has none."""
    files = protocol_of(options).files
    if files is None:
        raise Usage(f"protocol {options.protocol} is not one of files")
    return files


def zone_of_rows(options: ReadSettings) -> str:
    """The time zone of TIMESTAMP values from the configured protocol's decoder."""
    return "UTC" if protocol_of(options).rows_in_utc else options.time_zone
