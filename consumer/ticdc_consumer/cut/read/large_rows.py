"""Rows that TiCDC sent incomplete, completed inside Spark's tasks.

A claim check is read from the configured storage. A row sent as its handle key only is read from
the upstream as of its commit_ts: exactly what it was then.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from ticdc_encoder.event import Row, RowChange, Table, Value
from ticdc_encoder.formats.claim_check import (
    ClaimCheckError,
    ClaimCheckStorage,
    redeem,
    without_limits,
)
from ticdc_encoder.values import utc_time

from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.errors import ClaimCheckAway, Stop, Usage
from ticdc_consumer.protocols import protocol_of, zone_of_rows
from ticdc_consumer.protocols.protocol import RecordDecoder

if TYPE_CHECKING:
    from ticdc_consumer.cut.read.upstream import Snapshots

T = TypeVar("T")


def claim_checks(options: ReadSettings) -> ClaimCheckStorage | None:
    """Returns the storage of `[source] claim_check`."""
    if options.claim_check_url is None:
        return None
    return ClaimCheckStorage(
        options.claim_check_url,
        raw_value=options.claim_check_raw_value,
        limit=options.message_limit,
    )


class LargeRows(Generic[T]):
    """Redeems claim checks at once; completes the other rows in batches, each with a `T`."""

    def __init__(self, options: ReadSettings, decode: RecordDecoder) -> None:
        self._options = options
        self._decode = decode
        self._storage = claim_checks(options)
        self._snapshots: Snapshots | None = None
        self._waiting: list[tuple[RowChange, T]] = []

    def close(self) -> None:
        if self._snapshots is not None:
            self._snapshots.close()
            self._snapshots = None

    def redeem(self, change: RowChange) -> RowChange:
        """Returns the whole change. Raises `Stop` if no storage is configured or it lacks the file,
        `ClaimCheckAway` if the storage cannot be read, and what `claim_check.redeem` raises."""
        if self._storage is None:
            raise Stop(
                f"{_name(change)}: a large row is in a claim check: set [source] claim_check to "
                "the changefeed's claim-check-storage-uri, and start again"
            )
        try:
            return redeem(change, self._storage, self._decode)
        except ClaimCheckError as error:
            missing = isinstance(error.__cause__, FileNotFoundError)
            raise (Stop if missing else ClaimCheckAway)(f"{_name(change)}: {error}") from None

    def hold(self, change: RowChange, companion: T) -> None:
        """Holds a change that has only its handle key for `completed`. Raises `Stop` if no upstream
        is configured."""
        if self._options.upstream_url is None:
            raise Stop(
                f"{_name(change)}: only the handle key of a large row was sent: set [source] "
                "upstream to the TiDB from which to read the row, and start again"
            )
        self._waiting.append((change, companion))

    def completed(self) -> Iterator[list[tuple[RowChange, T]]]:
        """Yields the held changes, completed, in batches of one upstream statement each. Raises
        what `Snapshots` raises, and `Stop` for a row that the upstream does not have."""
        groups: dict[tuple[str, str, int], list[tuple[RowChange, T]]] = defaultdict(list)
        for change, companion in self._waiting:
            version = change.table.schema, change.table.name, change.commit_ts
            groups[version].append((change, companion))
        self._waiting = []
        for (schema, name, commit_ts), group in groups.items():
            keys = {_key(change): self._parameters(change) for change, _ in group}
            missing = dict(keys)
            for table, rows in self._upstream().rows(schema, name, commit_ts, [*keys.values()]):
                whole = {_key_of(keys, row.after): row for row in self._sent(table, rows, group[0])}
                for key in whole:
                    missing.pop(key, None)
                yield [
                    (replace(whole[key], before=change.before), companion)
                    for change, companion in group
                    if (key := _key(change)) in whole
                ]
            if missing:
                key = next(iter(missing))
                values = ", ".join(f"{column}={value!r}" for column, value in key)
                raise Stop(
                    f"{schema}.{name}: the upstream has no row {values} at commit_ts {commit_ts}: "
                    "is [source] upstream the changefeed's?"
                )

    def _upstream(self) -> "Snapshots":
        if self._snapshots is None:
            assert self._options.upstream_url is not None
            try:
                # Only this needs its database driver.
                from ticdc_consumer.cut.read.upstream import Snapshots
            except ModuleNotFoundError as error:
                raise Usage(
                    f"[source] upstream: its driver is not installed ({error.name}): "
                    "pip install ticdc-consumer[mysql], for Spark's workers, too"
                ) from error
            self._snapshots = Snapshots(self._options.upstream_url)
        return self._snapshots

    def _parameters(self, change: RowChange) -> Row:
        """Returns the key as the upstream, whose session is in UTC, expects it. Raises `Stop`."""
        utc = utc_time(zone_of_rows(self._options))
        types = {column.name: column.type.name for column in change.table.columns}
        try:
            return {
                name: utc(value) if types[name] == "timestamp" and isinstance(value, str) else value
                for name, value in _key(change)
            }
        except ValueError as error:
            raise Stop(f"{_name(change)}: a TIMESTAMP of a large row's key: {error}") from None

    def _sent(
        self, table: Table, rows: Iterable[Row], like: tuple[RowChange, T]
    ) -> Iterator[RowChange]:
        """Yields the rows as TiCDC would have sent them: with the columns and types of the wire."""
        protocol = protocol_of(self._options)
        assert protocol.format is not None
        of_format = without_limits(protocol.format_options(self._options))
        # Its columns come in the table's order.
        of_format = replace(of_format, new_architecture=True)
        encoder = protocol.format.Encoder(of_format, lambda: 0)
        sent = like[0].table
        table = replace(table, version=sent.version, table_id=sent.table_id)
        for row in rows:
            whole = RowChange(table, like[0].commit_ts, after=row)
            for record in [*encoder.row(whole), *encoder.flush()]:
                for event in self._decode(*record):
                    assert isinstance(event, RowChange)
                    yield event


Key = tuple[tuple[str, Value], ...]


def _key(change: RowChange) -> Key:
    """Returns the key by name: Simple's Avro has columns in any order."""
    return tuple(sorted((change.after or {}).items()))


def _key_of(keys: Iterable[Key], row: Row | None) -> Key:
    """Returns the keys' columns of a whole row."""
    names = [name for name, _ in next(iter(keys))]
    return tuple((name, (row or {})[name]) for name in names)


def _name(change: RowChange) -> str:
    return f"{change.table.schema}.{change.table.name}"
