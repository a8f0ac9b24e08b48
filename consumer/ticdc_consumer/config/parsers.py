"""Parsers of single settings.

Each takes a value of TOML, or the text of a variable or of the command line, and returns the
option's value. It raises ValueError with the rest of a sentence that begins with the setting's
name.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ticdc_encoder.errors import TicdcError
from ticdc_encoder.filters.column import ColumnSelector
from ticdc_encoder.filters.table import TableFilter, imported
from ticdc_encoder.formats import csv
from ticdc_encoder.tso import compose
from ticdc_encoder.version import Version, version_number

from ticdc_consumer.config.choices import DDL_KINDS, VIEW_KINDS, OnKind, OnUnsupported
from ticdc_consumer.config.protocol_names import NOT_READ, is_protocol, protocol_names
from ticdc_consumer.config.suggesting import did_you_mean
from ticdc_consumer.targets.rules import LOSSY_RULES

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\s:\[\]/]+)):(\d{1,5})")
_BYTES = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}

_MARK = re.compile(r"[^\\\r\n\0A-Za-z0-9.+\x80-\U0010ffff-]")

CSV_SETTINGS = {
    field.name.replace("_", "-"): type(field.default)
    for field in fields(csv.Options)
    if field.name not in ("terminator", "require_commit_ts", "time_zone", "header_has_virtual")
}
"""The settings of `[sink.csv]`, with the types of their values."""
DUMP_SETTINGS = {
    "csv-separator": str,
    "csv-delimiter": str,
    "csv-null-value": str,
    "csv-output-dialect": str,
    "no-header": bool,
}
"""Dumpling's options for CSV, with the types of their values."""
DIALECTS = ("", "default", "snowflake", "redshift", "bigquery")
"""Values of `csv-output-dialect`."""


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a non-empty text")
    return value


def ticdc_version(value: Any) -> Version:
    """A release of TiCDC, such as 8.5.7 or v8.5.4-release.1."""
    try:
        return version_number(text(value))
    except TicdcError:
        raise ValueError("must be a release of TiCDC, such as 8.5.7") from None


def prefix(value: Any) -> str:
    """The URL below which files lie."""
    url = text(value)
    if "?" in url or not url.strip("/"):
        raise ValueError("must be a prefix without parameters, such as s3://bucket/folder")
    return url


def scalar(value: Any) -> str:
    """Returns the value as a text, as librdkafka and Spark write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and value:
        return ",".join(scalar(item) for item in value)
    raise ValueError("must be a text, a number, true or false")


def characters(value: Any) -> str:
    """A text, which may consist of line breaks."""
    if not isinstance(value, str) or not value:
        raise ValueError("must be a non-empty text")
    return value


def names(value: Any) -> tuple[str, ...]:
    """A TOML array of texts, or one text with commas."""
    if isinstance(value, str):
        value = _toml(value) if value.lstrip().startswith("[") else value.split(",")
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError('must be a list of texts, such as ["a", "b"]')
    return tuple(item.strip() for item in value if item.strip())


def lossy_rules(value: Any) -> frozenset[str]:
    """Names from `choices.LOSSY_RULES`, or rules of another distribution's database."""
    rules, known = frozenset(names(value)), LOSSY_RULES
    if rules - known:
        # It takes longer to import than everything else that a command line needs.
        from ticdc_consumer.targets import mapping_rules

        known |= mapping_rules()
    for name in sorted(rules - known):
        raise ValueError(f"{_unknown(name, sorted(known))}{did_you_mean(name, known)}")
    return rules


def _unknown(name: str, known: Iterable[str]) -> str:
    return f"has {name!r}, which is not one of {', '.join(known)}"


def topics(value: Any) -> tuple[str, ...]:
    topics = names(value)
    if not topics:
        raise ValueError("must name at least one topic")
    for topic in topics:
        if topic.startswith("^"):
            _require_pattern(topic)
        elif not _TOPIC.fullmatch(topic):
            raise ValueError(f"has {topic!r}, which is not a valid topic name")
    return topics


def _require_pattern(topic: str) -> None:
    try:
        re.compile(topic)
    except re.error as error:
        raise ValueError(f"has the pattern {topic!r}: {error}") from None


def table(value: Any) -> dict[str, Any]:
    """A TOML table, or the text of an inline one."""
    if isinstance(value, str):
        value = _toml(value)
    if not isinstance(value, Mapping):
        raise ValueError('must be a table, such as {"shop.orders" = ...}')  # noqa: TRY004
    return dict(value)


def mapping(read: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """A parser of a table whose values `read` reads."""

    def read_mapping(value: Any) -> dict[str, Any]:
        result = {}
        for key, item in table(value).items():
            try:
                result[key] = read(item)
            except ValueError as error:
                raise ValueError(f"of {key!r} {error}") from None
        return result

    return read_mapping


def _toml(value: str) -> Any:
    try:
        return tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        raise ValueError("is not a TOML value") from None


def one_of(*allowed: str) -> Callable[[Any], str]:
    def read_choice(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"must be {' or '.join(allowed)}")
        return str(value)

    return read_choice


_on_unsupported = mapping(one_of(*get_args(OnUnsupported)))
_on_kind = mapping(one_of(*get_args(OnKind)))


def ddl_kinds(value: Any) -> dict[str, Any]:
    """Names of `choices.DDL_KINDS`, in any case."""
    choices = _on_kind(value)
    for name, choice in choices.items():
        if name.upper() not in DDL_KINDS:
            hint = did_you_mean(name.upper(), DDL_KINDS)
            raise ValueError(f"{_unknown(name, DDL_KINDS)}{hint}")
        if choice == "if-certain" and name.upper() not in VIEW_KINDS:
            raise ValueError(f"of {name!r} must be stop or skip: if-certain is for views")
    return {name.upper(): choice for name, choice in choices.items()}


def ddl_tables(value: Any) -> dict[str, Any]:
    """Patterns of tables, like those of a filter but without exclusions."""
    choices = _on_unsupported(value)
    for pattern in choices:
        if pattern.lstrip().startswith(("!", "@", "#")):
            raise ValueError(f"has {pattern!r}, which is not a pattern of names, such as shop.*")
        filter_rules([pattern])
    return choices


def protocol(value: Any) -> str:
    """The name of a supported protocol."""
    if isinstance(value, str) and value in NOT_READ:
        raise ValueError(f"{value} {NOT_READ[value]}")
    if isinstance(value, str) and is_protocol(value):
        return value
    return one_of(*sorted(protocol_names()))(value)


def csv_settings(value: Any) -> dict[str, bool | str]:
    """The settings of `[sink.csv]`, under their own names."""
    return _named(value, CSV_SETTINGS)


def column_selectors(value: Any) -> tuple[ColumnSelector, ...]:
    """The changefeed's `[[sink.column-selectors]]`, or their text in TOML."""
    value = _toml(value) if isinstance(value, str) else value
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ValueError('must be a list of tables, such as [{matcher = ["*.*"], columns = ["*"]}]')
    try:
        return tuple(ColumnSelector.parse(entry) for entry in value)
    except TicdcError as error:
        raise ValueError(f"has an invalid entry: {error}") from None


def dump_settings(value: Any) -> dict[str, bool | str]:
    """Returns Dumpling's options for CSV, under their own names. Accepts only options that leave no
    file ambiguous."""
    settings = _named(value, DUMP_SETTINGS)
    for name in ("csv-separator", "csv-delimiter"):
        mark = str(settings.get(name, ","))
        if mark and not _MARK.fullmatch(mark):
            raise ValueError(
                f"{name} must be one ASCII character that occurs in no number and no escape"
            )
    if settings.get("csv-separator", ",") in ("", settings.get("csv-delimiter", '"')):
        raise ValueError("csv-separator must neither be empty nor csv-delimiter")
    null = str(settings.get("csv-null-value", "\\N"))
    if null != "\\N" and settings.get("csv-delimiter") == "":
        raise ValueError("csv-null-value must be \\N where csv-delimiter is empty")
    if settings.get("csv-output-dialect", "") not in DIALECTS:
        raise ValueError(f"csv-output-dialect must be one of {', '.join(DIALECTS[1:])}")
    return settings


def _named(value: Any, known: Mapping[str, type]) -> dict[str, bool | str]:
    settings: dict[str, bool | str] = {}
    for name, item in table(value).items():
        if name not in known:
            raise ValueError(f"{_unknown(name, known)}{did_you_mean(name, known)}")
        if known[name] is bool:
            settings[name] = flag(item)
        elif isinstance(item, str):
            settings[name] = item
        else:
            raise ValueError(f"{name} must be a text")
    return settings


def flag(value: Any) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return str(value).lower() == "true"


def whole_number(value: Any) -> int:
    """An integer, 0 or more."""
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,20}", str(value).replace("_", "")):
        raise ValueError("must be a whole number")
    return int(value)


def count(value: Any) -> int:
    number = whole_number(value)
    if number < 1:
        raise ValueError("must be 1 or more")
    return number


def write_source(value: Any) -> int:
    """A cluster's number. TiDB takes 0 to 15, 0 for writes that are not TiCDC's, and treats more as
    15 (`tidb_cdc_write_source` in sessionctx/variable/sysvar.go, 6.5.0 to 8.5)."""
    number = count(value)
    if number > 15:
        raise ValueError("must be 1 to 15")
    return number


def timestamp(value: Any) -> int:
    """A TSO: milliseconds since 1970 shifted left by 18, plus a counter."""
    number = count(value)
    if not compose(1) <= number < 1 << 64:
        raise ValueError("must be a TiDB timestamp (TSO), such as 429918007904436226")
    return number


def seconds(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError("must be a number of seconds") from None
    if isinstance(value, bool) or not 0 <= number < float("inf"):
        raise ValueError("must be a number of seconds, 0 or more")
    return number


def sign_interval(value: Any) -> float:
    """Seconds, more than a consumer's interval between two signs of life (5)."""
    number = seconds(value)
    if number < 6:
        raise ValueError("must be a number of seconds, 6 or more")
    return number


def duration(value: Any) -> float:
    """Seconds, as a number or as "24h"."""
    match = re.fullmatch(r"\s*(\d{1,9})\s*([smhd]?)\s*", str(value))
    if match is None or isinstance(value, bool):
        raise ValueError('must be a time, such as 3600 or "24h"')
    return float(int(match[1]) * _SECONDS[match[2]])


def interval(value: Any) -> float:
    """Seconds, at least one."""
    seconds = duration(value)
    if seconds < 1:
        raise ValueError("must be at least a second")
    return seconds


def address(value: Any) -> tuple[str, int]:
    """Host and port of "127.0.0.1:9464" or "[::1]:9464"."""
    match = _ADDRESS.fullmatch(str(value).strip())
    if match is None or not 0 < int(match[3]) < 1 << 16:
        raise ValueError('must be an address with a port, such as "127.0.0.1:9464"')
    return match[1] or match[2], int(match[3])


def size(value: Any) -> int:
    """Bytes, as a number or as "256 MiB"."""
    match = re.fullmatch(r"\s*(\d{1,15})\s*([kmg]ib)?\s*", str(value), re.I)
    if isinstance(value, bool) or match is None or int(match[1]) < 1:
        raise ValueError('must be bytes, such as 65536 or "256 MiB"')
    return int(match[1]) * _BYTES[(match[2] or "").lower()]


def time_zone(value: Any) -> str:
    try:
        return ZoneInfo(text(value)).key
    except (ZoneInfoNotFoundError, ValueError, OSError):  # OSError: a folder of zones
        raise ValueError("must be a zone's name, such as UTC or Asia/Shanghai") from None


def filter_rules(value: Any) -> tuple[str, ...]:
    """The rules of TiCDC's table filter. A file of rules is read once, here: its content is part of
    the scope, and the tasks' machines do not have the file."""
    try:
        rules = imported(names(value))
        TableFilter(rules)
    except TicdcError as error:
        raise ValueError(f"has a wrong rule: {error}") from None
    return rules
