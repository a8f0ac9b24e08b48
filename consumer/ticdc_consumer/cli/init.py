"""`ticdc-consumer init`: turns four answers or a changefeed into a commented configuration."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from ticdc_encoder.errors import TicdcError, visible

from ticdc_consumer import config
from ticdc_consumer.cli.from_changefeed import Carried, Certificates, carried, read_description
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
ASKED = ("brokers", "topics", "protocol", "target")
OF_CHANGEFEED = ("sink_uri", "ca", "cert", "key")


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers that a first configuration needs."""

    changefeed: str
    brokers: str
    topics: tuple[str, ...]
    wire: str
    target: str


def init(arguments: argparse.Namespace) -> str:
    """Writes the file and returns the next steps. Raises `Usage` if the file exists, or if an
    answer is missing and there is no terminal to ask at."""
    path = Path(arguments.file)
    if path.exists():
        raise Usage(f"{path} exists already, and is not overwritten")
    if arguments.from_changefeed is not None:
        return _from_changefeed(path, arguments)
    for name in OF_CHANGEFEED:
        if getattr(arguments, name) is not None:
            raise Usage(f"--{name.replace('_', '-')} goes with --from-changefeed")
    _require_someone_to_ask(arguments, ASKED)
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
        raise Usage(f"these answers do not make a valid configuration: {error}") from error
    _write(path, text)
    return _written(path, url, ())


def _from_changefeed(path: Path, arguments: argparse.Namespace) -> str:
    """Writes the changefeed's settings; returns the next steps and what is still missing."""
    for name in ("topics", "protocol"):
        if getattr(arguments, name) is not None:
            raise Usage(f"--{name} comes from the changefeed: leave it out")
    certificates = Certificates(arguments.ca, arguments.cert, arguments.key)
    described = read_description(arguments.from_changefeed, certificates)
    from_changefeed = carried(described, arguments.sink_uri, path.stem)
    settings = dict(from_changefeed.settings)
    brokers = arguments.brokers or settings.get("kafka.bootstrap.servers")
    if brokers is not None:
        hint = "the sink URI's brokers" if arguments.brokers is None else "--brokers"
        settings["kafka.bootstrap.servers"] = _answer(brokers, hint, "", "", _brokers)
    _require_someone_to_ask(arguments, ("target",))
    question = f"the target's URL, such as {TARGET}"
    target = _answer(arguments.target, "--target", question, "", _target)
    url = sa.make_url(target)
    settings["target.url"] = _without_password(url)
    try:
        # Files and passwords of [kafka] need not be on this machine.
        config.Settings.parse(_document(settings, from_changefeed))
    except TicdcError as error:
        raise Usage(f"this changefeed does not make a valid configuration: {error}") from error
    _write(path, _document(settings | dict(from_changefeed.security), from_changefeed))
    notes = [f"\n  - {note}" for note in from_changefeed.notes]
    return _written(path, url, from_changefeed.secrets) + (
        f"\nnot carried over, or to be reviewed:{''.join(notes)}" if notes else ""
    )


def _written(path: Path, target: sa.URL, secrets: tuple[str, ...]) -> str:
    variables = [*secrets, *(["TICDC_TARGET_PASSWORD"] if target.password is not None else [])]
    where = "they are" if len(variables) > 1 else "it is"
    passwords = f"set {', '.join(variables)} ({where} not in the file); " if variables else ""
    return f"{path} is written; {passwords}next: ticdc-consumer check {path}"


def _require_someone_to_ask(arguments: argparse.Namespace, needed: tuple[str, ...]) -> None:
    """Raises `Usage` with everything missing if there is no terminal to ask at."""
    missing = [f"--{name}" for name in needed if getattr(arguments, name) is None]
    if missing and not sys.stdin.isatty():
        raise Usage(f"there is no terminal to ask at: give {', '.join(missing)}")


def _answer(
    option: str | None, name: str, question: str, default: str, read: Callable[[str], T]
) -> T:
    """The option, or the answer at the terminal, which asks again after a wrong one."""
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
        raise ValueError(f"must be a protocol for Kafka; {name} is for files")
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
        raise ValueError("has a secret among its parameters, which init does not write to a file")
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
    """Returns the file, with the next most common settings as comments."""
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


def _document(settings: Mapping[str, Any], from_changefeed: Carried) -> str:
    """Returns the settings by section, with a commented variable for each secret."""
    sections: dict[str, list[str]] = {"": []}
    for name, value in settings.items():
        section, dot, key = name.partition(".")
        lines = sections.setdefault(section if dot else "", [])
        lines.append(f"{_key(key if dot else section)} = {_toml(value)}")
    for variable in from_changefeed.secrets:
        section = variable.split("_")[1].lower()
        sections.setdefault(section, []).append(f"# the secret is in {variable}")
    head = "# ticdc-consumer check FILE: every precondition, one by one\n"
    if from_changefeed.notes:
        head += "# Not carried over from the changefeed, or to be reviewed:\n"
        lines = [line for note in from_changefeed.notes for line in f"- {note}".split("\n")]
        head += "".join(f"#   {visible(line)}\n" for line in lines)
    blocks = ["\n".join(sections.pop(""))]
    blocks += [f"[{name}]\n" + "\n".join(lines) for name, lines in sections.items()]
    return head + "\n" + "\n\n".join(blocks) + "\n"


def _key(name: str) -> str:
    return name if name.replace("-", "_").isidentifier() and name.isascii() else _toml(name)


def _toml(value: object) -> str:
    """The value in TOML: texts, truth values and lists of them are as in JSON."""
    if isinstance(value, Mapping):
        members = (f"{_key(key)} = {_toml(member)}" for key, member in value.items())
        return f"{{{', '.join(members)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
