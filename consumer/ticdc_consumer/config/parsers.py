"""How the text of one setting is read.

Each function takes what TOML gives, or the text of a variable or of the command line, and raises
ValueError with the rest of a sentence that begins with the setting's name.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ticdc_encoder.errors import TicdcError
from ticdc_encoder.filters.table import TableFilter, imported
from ticdc_encoder.tso import compose

from ticdc_consumer.config.csv import CSV_SETTINGS

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_UNITS = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a text that is not empty")
    return value


def prefix(value: Any) -> str:
    """A URL below which files lie."""
    url = text(value)
    if "?" in url or not url.strip("/"):
        raise ValueError("must be a prefix without parameters, as s3://bucket/folder")
    return url


def scalar(value: Any) -> str:
    """As librdkafka and Spark write it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and value:
        return ",".join(scalar(item) for item in value)
    raise ValueError("must be a text, a number or true or false")


def characters(value: Any) -> str:
    """A text, of line breaks perhaps."""
    if not isinstance(value, str) or not value:
        raise ValueError("must be a text that is not empty")
    return value


def names(value: Any) -> tuple[str, ...]:
    """A TOML array of texts, or texts with commas between them."""
    if isinstance(value, str):
        value = _toml(value) if value.lstrip().startswith("[") else value.split(",")
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError('must be a list of texts, as ["a", "b"]')
    return tuple(item.strip() for item in value if item.strip())


def mapping_rules(value: Any) -> frozenset[str]:
    """Names that `docs/types.md` gives."""
    # Pyarrow comes with them, and takes longer than all else that a command line needs.
    from ticdc_consumer.protocols.exactness import RULES as PROTOCOLS
    from ticdc_consumer.targets import mapping_rules as of_targets

    found, known = frozenset(names(value)), of_targets() | PROTOCOLS
    for name in sorted(found - known):
        raise ValueError(f"has {name!r}, which is none of {', '.join(sorted(known))}")
    return found


def topics(value: Any) -> tuple[str, ...]:
    found = names(value)
    if not found:
        raise ValueError("names no topic")
    for topic in found:
        if topic.startswith("^"):
            _pattern(topic)
        elif not _TOPIC.fullmatch(topic):
            raise ValueError(f"has {topic!r}, which no topic can be called")
    return found


def _pattern(topic: str) -> None:
    try:
        re.compile(topic)
    except re.error as error:
        raise ValueError(f"has the pattern {topic!r}: {error}") from None


def table(value: Any) -> dict[str, Any]:
    """A TOML table, or the text of an inline one."""
    if isinstance(value, str):
        value = _toml(value)
    if not isinstance(value, Mapping):
        raise ValueError('must be a table, as {"shop.orders" = ...}')  # noqa: TRY004
    return dict(value)


def mapping(read: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """A table whose values `read` reads."""

    def read_mapping(value: Any) -> dict[str, Any]:
        found = {}
        for key, item in table(value).items():
            try:
                found[key] = read(item)
            except ValueError as error:
                raise ValueError(f"of {key!r} {error}") from None
        return found

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


def ddl_kinds(value: Any) -> dict[str, Any]:
    """Names of `ddl_policy.KINDS`, in any case."""
    # It comes with pyarrow.
    from ticdc_consumer.ddl.policy import KINDS

    found = mapping(one_of("stop", "skip"))(value)
    for name in found:
        if name.upper() not in KINDS:
            near = get_close_matches(name.upper(), KINDS, n=1, cutoff=0.5)
            hint = f"; {near[0]} is meant perhaps" if near else ""
            raise ValueError(f"has {name!r}, which is none of {', '.join(KINDS)}{hint}")
    return {name.upper(): choice for name, choice in found.items()}


def ddl_tables(value: Any) -> dict[str, Any]:
    """Patterns of tables, as of a filter but without exclusions."""
    found = mapping(one_of("stop", "skip"))(value)
    for pattern in found:
        if pattern.lstrip().startswith(("!", "@", "#")):
            raise ValueError(f"has {pattern!r}, which is no pattern of names, as shop.*")
        filter_rules([pattern])
    return found


def protocol(value: Any) -> str:
    """The name of an entry of `PROTOCOLS`."""
    # Its entries are made of settings, which are below them.
    from ticdc_consumer.protocols import NOT_READ, PROTOCOLS

    if isinstance(value, str) and value in NOT_READ:
        raise ValueError(f"{value} {NOT_READ[value]}")
    if isinstance(value, str) and value in PROTOCOLS:
        return value
    return one_of(*sorted(PROTOCOLS))(value)


def csv_settings(value: Any) -> dict[str, bool | str]:
    """Those of `[sink.csv]`, under their own names."""
    found: dict[str, bool | str] = {}
    for name, written in table(value).items():
        if name not in CSV_SETTINGS:
            raise ValueError(f"has {name!r}, which is none of {', '.join(CSV_SETTINGS)}")
        if CSV_SETTINGS[name] is bool:
            found[name] = flag(written)
        elif isinstance(written, str):
            found[name] = written
        else:
            raise ValueError(f"{name} must be a text")
    return found


def flag(value: Any) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise ValueError("must be true or false")
    return str(value).lower() == "true"


def count(value: Any) -> int:
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,20}", str(value).replace("_", "")):
        raise ValueError("must be a whole number")
    number = int(value)
    if number < 1:
        raise ValueError("must be 1 or more")
    return number


def timestamp(value: Any) -> int:
    """A TSO: milliseconds since 1970 shifted left by 18, plus a counter."""
    number = count(value)
    if not compose(1) <= number < 1 << 64:
        raise ValueError("must be a TiDB timestamp (TSO), as 429918007904436226")
    return number


def seconds(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError("must be a number of seconds") from None
    if isinstance(value, bool) or not 0 <= number < float("inf"):
        raise ValueError("must be a number of seconds, 0 or more")
    return number


def duration(value: Any) -> float:
    """Seconds, as a number or as "24h"."""
    found = re.fullmatch(r"\s*(\d{1,9})\s*([smhd]?)\s*", str(value))
    if found is None or isinstance(value, bool):
        raise ValueError('must be a time, as 3600 or "24h"')
    return float(int(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[found[2]])


def size(value: Any) -> int:
    """Bytes, as a number or as "256 MiB"."""
    found = re.fullmatch(r"\s*(\d{1,15})\s*([kmg]ib)?\s*", str(value), re.I)
    if isinstance(value, bool) or found is None or int(found[1]) < 1:
        raise ValueError('must be bytes, as 65536 or "256 MiB"')
    return int(found[1]) * _UNITS[(found[2] or "").lower()]


def time_zone(value: Any) -> str:
    try:
        return ZoneInfo(text(value)).key
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError("must be a zone's name, as UTC or Asia/Shanghai") from None


def filter_rules(value: Any) -> tuple[str, ...]:
    """Patterns of tables, as TiCDC's filter has them. What a file of them says is taken once: it
    is a part of the scope, and tasks on other machines do not have it."""
    try:
        rules = imported(names(value))
        TableFilter(rules)
    except TicdcError as error:
        raise ValueError(f"has a wrong rule: {error}") from None
    return rules
