"""`ticdc-consumer init --from-changefeed`: a changefeed's configuration -> the consumer's."""

import re
import shlex
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import unquote_plus
from urllib.request import Request, urlopen

from ticdc_encoder.changefeed import config as of_kafka
from ticdc_encoder.changefeed import known_settings
from ticdc_encoder.changefeed import storage_config as of_storage
from ticdc_encoder.changefeed.described import DescribedChangefeed
from ticdc_encoder.changefeed.versions import UNRELEASED
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.formats import csv
from ticdc_encoder.settings import uri_parts

from ticdc_consumer.cli.sink_access import (
    Access,
    brokers_of,
    changed_uri,
    kafka_access,
    prefix_of,
    registry_of,
    split,
)
from ticdc_consumer.config.parsers import CSV_SETTINGS
from ticdc_consumer.config.redact import MASK
from ticdc_consumer.errors import Usage
from ticdc_consumer.protocols import PROTOCOLS

PATIENCE = 15.0
"""Seconds that TiCDC has to answer."""
_LONGEST = 16 << 20
_NAME = "[A-Za-z0-9._-]+"
_NOT_TICDC = "(?!__consumer_offsets$|__transaction_state$|_schemas$)"
"""Topics of Kafka itself and of a schema registry, which a pattern without a prefix would match."""
_EXTENSION = "enable-tidb-extension"
_TABLE_IDS = "sink.cloud-storage-config.use-table-id-as-path"
Config = of_kafka.ChangefeedConfig | of_storage.StorageConfig


@dataclass(frozen=True, slots=True)
class Certificates:
    """Files for TLS to TiCDC, None for those not needed."""

    ca: str | None = None
    cert: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Carried:
    """`settings` of the consumer by dotted names; `secrets` are the environment's variables that
    must be set; `notes` name what is not carried over, and what to do."""

    changefeed: str
    settings: Mapping[str, Any]
    security: Mapping[str, Any]
    """Settings of [kafka] that need files or secrets, which need not be on this machine."""
    secrets: tuple[str, ...]
    notes: tuple[str, ...]


def read_description(source: str, certificates: Certificates) -> DescribedChangefeed:
    """Reads the description from a file or from TiCDC's Open API. Raises `Usage`."""
    is_url = re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", source) is not None
    try:
        text = _asked(source, certificates) if is_url else _read(source)
        return DescribedChangefeed.parse(text)
    except ConfigError as error:
        raise Usage(f"--from-changefeed: {error}") from None


def _read(source: str) -> str:
    try:
        return Path(source).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise Usage(f"cannot read {source}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Usage(f"{source} is not UTF-8 text") from None


def _asked(url: str, certificates: Certificates) -> str:
    parts = split("--from-changefeed", url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise Usage(
            "--from-changefeed takes a file, or TiCDC's address without a user, such as "
            "http://cdc:8300/api/v2/changefeeds/orders"
        )
    where = f"TiCDC at {parts.netloc}"
    try:
        context = ssl.create_default_context(cafile=certificates.ca)
        if certificates.cert is not None:
            context.load_cert_chain(certificates.cert, certificates.key)
    except OSError as error:  # also ssl.SSLError
        raise Usage(f"cannot use --ca, --cert or --key: {error.strerror or error}") from None
    try:
        request = Request(url, headers={"Accept": "application/json"})
        with urlopen(request, timeout=PATIENCE, context=context) as answer:
            body: bytes = answer.read(_LONGEST + 1)
    except HTTPError as error:
        raise Usage(
            f"{where} answers {error.code}: is the id after /api/v2/changefeeds/ right, and the "
            "keyspace or namespace, ?keyspace=NAME?"
        ) from None
    except (URLError, OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise Usage(f"{where} does not answer: {reason}") from None
    if not body.lstrip().startswith(b"{"):
        raise Usage(
            f"{where} does not return a changefeed: the address must end with /changefeeds/ID"
        )
    if len(body) > _LONGEST:
        raise Usage(f"{where} returns more than {_LONGEST >> 20} MiB, which no changefeed has")
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise Usage(f"{where} returns text that is not UTF-8") from None


def carried(described: DescribedChangefeed, sink_uri: str | None, name: str) -> Carried:
    """Returns the consumer's settings; `name` replaces a missing changefeed name. Raises `Usage`,
    which never shows the sink URI."""
    uri = sink_uri or described.sink_uri
    if not uri:
        raise Usage(
            "a changefeed's TOML file has no sink URI: give --sink-uri, as it was given to "
            "`cdc cli changefeed create`"
        )
    try:
        return _Carrying(described, uri, described.name or name).all()
    except ConfigError as error:
        raise Usage(f"--from-changefeed: {error}") from None


class _Carrying:
    """Carries over one changefeed, setting by setting."""

    def __init__(self, described: DescribedChangefeed, uri: str, name: str) -> None:
        self._uri, self._name, self._start_ts = uri, name, described.start_ts
        scheme, _, self._in_uri = uri_parts(uri)
        self._in_file = dict(described.settings)
        self._of_kafka = scheme.startswith("kafka")
        self._access = Access()
        self._security = Access()
        self._notes: list[str] = []
        self._config = self._parsed()
        protocol = self._config.protocol
        self._protocol = PROTOCOLS[protocol]

    def _parsed(self) -> Config:
        """Parses the configuration as the newest TiCDC does: the changefeed's own TiCDC has
        accepted it. Settings unknown here are left out and noted."""
        known = known_settings if self._of_kafka else of_storage
        unknown = known.not_known(self._in_uri, self._in_file)
        self._notes += [
            f"{name}: its effect on messages is not known; look it up in TiCDC's documentation"
            for name in unknown
            if name != _TABLE_IDS
        ]
        in_file = {path: value for path, value in self._in_file.items() if path not in unknown}
        uri = _without(self._uri, unknown)
        if self._of_kafka:
            return of_kafka.ChangefeedConfig.parse(uri, in_file, UNRELEASED, new_architecture=True)
        return of_storage.StorageConfig.parse(uri, in_file, UNRELEASED, new_architecture=True)

    def all(self) -> Carried:
        settings = self._access.settings
        settings["changefeed"] = self._name
        settings["protocol"] = self._config.protocol
        if isinstance(self._config, of_kafka.ChangefeedConfig):
            self._kafka(self._config)
        else:
            self._storage(self._config)
        self._tables()
        if not self._protocol.rows_in_utc:
            settings["source.time_zone"] = "UTC"
            self._notes.append(
                "time zone: a changefeed does not contain it; set [source] time_zone to the --tz "
                "of TiCDC's server, or its machine's time zone, unless it is UTC"
            )
        if self._start_ts is not None:
            self._notes.append(
                f"start-ts {self._start_ts}: changes up to it are not sent; run `ticdc-consumer "
                "load`, or give run --from-ts with the ts of a snapshot that the target holds"
            )
        return Carried(
            self._name,
            settings,
            self._security.settings,
            tuple(self._access.secrets + self._security.secrets),
            tuple(self._notes + self._access.notes + self._security.notes),
        )

    def _kafka(self, config: of_kafka.ChangefeedConfig) -> None:
        settings = self._access.settings
        settings["kafka.topics"] = self._topics(config)
        settings["kafka.bootstrap.servers"] = brokers_of(self._uri)
        self._security = kafka_access(self._in_file, self._in_uri)
        if self._protocol.asks_registry and config.schema_registry:
            registry_of(config.schema_registry, self._access)
        for name in ("compression", "encoding_format", "claim_check_raw_value"):
            if (value := getattr(config, name)) not in ("none", "json", False):
                settings[f"source.{name}"] = value
        match config.large_message_handle_option:
            case "claim-check":
                storage = config.claim_check_storage_uri
                prefix = prefix_of("claim-check-storage-uri", storage, self._access)
                settings["source.claim_check"] = prefix
            case "handle-key-only":
                self._notes.append(
                    "large-message-handle-option = handle-key-only: large rows come without their "
                    "values; set [source] upstream to the TiDB, from which a run then reads them"
                )
        if not config.sends_resolved:
            self._require({_EXTENSION: "true", **self._watermark()}, "resolved ts")
        if not config.output_old_value and (needs := self._protocol.needs_for_old_rows):
            self._notes.append(
                f"output-old-value = false: UPDATEs come without their old rows; set {needs} in "
                "the changefeed's file"
            )
        if config.column_selectors:
            self._notes.append(
                "sink.column-selectors: TiCDC applies them; the target's tables must have only "
                "the selected columns"
            )

    def _watermark(self) -> dict[str, str]:
        name = "avro-enable-watermark"
        return {name: "true"} if name in self._protocol.needs_for_marks else {}

    def _topics(self, config: of_kafka.ChangefeedConfig) -> list[str]:
        """The default topic, to which every changefeed sends, and those of dispatchers."""
        expressions = [config.topic, *(each.topic for each in config.dispatchers if each.topic)]
        topics = list(dict.fromkeys(map(_topic, expressions)))
        for pattern in (topic for topic in topics if topic.startswith("^")):
            self._notes.append(
                f"dispatchers: the pattern {pattern} fits every topic of this form; narrow it in "
                "[kafka] topics if other programs have such topics"
            )
        return topics

    def _storage(self, config: of_storage.StorageConfig) -> None:
        settings, of_file = self._access.settings, self._in_file
        settings["storage.url"] = prefix_of("the sink URI", self._uri, self._access)
        settings["storage.date_separator"] = config.date_separator
        if config.terminator != "\r\n":
            settings["storage.terminator"] = config.terminator
        if of_file.get(_TABLE_IDS):
            settings["storage.table_id_paths"] = True
        if isinstance(config.format_options, csv.Options):
            own = {name: of_file.get(f"sink.csv.{name}") for name in CSV_SETTINGS}
            csv_settings = {name: value for name, value in own.items() if value is not None}
            if not csv_settings.get("include-commit-ts"):
                self._require_in_file("[sink.csv]", "include-commit-ts", "commit ts")
            settings["storage.csv"] = csv_settings | {"include-commit-ts": True}
            if config.column_selectors:
                settings["storage.column_selectors"] = of_file["sink.column-selectors"]
        elif not config.format_options.enable_tidb_extension:
            self._require({_EXTENSION: "true"}, "commit ts")

    def _tables(self) -> None:
        """Carries over filter and names. Messages carry the routed names; TiCDC's filter applies to
        the upstream's."""
        config, settings = self._config, self._access.settings
        settings["tables.case_sensitive"] = config.case_sensitive
        rules = list(config.rules) or ["*.*"]
        if any(each.target_schema or each.target_table for each in config.dispatchers):
            settings["tables.filter"] = ["*.*"]
            self._notes.append(
                "target-schema and target-table of dispatchers: messages carry the names that "
                f"TiCDC routes to, and [tables] filter matches those; {', '.join(rules)} matches "
                "the upstream's names, and is left to TiCDC"
            )
        else:
            settings["tables.filter"] = rules
        if "case-sensitive" not in self._in_file:
            self._notes.append(
                "case-sensitive: it is not set, and TiCDC before 6.5.6, 7.1.3 and 7.5 has true; "
                "set [tables] case_sensitive if yours is older"
            )
        if config.event_filters or config.ignore_txn_start_ts:
            self._notes.append(
                "filter.event-filters and ignore-txn-start-ts: TiCDC does not send the events "
                "that they leave out; the target lacks their changes, and `verify` reports the "
                "difference"
            )
        if config.force_replicate:
            self._notes.append(
                "force-replicate: tables without a key are sent; name them in [tables] keys or "
                "at_least_once"
            )

    def _require(self, parameters: Mapping[str, str], what: str) -> None:
        """Notes the commands that change parameters of the sink URI."""
        needed = " and ".join(f"{name}={value}" for name, value in parameters.items())
        changed = shlex.quote(changed_uri(self._uri, parameters))
        hint = f"; write your values for {MASK}" if MASK in changed else ""
        self._commands(f"{needed} in its sink URI{hint}", what, f"--sink-uri={changed}")

    def _require_in_file(self, table: str, name: str, what: str) -> None:
        """Notes the commands that change the changefeed's file."""
        self._commands(f"{name} = true in {table} of its FILE", what, "--config=FILE")

    def _commands(self, needed: str, what: str, change: str) -> None:
        name = shlex.quote(f"--changefeed-id={self._name}")
        self._notes.append(
            f"{what}: a run stops without it. The changefeed needs {needed}. Messages that were "
            "sent before do not change: send to a new topic or folder, and load after the "
            f"resume:\n      cdc cli changefeed pause {name}\n      cdc cli changefeed update "
            f"{name} {change}\n      cdc cli changefeed resume {name}"
        )


def _topic(expression: str) -> str:
    """The topic, or a pattern for the topics of a topic expression."""
    if "{" not in expression:
        return expression
    parts = re.split(r"\{(?:schema|table)\}", expression)
    start = "" if parts[0] else _NOT_TICDC
    return f"^{start}{_NAME.join(map(re.escape, parts))}$"


def _without(uri: str, unknown: Collection[str]) -> str:
    """The URI without these parameters."""
    head, mark, query = uri.partition("?")
    known = [
        pair for pair in query.split("&") if unquote_plus(pair.partition("=")[0]) not in unknown
    ]
    return f"{head}{mark}{'&'.join(known)}"
