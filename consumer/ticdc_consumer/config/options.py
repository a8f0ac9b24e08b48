"""Options that a user may set. Each declares the setting that fills it, its parser and its help."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ticdc_encoder.version import Version

from ticdc_consumer.config import choices, parsers
from ticdc_consumer.config.choices import OnKind, OnUnsupported
from ticdc_consumer.config.declaring import choice, section, setting, url
from ticdc_consumer.config.reading import ReadSettings
from ticdc_consumer.targets.rules import Publish


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(ReadSettings):
    """All settings of one consumer: `read` takes them from a file. Times are seconds, sizes bytes.

    A field's metadata declares the setting that fills it. An option without a default must be set.
    """

    @staticmethod
    def read(
        path: str | Path, sets: Iterable[str] = (), environ: Mapping[str, str] = os.environ
    ) -> "Settings":
        """Reads a TOML file, `TICDC_...` variables and `key=value` texts; later ones win. Raises
        `Usage`."""
        read: Settings = _loading().read(path, sets, environ)
        return read

    @staticmethod
    def parse(document: str) -> "Settings":
        """Reads a TOML document, and nothing else. Raises `Usage`."""
        parsed: Settings = _loading().parse(document)
        return parsed

    @staticmethod
    def of(values: Mapping[str, Any]) -> "Settings":
        """Reads dotted names, such as `kafka.topics`, for programs that need no file. Raises
        `Usage`."""
        settings: Settings = _loading().of_names(values)
        return settings

    changefeed: str = field(
        metadata=setting(
            "changefeed", parsers.text, "name of the changefeed's checkpoint in the target"
        )
    )
    from_ts: int | None = field(
        default=None,
        metadata=setting(
            "from_ts",
            parsers.timestamp,
            "timestamp of the snapshot that the target holds at the first start",
        ),
    )
    topics: tuple[str, ...] = field(
        metadata=setting(
            "kafka.topics", parsers.topics, 'topic names, or patterns such as "^shop_.*"'
        )
    )
    """Topic names, or patterns that begin with `^`."""

    source_version: Version | None = field(
        default=None,
        metadata=setting(
            "source.version",
            parsers.ticdc_version,
            "TiCDC's release, such as 8.5.7: `check` reports its known defects",
        ),
    )
    """Release of TiCDC, which messages do not name."""
    dump_url: str | None = field(
        default=None,
        repr=False,
        metadata=setting(
            "source.dump",
            parsers.prefix,
            "URL of Dumpling's files, which `load` reads instead of source.upstream",
        ),
    )
    """Prefix of the dump's files, as fsspec opens it."""
    dump_time_zone: str | None = field(
        default=None,
        metadata=setting(
            "source.dump_time_zone", parsers.time_zone, "time zone of Dumpling's session"
        ),
    )
    """Time zone of the dump, required for a TIMESTAMP: the files do not name it."""
    dump_csv: Mapping[str, bool | str] = field(
        default_factory=dict,
        metadata=setting(
            "source.dump_csv",
            parsers.dump_settings,
            "Dumpling's CSV options, under the same names",
            is_table=True,
        ),
    )
    on_drift: choices.OnDrift = field(
        default="stop",
        metadata=choice(
            "target.on_drift",
            choices.OnDrift,
            "stop, or overwrite the row, when a row of the target is in the way",
        ),
    )
    publish: Publish = field(
        default="driver",
        metadata=choice(
            "target.publish",
            Publish,
            "driver: the driver sends all rows to the target; staging: Spark's tasks send those "
            "of large cuts",
        ),
    )
    """Mode "staging" has tasks write into their own tables, from which the driver's transaction
    takes the rows; on PostgreSQL, MySQL and MariaDB, for cuts that are applied net."""
    write_source: int | None = field(
        default=None,
        metadata=setting(
            "target.write_source",
            parsers.write_source,
            "value of TiDB's tidb_cdc_write_source: a changefeed with bdr-mode does not send "
            "rows marked so",
        ),
    )
    """Number from 1 to 15, only for a TiDB target."""
    route: Mapping[str, str] = field(
        default_factory=dict,
        metadata=setting(
            "tables.route",
            parsers.mapping(parsers.text),
            'where tables go: "schema.table" pattern = "schema.table" template',
            is_table=True,
        ),
    )
    """Templates, which may hold {schema} and {table}."""
    merge: Mapping[str, str] = field(
        default_factory=dict,
        metadata=setting(
            "tables.merge",
            parsers.mapping(parsers.text),
            '"schema.table" pattern = the target\'s column that names the upstream table of each '
            "row",
            is_table=True,
        ),
    )
    keys: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata=setting(
            "tables.keys",
            parsers.mapping(parsers.names),
            '"schema.table" = columns that identify a row',
            is_table=True,
        ),
    )
    """Keys, used only if neither the messages nor the target's table determine the key."""
    at_least_once: tuple[str, ...] = field(
        default=(),
        metadata=setting(
            "tables.at_least_once",
            parsers.filter_rules,
            "patterns of tables to accept without a key; their rows may be written twice",
        ),
    )
    """Tables in which a row that TiCDC sends twice may be written twice."""
    allow_triggers: tuple[str, ...] = field(
        default=(),
        metadata=setting(
            "tables.allow_triggers",
            parsers.names,
            "upstream tables whose target tables may have row triggers",
        ),
    )
    """Upstream tables that are written net although their target has row triggers."""

    ddl_on_unsupported: OnUnsupported = field(
        default="stop",
        metadata=choice(
            "ddl.on_unsupported",
            OnUnsupported,
            "stop at a DDL that cannot be done exactly, or skip it",
        ),
    )
    ddl_keep_dropped: float = field(
        default=0.0,
        metadata=setting(
            "ddl.keep_dropped", parsers.duration, 'how long dropped tables are kept, such as "24h"'
        ),
    )
    """Seconds of the upstream's time; emptied tables are kept, too."""
    ddl_kinds: Mapping[str, OnKind] = field(
        default_factory=dict,
        metadata=setting(
            "ddl.kinds",
            parsers.ddl_kinds,
            'ddl.on_unsupported for one kind of DDL: "VIEW" = "stop"',
            is_table=True,
        ),
    )
    """Kinds of `choices.DDL_KINDS` that override `ddl_on_unsupported`. VIEW, if absent, is
    "if-certain": a view that may show something else in the target is left out."""
    ddl_tables: Mapping[str, OnUnsupported] = field(
        default_factory=dict,
        metadata=setting(
            "ddl.tables",
            parsers.ddl_tables,
            'ddl.on_unsupported for some tables: "app.*" = "skip"; overrides ddl.kinds',
            is_table=True,
        ),
    )
    """Upstream `schema.table` patterns; the first that matches decides, before the kind."""
    ddl_load_missing: bool = field(
        default=False,
        metadata=setting(
            "ddl.load_missing",
            parsers.flag,
            "whether to load a table from source.upstream that TiCDC left out until a DDL gave "
            "it a key",
        ),
    )
    """Load of a missing table at the ALTER TABLE that gives it the key."""

    quarantine: bool = field(
        default=False,
        metadata=setting(
            "on_error.quarantine",
            parsers.flag,
            "whether to quarantine a table whose rows cannot be applied, while the others continue",
        ),
    )
    """Only with `apply = "net"`; a quarantined table waits for `ticdc-consumer release`."""

    rows_per_epoch: int = field(
        default=400_000,
        metadata=setting(
            "limits.rows_per_epoch", parsers.count, "approximate number of rows in one cut"
        ),
    )
    memory_budget: int = field(
        default=384 << 20,
        metadata=setting(
            "limits.memory_budget",
            parsers.size,
            "bytes of changes that the driver holds in memory, at most",
        ),
    )
    """Encoded facts that the driver may hold of one cut. Cuts are chosen to fit; one that cannot be
    split goes through Spark's shuffle."""
    load_chunk: int = field(
        default=16 << 20,
        metadata=setting(
            "limits.load_chunk", parsers.size, "approximate bytes in one transaction of a load"
        ),
    )
    future_limit: float = field(
        default=86_400.0,
        metadata=setting(
            "limits.future_limit",
            parsers.seconds,
            "seconds that a commit_ts may be ahead of this machine's clock",
        ),
    )
    """Seconds ahead of this machine's clock."""
    schema_wait: float = field(
        default=300.0,
        metadata=setting(
            "limits.schema_wait",
            parsers.seconds,
            "seconds that a row of the Simple protocol waits for its schema",
        ),
    )
    """Seconds that rows may wait for a schema after the log's last message."""
    takeover_after: float = field(
        default=30.0,
        metadata=setting(
            "limits.takeover_after",
            parsers.seconds,
            "seconds to wait before ending an older consumer",
        ),
    )
    standby_after: float = field(
        default=30.0,
        metadata=setting(
            "limits.standby_after",
            parsers.sign_interval,
            "seconds without a sign of the running consumer before a standby (`run --standby`) "
            "takes over",
        ),
    )
    spark_start: choices.SparkStart = field(
        default="when-needed",
        metadata=choice(
            "spark.start",
            choices.SparkStart,
            "when-needed: start Spark when a large cut needs it; at-once: start it with the "
            "first cuts",
        ),
    )
    """A run that is to end needs no Spark for small cuts, and starts none, in either case."""
    spark_from_messages: int = field(
        default=5_000,
        metadata=setting(
            "spark.from_messages",
            parsers.whole_number,
            "number of messages from which Spark reads a cut; the driver reads smaller cuts",
        ),
    )
    """Messages from which Spark reads a cut, 0 for every cut. Below the default, Spark's task costs
    more than it saves.
    """
    retries: int = field(
        default=8,
        metadata=setting("limits.retries", parsers.count, "how often an epoch is retried"),
    )

    verify_every: float | None = field(
        default=None,
        metadata=setting(
            "verify.every",
            parsers.interval,
            'how often to compare a share of the rows with source.upstream, such as "1h"; all '
            "within a day",
        ),
    )
    metrics_listen: tuple[str, int] | None = field(
        default=None,
        metadata=setting(
            "metrics.listen",
            parsers.address,
            'address of the page, /metrics, /healthz and /readyz, such as "127.0.0.1:9464"',
        ),
    )
    """Host and port."""
    metrics_ready_lag: float = field(
        default=60.0,
        metadata=setting(
            "metrics.ready_lag",
            parsers.duration,
            'lag at which /readyz begins to fail, such as "1m"',
        ),
    )

    target_url: str = field(
        repr=False,
        metadata=url(
            "target.url",
            "target.password",
            "SQLAlchemy URL of the database",
            example="postgresql+psycopg://user@host/database",
        ),
    )
    kafka: Mapping[str, str] = field(
        repr=False,
        metadata=section(
            "kafka",
            "kafka.bootstrap.servers",
            "librdkafka's settings, such as kafka.bootstrap.servers; kafka.NAME_file reads one "
            "from a file",
        ),
    )
    spark: Mapping[str, str] = field(
        default_factory=dict,
        repr=False,
        metadata=section("spark", "spark.master", "Spark's settings, such as spark.master"),
    )


def _loading() -> ModuleType:
    """Imports the module that makes settings: it is above them, and below its callers."""
    return import_module("ticdc_consumer.config.loading")
