"""`ticdc-consumer init`: four questions, and a configuration with comments."""

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from ticdc_encoder.errors import TicdcError

from ticdc_consumer import config
from ticdc_consumer.config import parsers
from ticdc_consumer.config.redact import secret_values
from ticdc_consumer.config.suggesting import did_you_mean
from ticdc_consumer.errors import Usage
from ticdc_consumer.protocols import PROTOCOLS
from ticdc_consumer.targets import DATABASES

T = TypeVar("T")

PROTOCOL = "canal-json"
BROKERS = "localhost:9092"
REGISTRY = "http://localhost:8081"
TARGET = "postgresql+psycopg://user@localhost/shop"
UPSTREAM = "mysql+pymysql://reader@tidb:4000"


@dataclass(frozen=True, slots=True)
class Answers:
    """What a first configuration needs."""

    changefeed: str
    brokers: str
    topics: tuple[str, ...]
    wire: str
    target: str


def init(arguments: argparse.Namespace) -> str:
    """Writes the file, and gives what to do next. Raises `Usage` if it exists, or if an answer is
    missing and there is no terminal to ask at."""
    path = Path(arguments.file)
    if path.exists():
        raise Usage(f"{path} exists already, and is not overwritten")
    _require_someone_to_ask(arguments)
    brokers = _answer(arguments.brokers, "--brokers", "1 of 4  Kafka's brokers", BROKERS, _brokers)
    topics = _answer(
        arguments.topics,
        "--topics",
        "2 of 4  the topics, with commas between them",
        "",
        parsers.topics,
    )
    names = ", ".join(name for name in PROTOCOLS if PROTOCOLS[name].format is not None)
    question = f"3 of 4  the changefeed's protocol: {names}"
    protocol = _answer(arguments.protocol, "--protocol", question, PROTOCOL, _protocol)
    question = f"4 of 4  the target's URL, such as {TARGET}"
    target = _answer(arguments.target, "--target", question, "", _target)
    url = sa.make_url(target)
    answers = Answers(path.stem, brokers, topics, protocol, _without_password(url))
    text = configuration(answers)
    try:
        config.Settings.parse(text)
    except TicdcError as error:
        raise Usage(f"these answers are no valid configuration: {error}") from error
    _write(path, text)
    password = "" if url.password is None else "set TICDC_TARGET_PASSWORD (it is not in the file); "
    return f"{path} is written; {password}next: ticdc-consumer check {path}"


def _require_someone_to_ask(arguments: argparse.Namespace) -> None:
    """Raises `Usage` with all that is missing, where there is no terminal to ask at."""
    needed = ("brokers", "topics", "protocol", "target")
    missing = [f"--{name}" for name in needed if getattr(arguments, name) is None]
    if missing and not sys.stdin.isatty():
        raise Usage(f"there is no terminal to ask at: give {', '.join(missing)}")


def _answer(
    option: str | None, name: str, question: str, default: str, read: Callable[[str], T]
) -> T:
    """The option, or what is answered at the terminal: there a wrong answer is asked again."""
    if option is not None:
        try:
            return read(option)
        except ValueError as error:
            raise Usage(f"{name} {error}") from None
    while True:
        offer = f" [{default}]" if default else ""
        print(f"{question}{offer}: ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise Usage(f"{name} is missing")
        try:
            return read(line.strip() or default)
        except ValueError as error:
            print(f"        it {error}", file=sys.stderr)


def _brokers(text: str) -> str:
    for one in text.split(","):
        parsers.address(one)
    return text


def _protocol(text: str) -> str:
    try:
        name = parsers.protocol(text)
    except ValueError as error:
        raise ValueError(f"{error}{did_you_mean(text, PROTOCOLS)}") from None
    if PROTOCOLS[name].format is None:
        raise ValueError(f"must be a protocol of Kafka; {name} is one of files")
    return name


def _target(text: str) -> str:
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        raise ValueError(f"must be a URL such as {TARGET}") from None
    name = url.get_backend_name()
    if name not in DATABASES:
        raise ValueError(f"names {name}, not {', '.join(DATABASES)}{did_you_mean(name, DATABASES)}")
    if not url.database:
        raise ValueError(f"must name a database, such as {TARGET}")
    if secret_values(dict.fromkeys(url.query, "")):
        raise ValueError("has a secret among its parameters, which belongs into no file of ours")
    return text


def _without_password(url: sa.URL) -> str:
    return url._replace(password=None).render_as_string(hide_password=False)


def _write(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Usage(f"{path} exists already, and is not overwritten") from None
    except OSError as error:
        raise Usage(f"cannot write {path}: {error.strerror}") from None


def configuration(answers: Answers) -> str:
    """The file, with what is most often set beside these answers as comments."""
    protocol = PROTOCOLS[answers.wire]
    needs = protocol.needs_for_marks
    sink = f"the changefeed needs {needs}" if needs else "the changefeed's protocol"
    registry = ""
    if protocol.asks_registry:
        registry = f"""
[registry]
url = {_toml(REGISTRY)}  # the schema registry that the changefeed writes to
"""
    return f"""\
# ticdc-consumer check FILE: every precondition, one by one
# ticdc-consumer run FILE: apply the topics to the target
# ticdc-consumer settings: all settings with their defaults

changefeed = {_toml(answers.changefeed)}  # names the checkpoint in the target
protocol = {_toml(answers.wire)}  # {sink}

[kafka]  # topics, and any setting of librdkafka
topics = {_toml(list(answers.topics))}  # names, or patterns such as "^shop_.*"
"bootstrap.servers" = {_toml(answers.brokers)}
# "security.protocol" = "SASL_SSL"
# "sasl.mechanism" = "PLAIN"
# "sasl.username" = "consumer"
# "sasl.password_file" = "kafka.password"  # or TICDC_KAFKA_SASL_PASSWORD
{registry}
[source]
time_zone = "UTC"  # TiCDC's --tz; if it has none, the time zone of its machine
# upstream = {_toml(UPSTREAM)}  # for load and verify; its password: TICDC_SOURCE_UPSTREAM_PASSWORD

[target]
url = {_toml(answers.target)}
# password_file = "target.password"  # or TICDC_TARGET_PASSWORD

[tables]
filter = ["*.*"]  # TiCDC's filter rules, such as ["shop.*", "!shop.log"]

# [tables.route]
# "shop.*" = "store.{{table}}"  # upstream's shop.orders goes to store.orders

# [ddl]
# on_unsupported = "skip"  # default "stop"; a skipped DDL leaves the target unlike upstream

# [metrics]
# listen = "127.0.0.1:9464"  # /metrics, /healthz and /readyz
"""


def _toml(value: object) -> str:
    """JSON's texts and lists of texts are TOML's, too."""
    return json.dumps(value, ensure_ascii=False)
