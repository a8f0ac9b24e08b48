"""What a user may set, parsed once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """All settings of one consumer.

    `kafka` are librdkafka's own settings, `spark` Spark's; both pass through. `topics` are names,
    or patterns that begin with `^`. Times are seconds, sizes bytes.
    """

    changefeed: str
    protocol: str
    topics: tuple[str, ...]
    kafka: Mapping[str, str] = field(repr=False)
    target_url: str = field(repr=False)
    time_zone: str = "UTC"
    apply: Literal["net", "transactions"] = "net"
    on_drift: Literal["stop", "overwrite"] = "stop"
    filter: tuple[str, ...] = ("*.*",)
    case_sensitive: bool = False
    route: Mapping[str, str] = field(default_factory=dict)
    """Upstream `schema.table` pattern -> target `schema.table` template ({schema}, {table})."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Upstream `schema.table` -> the columns that identify a row, where nothing else tells."""
    at_least_once: tuple[str, ...] = ()
    """Filter rules: upstream tables that are accepted without a valid key, and so may hold rows
    that were sent twice two times."""
    allow_triggers: tuple[str, ...] = ()
    """Upstream tables whose target has row triggers and may be written net all the same."""
    rules: frozenset[str] = frozenset()
    """Lossy mappings the user switched on, by the names `docs/types.md` gives them."""
    ddl_on_unsupported: Literal["stop", "skip"] = "stop"
    ddl_keep_dropped: float = 0.0
    """Seconds, of the upstream's time, for which dropped and emptied tables are kept."""
    ddl_kinds: Mapping[str, Literal["stop", "skip"]] = field(default_factory=dict)
    """Kinds of `ddl_policy.KINDS` that are not treated as `ddl_on_unsupported` says."""
    ddl_tables: Mapping[str, Literal["stop", "skip"]] = field(default_factory=dict)
    """Upstream `schema.table` patterns; the first that matches decides, before the kind."""
    spark: Mapping[str, str] = field(default_factory=dict, repr=False)
    rows_per_epoch: int = 400_000
    memory_budget: int = 384 << 20
    """Encoded facts that the driver may hold; larger cuts go through Spark's shuffle."""
    message_limit: int = 256 << 20
    """The most bytes that one compressed value may inflate to."""
    future_limit: float = 86_400.0
    """How far a commit_ts may lie in the future of this machine's clock."""
    clock_skew: float = 60.0
    takeover_after: float = 30.0
    retries: int = 8
    from_ts: int | None = None
    compression: Literal["none", "lz4", "snappy"] = "none"
    claim_check_url: str | None = field(default=None, repr=False)
    """Where claim checks lie: their prefix, as fsspec opens it."""
    claim_check_raw_value: bool = False
    upstream_url: str | None = field(default=None, repr=False)
    """The upstream TiDB, which completes rows of which the handle key alone was sent."""
    on_corruption: Literal["stop", "warn"] = "stop"
    """What to do about a row that is not what its checksum says."""
    storage_url: str | None = field(default=None, repr=False)
    """The prefix of a cloud storage sink, as fsspec opens it, instead of Kafka's topics."""
    storage_date_separator: Literal["none", "year", "month", "day"] = "day"
    storage_table_ids: bool = False
    storage_terminator: str = "\r\n"
    storage_csv: Mapping[str, bool | str] = field(default_factory=dict)
    """The changefeed's `[sink.csv]`."""
    registry: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Avro's schema registry: the settings of Confluent's client."""
    encoding_format: Literal["json", "avro"] = "json"
    """Simple's."""
    schema_wait: float = 300.0
    """How long rows of Simple may wait for their schema where the log has no more messages."""
