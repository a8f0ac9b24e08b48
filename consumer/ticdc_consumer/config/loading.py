"""TOML, environment and command line -> `Options`.

Later sources win: the file, then `TICDC_...` variables, then `--set`. A variable's name is the
setting's in capitals with `_` for `.`: `TICDC_TARGET_URL` is `target.url`, and
`TICDC_KAFKA_SASL_PASSWORD` is `sasl.password` of `[kafka]`. A secret may lie in a file instead:
`target.url_file`, `target.password_file`, `<setting>_file` for any of `[kafka]` and `[spark]`.
"""

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import confluent_kafka
import sqlalchemy as sa
from ticdc_encoder.errors import ConfigError

from ticdc_consumer.config import parsers as setting
from ticdc_consumer.config.options import Options
from ticdc_consumer.config.redact import redact, secret_values
from ticdc_consumer.config.routing import Routes
from ticdc_consumer.config.settings import SETTINGS
from ticdc_consumer.errors import Usage

Settings = Mapping[str, Any]
"""Dotted names, as `kafka.topics`, and what was written for them."""


URL_SETTINGS = {
    "target.url": "SQLAlchemy URL of the database",
    "target.url_file": "file with the URL",
    "target.password": "password for the URL",
    "target.password_file": "file with the password",
    "source.upstream": "SQLAlchemy URL of the TiDB that completes rows of handle-key-only",
    "source.upstream_file": "file with the URL",
    "source.upstream_password": "password for the URL",
    "source.upstream_password_file": "file with the password",
}
MAPPINGS = ("tables.route", "tables.keys", "ddl.kinds", "ddl.tables", "storage.csv")
PASSED_THROUGH = ("kafka", "registry", "spark")
REQUIRED = ("changefeed", "protocol")
REQUIRED_OF_KAFKA = ("kafka.topics", "kafka.bootstrap.servers")

UTF_8 = "utf-8-sig"
"""Windows' editors may put a mark before the first character."""

FORCED = {"enable.auto.commit": "false", "auto.offset.reset": "error"}
"""The position is the database's: Kafka may neither keep it nor choose another one."""


def load(
    path: str | Path, sets: Iterable[str] = (), environ: Mapping[str, str] = os.environ
) -> Options:
    """The options of a file, the environment and `key=value` texts. Raises `Usage`."""
    settings: dict[str, Any] = {}
    for layer in (_from_file(Path(path)), _from_environment(environ), _from_texts(sets)):
        _lay_over(settings, layer)
    return parse(settings)


def parse(settings: Settings) -> Options:
    """The options of dotted settings, for programs that need no file. Raises `Usage`."""
    for name in settings:
        _require_known(name)
    of_storage = "storage.url" in settings
    for name in REQUIRED if of_storage else (*REQUIRED, *REQUIRED_OF_KAFKA):
        if name not in settings:
            raise Usage(f"{name} is not set; in the environment it is {_variable(name)}")
    options: dict[str, Any] = {}
    for name, known in SETTINGS.items():
        if name in settings:
            options[known.option] = _read(name, known.read, settings[name])
    # Its entries are made of settings, which are below them.
    from ticdc_consumer.protocols import PROTOCOLS

    protocol = PROTOCOLS[options["protocol"]]
    if of_storage:
        _require_storage(settings)
        if protocol.files is None:
            names = " or ".join(name for name in PROTOCOLS if PROTOCOLS[name].files is not None)
            raise Usage(f"protocol {options['protocol']} is not one of files: {names} is")
        options["topics"] = ()
    elif protocol.format is None:
        raise Usage(f"protocol {options['protocol']} is one of files: set storage.url")
    found = Options(
        **options,
        target_url=_target_url(settings),
        upstream_url=_upstream_url(settings),
        kafka={} if of_storage else _kafka(settings, options["changefeed"]),
        registry=_passed_through(settings, "registry"),
        spark=_spark(settings),
    )
    protocol.check_settings(found)
    try:
        Routes(found.route, found.case_sensitive)
    except ConfigError as error:
        raise Usage(f"tables.route: {error}") from error
    return found


def _read(name: str, read: Callable[[Any], Any], value: Any) -> Any:
    try:
        return read(value)
    except ValueError as error:
        raise Usage(f"{name} {error}") from None


# Where settings come from.


def _from_file(path: Path) -> Settings:
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
    """Dotted names: an unquoted `bootstrap.servers` is a table to TOML, and the same to us."""
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        name = f"{prefix}{key}"
        if not isinstance(value, dict):
            flat[name] = value
        elif name in MAPPINGS:
            flat[name] = _flatten(value)
        else:
            flat |= _flatten(value, f"{name}.")
    return flat


def _from_environment(environ: Mapping[str, str]) -> Settings:
    by_variable = {_variable(name): name for name in _known()}
    layer: dict[str, Any] = {}
    for variable, value in environ.items():
        if not variable.startswith("TICDC_") or variable == "TICDC_DEBUG":
            continue
        section, _, rest = variable.removeprefix("TICDC_").lower().partition("_")
        if variable in by_variable:
            layer[by_variable[variable]] = value
        elif section in PASSED_THROUGH and rest:
            stem, is_file = re.subn(r"_file$", "", rest)
            layer[f"{section}.{stem.replace('_', '.')}{'_file' * is_file}"] = value
        # Kubernetes sets TICDC_PORT and the like where a service is called ticdc.
        elif near := get_close_matches(variable, by_variable, n=1, cutoff=0.8):
            raise Usage(f"the environment's {variable} is unknown, {near[0]} is meant perhaps")
    return layer


def _from_texts(sets: Iterable[str]) -> Settings:
    layer: dict[str, Any] = {}
    for text in sets:
        name, equals, value = text.partition("=")
        if not equals:
            raise Usage(f"--set takes key=value, as kafka.topics=a,b; there is no = in {name!r}")
        name = name.strip()
        for mapping in MAPPINGS:
            if name.startswith(f"{mapping}."):
                layer.setdefault(mapping, {})[name.removeprefix(f"{mapping}.")] = value
                break
        else:
            layer[name] = value
    return layer


def _lay_over(settings: dict[str, Any], layer: Settings) -> None:
    for name, value in layer.items():
        sibling = name.removesuffix("_file") if name.endswith("_file") else f"{name}_file"
        if sibling in layer:
            raise Usage(f"both {name} and {sibling} are set: leave one out")
        settings.pop(sibling, None)
        if name in MAPPINGS:
            before = {} if isinstance(value, str) else settings.get(name, {})
            value = {**before, **_read(name, setting.table, value)}
        settings[name] = value


# Names.


def _known() -> list[str]:
    return [*SETTINGS, *URL_SETTINGS, "kafka.bootstrap.servers", "registry.url", "spark.master"]


def described() -> dict[str, str]:
    """What each setting is for, by name, for help texts."""
    return {
        **{name: known.help for name, known in SETTINGS.items()},
        **URL_SETTINGS,
        "kafka.*": "librdkafka's settings, as kafka.bootstrap.servers; kafka.*_file: from a file",
        "registry.*": "avro's schema registry: Confluent's client's settings, as registry.url",
        "spark.*": "Spark's settings, as spark.master",
    }


def _variable(name: str) -> str:
    return "TICDC_" + name.upper().replace(".", "_")


def _require_known(name: str) -> None:
    if (
        name in SETTINGS
        or name in URL_SETTINGS
        or name.startswith(("kafka.", "registry.", "spark."))
    ):
        return
    near = get_close_matches(name, _known(), n=1, cutoff=0.5)
    hint = f"; {near[0]} is meant perhaps" if near else ""
    raise Usage(f"there is no setting {name}{hint}")


# Sections that are more than one option each.


def _require_storage(settings: Settings) -> None:
    for name in settings:
        if name.startswith("kafka."):
            raise Usage(f"both storage.url and {name} are set: leave [kafka] or [storage] out")


def _target_url(settings: Settings) -> str:
    url = _url(settings, "target.url", "target.password", "postgresql+psycopg://user@host/database")
    if url is None:
        raise Usage("target.url is not set; in the environment it is TICDC_TARGET_URL")
    return url.render_as_string(hide_password=False)


def _upstream_url(settings: Settings) -> str | None:
    example = "mysql+pymysql://user@host:4000"
    url = _url(settings, "source.upstream", "source.upstream_password", example)
    if url is not None and not url.drivername.startswith("mysql"):
        raise Usage(f"source.upstream is not a TiDB's URL as {example}")
    return None if url is None else url.render_as_string(hide_password=False)


def _url(settings: Settings, name: str, password_name: str, example: str) -> sa.URL | None:
    written = _from_secret_file(settings, name)
    if written is None:
        return None
    text = _read(name, setting.text, written)
    # SQLAlchemy's own message may quote a part of the URL.
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        raise Usage(f"{name} is not a URL as {example}") from None
    if url.host and text.count("@") > 1:
        # The rest of a password would be taken for the host, and be told as such.
        raise Usage(f"{name} has more than one @: write %40 in a name, or set {password_name}")
    password = _from_secret_file(settings, password_name)
    if password is not None:
        url = url.set(password=_read(password_name, setting.text, password))
    return url


def _kafka(settings: Settings, changefeed: str) -> dict[str, str]:
    kafka = _passed_through(settings, "kafka")
    for name, value in FORCED.items():
        if kafka.setdefault(name, value).lower() != value:
            raise Usage(f"kafka.{name} must be {value}: the position is kept in the target alone")
    kafka.setdefault("group.id", changefeed)
    _require_accepted(kafka)
    return kafka


def _require_accepted(kafka: Mapping[str, str]) -> None:
    """Lets librdkafka itself judge its settings; without brokers it connects nowhere."""
    try:
        confluent_kafka.Consumer({**kafka, "bootstrap.servers": ""}).close()
    except confluent_kafka.KafkaException as error:
        # The message may quote the value, which may be a secret.
        said = error.args[0].str()
        named = re.search(r'configuration property:? "([^"]+)"', said, re.I)
        if named is None:
            raise Usage(f"kafka: {redact(said, secret_values(kafka))}") from None
        unknown = said.startswith("No such")
        reason = "is no setting of librdkafka" if unknown else "has a value librdkafka refuses"
        raise Usage(f"kafka.{named[1]} {reason}") from None


def _spark(settings: Settings) -> dict[str, str]:
    return {
        name if name.startswith("spark.") else f"spark.{name}": value
        for name, value in _passed_through(settings, "spark").items()
    }


def _passed_through(settings: Settings, section: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for name in settings:
        if name.startswith(f"{section}.") and name not in SETTINGS:
            stem = name.removesuffix("_file")
            value = _from_secret_file(settings, stem)
            values[stem.removeprefix(f"{section}.")] = _read(stem, setting.scalar, value)
    return values


def _from_secret_file(settings: Settings, name: str) -> Any:
    """The setting's value, or the content of the file that `<name>_file` names."""
    if f"{name}_file" not in settings:
        return settings.get(name)
    path = Path(_read(f"{name}_file", setting.text, settings[f"{name}_file"]))
    try:
        return path.read_text(encoding=UTF_8).rstrip("\r\n")
    except OSError as error:
        raise Usage(f"{name}_file: cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Usage(f"{name}_file: {path} is not UTF-8 text") from None
