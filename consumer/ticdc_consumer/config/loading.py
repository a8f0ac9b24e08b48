"""TOML, environment and command line -> `Settings`.

Later sources win: the file, then `TICDC_...` variables, then `--set`. A variable's name is the
setting's in capitals with `_` for `.`: `TICDC_TARGET_URL` is `target.url`, and
`TICDC_KAFKA_SASL_PASSWORD` is `sasl.password` of `[kafka]`. A secret may be in a file instead:
`target.url_file`, `target.password_file`, `<setting>_file` for any of `[kafka]` and `[spark]`.
"""

import logging
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import confluent_kafka
import sqlalchemy as sa
from ticdc_encoder.errors import ConfigError

from ticdc_consumer.config import parsers
from ticdc_consumer.config.callbacks import OAUTH, with_functions
from ticdc_consumer.config.declaring import UrlSetting
from ticdc_consumer.config.merging import Merging
from ticdc_consumer.config.options import Settings
from ticdc_consumer.config.protocol_names import entry_named, no_entry, protocol_names
from ticdc_consumer.config.redact import redact, secret_values
from ticdc_consumer.config.routing import Routes
from ticdc_consumer.config.settings import (
    NAMES,
    OTHER_VARIABLES,
    REQUIRED,
    SECTIONS,
    SETTINGS,
    TABLES,
    URLS,
    examples,
    require_known,
    variable,
)
from ticdc_consumer.config.suggesting import did_you_mean, known_settings
from ticdc_consumer.errors import Usage

logger = logging.getLogger(__name__)

Given = Mapping[str, Any]
"""Values from TOML or a text, by dotted name such as `kafka.topics`."""

UTF_8 = "utf-8-sig"
"""Editors on Windows may put a byte order mark before the first character."""

NAMED_BY_USERS = (
    *("hadoop.", "executorEnv.", "yarn.appMasterEnv.", "kubernetes.driverEnv.", "sql.catalog."),
    *("kubernetes.driver.", "kubernetes.executor.", "driver.resource.", "executor.resource."),
)
"""Prefixes of Spark's settings whose remainder is a user-chosen name."""

FORCED = {"enable.auto.commit": "false", "auto.offset.reset": "error"}
"""The position is in the database: Kafka may neither store it nor choose another one."""


def read(
    path: str | Path, sets: Iterable[str] = (), environ: Mapping[str, str] = os.environ
) -> Settings:
    """Implements `Settings.read`."""
    settings: dict[str, Any] = {}
    for layer in (_from_file(Path(path)), _from_environment(environ), _from_texts(sets)):
        _lay_over(settings, layer)
    return of_names(settings)


def parse(text: str) -> Settings:
    """Implements `Settings.parse`."""
    try:
        return of_names(_flatten(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        raise Usage(f"it is not TOML: {error}") from None


def of_names(settings: Given) -> Settings:
    """Implements `Settings.of`."""
    for name in settings:
        require_known(name)
    from_storage = "storage.url" in settings
    for name in REQUIRED:
        if name not in settings and not (from_storage and name.startswith("kafka.")):
            raise Usage(_not_set(name))
    values: dict[str, Any] = {
        option: _read(setting.name, setting.read, settings[setting.name])
        for option, setting in SETTINGS.items()
        if setting.name in settings
    }
    protocol = _entry(values["protocol"])
    if from_storage:
        _require_no_kafka(settings)
        if protocol.files is None:
            names = " or ".join(n for n in protocol_names() if _entry(n).files is not None)
            raise Usage(f"protocol {values['protocol']} is not for files: a storage has {names}")
        values["topics"] = ()
    elif protocol.format is None:
        raise Usage(f"protocol {values['protocol']} is for files, not for Kafka: set storage.url")
    options = Settings(
        **values,
        target_url=_target_url(settings),
        upstream_url=_upstream_url(settings),
        kafka={} if from_storage else _kafka(settings, values["changefeed"]),
        registry=_passed_through(settings, "registry"),
        spark=_spark(settings),
    )
    if options.publish == "staging" and options.apply == "transactions":
        raise Usage('target.publish = "staging" needs target.apply = "net": leave one of them out')
    if options.verify_every is not None and options.upstream_url is None:
        raise Usage("verify.every compares rows with the upstream: set source.upstream, its URL")
    if options.ddl_load_missing and options.upstream_url is None:
        raise Usage("ddl.load_missing reads tables from the upstream: set source.upstream, its URL")
    protocol.check_settings(options)
    if options.quarantine and options.apply != "net":
        raise Usage(
            'on_error.quarantine needs target.apply = "net": with "transactions", part of a cut '
            "may be committed before the bad row is found"
        )
    try:
        Routes(options.route, options.case_sensitive)
    except ConfigError as error:
        raise Usage(f"tables.route: {error}") from error
    try:
        Merging(options.merge, options.case_sensitive)
    except ConfigError as error:
        raise Usage(f"tables.merge: {error}") from error
    return options


@runtime_checkable
class _ProtocolEntry(Protocol):
    """Fields of a protocol's entry that settings need; `WireProtocol` describes each."""

    @property
    def format(self) -> object: ...

    @property
    def files(self) -> object: ...

    def check_settings(self, options: Settings) -> None: ...


def _entry(name: str) -> _ProtocolEntry:
    entry = entry_named(name)
    if not isinstance(entry, _ProtocolEntry):
        raise no_entry(name)
    return entry


def _not_set(name: str) -> str:
    return f"{name} is not set; in the environment it is {variable(name)}"


def _read(name: str, parser: Callable[[Any], Any], value: Any) -> Any:
    try:
        return parser(value)
    except ValueError as error:
        raise Usage(f"{name} {error}") from None


# Sources of settings.


def _from_file(path: Path) -> Given:
    try:
        document = tomllib.loads(path.read_text(encoding=UTF_8))
    except OSError as error:
        raise Usage(f"cannot read the configuration {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Usage(f"{path} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise Usage(f"{path} is not TOML: {error}") from None
    return _flatten(document)


def _flatten(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted names. TOML takes an unquoted `bootstrap.servers` for a table: the result is the same
    as if it were quoted."""
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        name = f"{prefix}{key}"
        if not isinstance(value, dict):
            flat[name] = value
        elif name in TABLES:
            flat[name] = _flatten(value)
        else:
            flat |= _flatten(value, f"{name}.")
    return flat


def _from_environment(environ: Mapping[str, str]) -> Given:
    by_variable = {variable(name): name for name in examples()}
    layer: dict[str, Any] = {}
    for name, value in environ.items():
        if not name.startswith("TICDC_") or name in OTHER_VARIABLES:
            continue
        section, _, rest = name.removeprefix("TICDC_").lower().partition("_")
        if name in by_variable:
            layer[by_variable[name]] = value
        elif section in SECTIONS and rest:
            stem, is_file = re.subn(r"_file$", "", rest)
            layer[f"{section}.{stem.replace('_', '.')}{'_file' * is_file}"] = value
        # Kubernetes sets TICDC_PORT and others like it if a service is called ticdc.
        elif hint := did_you_mean(name, by_variable, cutoff=0.8):
            raise Usage(f"the environment variable {name} is unknown{hint}")
    return layer


def _from_texts(sets: Iterable[str]) -> Given:
    layer: dict[str, Any] = {}
    for text in sets:
        name, equals, value = text.partition("=")
        if not equals:
            raise Usage(f"--set takes key=value, such as kafka.topics=a,b; {name!r} has no =")
        name = name.strip()
        for table in TABLES:
            if name.startswith(f"{table}."):
                layer.setdefault(table, {})[name.removeprefix(f"{table}.")] = value
                break
        else:
            layer[name] = value
    return layer


def _lay_over(settings: dict[str, Any], layer: Given) -> None:
    for name, value in layer.items():
        sibling = name.removesuffix("_file") if name.endswith("_file") else f"{name}_file"
        if sibling in layer:
            raise Usage(f"both {name} and {sibling} are set: leave one out")
        settings.pop(sibling, None)
        if name in TABLES:
            before = {} if isinstance(value, str) else settings.get(name, {})
            value = {**before, **_read(name, parsers.table, value)}
        settings[name] = value


# Options made of several settings.


def _require_no_kafka(settings: Given) -> None:
    for name in settings:
        if name.startswith("kafka."):
            raise Usage(f"both storage.url and {name} are set: leave [kafka] or [storage] out")


def _target_url(settings: Given) -> str:
    url = _url(settings, URLS["target_url"])
    if url is None:
        raise Usage(_not_set(URLS["target_url"].name))
    return url.render_as_string(hide_password=False)


def _upstream_url(settings: Given) -> str | None:
    declared = URLS["upstream_url"]
    url = _url(settings, declared)
    if url is not None and not url.drivername.startswith("mysql"):
        raise Usage(f"{declared.name} is not the URL of a TiDB, such as {declared.example}")
    return None if url is None else url.render_as_string(hide_password=False)


def _url(settings: Given, declared: UrlSetting) -> sa.URL | None:
    name, password_name = declared.name, declared.password
    value = _from_secret_file(settings, name)
    if value is None:
        return None
    text = _read(name, parsers.text, value)
    # SQLAlchemy's own message may quote a part of the URL.
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        hint = f"; write %40 for @ and %3A for : in a name, or set {password_name}"
        raise Usage(
            f"{name} is not a URL such as {declared.example}{hint if '@' in text else ''}"
        ) from None
    if url.host and text.count("@") > 1:
        # The URL would have the rest of a password as host, and messages would show it.
        raise Usage(f"{name} has more than one @: write %40 in a name, or set {password_name}")
    password = _from_secret_file(settings, password_name)
    if password is not None:
        url = url.set(password=_read(password_name, parsers.text, password))
    return url


def _kafka(settings: Given, changefeed: str) -> dict[str, str]:
    kafka = _passed_through(settings, "kafka")
    for name, value in FORCED.items():
        if kafka.setdefault(name, value).lower() != value:
            raise Usage(f"kafka.{name} must be {value}: the position is stored in the target only")
    kafka.setdefault("group.id", changefeed)
    _require_accepted(kafka)
    return kafka


def _require_accepted(kafka: Mapping[str, str]) -> None:
    """Lets librdkafka itself judge its settings; without brokers it connects nowhere."""
    # A client that has the function waits for its first token.
    settings = {name: value for name, value in with_functions(kafka).items() if name != OAUTH}
    try:
        confluent_kafka.Consumer({**settings, "bootstrap.servers": ""}).close()
    except confluent_kafka.KafkaException as error:
        # The message may quote the value, which may be a secret.
        message = error.args[0].str()
        refused = re.search(r'configuration property:? "([^"]+)"', message, re.I)
        if refused is None:
            raise Usage(f"kafka: {redact(message, secret_values(kafka))}") from None
        unknown = message.startswith("No such")
        reason = "is not a setting of librdkafka" if unknown else "has a value librdkafka refuses"
        hint = _did_you_mean("kafka", refused[1], "librdkafka", 0.7) if unknown else ""
        raise Usage(f"kafka.{refused[1]} {reason}{hint}") from None


def _did_you_mean(section: str, name: str, client: str, cutoff: float) -> str:
    """Suggests a setting of the client, or one of ours in the same section."""
    ours = (known for known in NAMES if known.startswith(f"{section}."))
    theirs = (f"{section}.{known}" for known in known_settings(client))
    return did_you_mean(f"{section}.{name}", (*ours, *theirs), cutoff)


def _spark(settings: Given) -> dict[str, str]:
    spark = {
        name if name.startswith("spark.") else f"spark.{name}": value
        for name, value in _passed_through(settings, "spark").items()
    }
    _warn_of_misspelt(spark)
    return spark


def _warn_of_misspelt(spark: Iterable[str]) -> None:
    """Warns of misspelt settings of Spark, which takes any name because extensions have their own:
    one that is almost a name of Spark's own very probably has no effect."""
    known = known_settings("spark")
    for name in (name.removeprefix("spark.") for name in spark):
        if name in known or name.startswith(NAMED_BY_USERS):
            continue
        if hint := _did_you_mean("spark", name, "spark", 0.85):
            logger.warning(
                "spark.%s is not known to be a setting of Spark%s",
                name,
                hint,
                extra={"event": "unknown_setting", "setting": f"spark.{name}"},
            )


def _passed_through(settings: Given, section: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for name in settings:
        if name.startswith(f"{section}.") and name not in NAMES:
            stem = name.removesuffix("_file")
            value = _from_secret_file(settings, stem)
            values[stem.removeprefix(f"{section}.")] = _read(stem, parsers.scalar, value)
    return values


def _from_secret_file(settings: Given, name: str) -> Any:
    """The setting's value, or the content of the file that `<name>_file` names."""
    if f"{name}_file" not in settings:
        return settings.get(name)
    path = Path(_read(f"{name}_file", parsers.text, settings[f"{name}_file"]))
    try:
        return path.read_text(encoding=UTF_8).rstrip("\r\n")
    except OSError as error:
        raise Usage(f"{name}_file: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Usage(f"{name}_file: {path} is not UTF-8 text") from None
