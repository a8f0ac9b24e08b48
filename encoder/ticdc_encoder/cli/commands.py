"""The command line of the encoder. Exit 0: done. 1: brokers or a registry cannot be reached.
2: wrong usage. 3: a message that cannot be read."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import IO, Any

from ticdc_encoder.cli.decode import json_line, lines
from ticdc_encoder.cli.options import described, parse_options
from ticdc_encoder.cli.output import (
    CLOSED,
    INTERRUPTED,
    OutputClosed,
    OutputError,
    standard_output,
)
from ticdc_encoder.errors import ConfigError, DefinitionError, TicdcError
from ticdc_encoder.event import Table
from ticdc_encoder.formats import FORMATS, csv
from ticdc_encoder.formats.registry import RegistryError
from ticdc_encoder.kafka.records import Located, records_of_lines
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.storage.schema_file import parse_schema_file

_EXAMPLES = """examples:
  ticdc-encoder decode canal-json messages.jsonl | jq 'select(.table == "shop.orders")'
  kcat -b localhost:9092 -t orders -C -e -J | ticdc-encoder decode canal-json -
  ticdc-encoder decode open-protocol --kafka orders --bootstrap localhost:9092 --follow
  ticdc-encoder decode open-protocol value.bin --key key.bin
  ticdc-encoder decode avro --kafka orders --bootstrap localhost:9092 \\
      -o schema-registry=http://localhost:8081
  ticdc-encoder decode csv CDC00001.csv --table schema_442349361847468033_1234567890.json \\
      -o include-commit-ts=true -o delimiter=';'

FILE holds one message per line, as a JSON protocol's values are and as the cloud storage sink
writes canal-json. A line may also be a whole record: {"topic": ..., "partition": ..., "offset":
..., "key": ..., "value": ...} with key and value in base64, or what `kcat -J` prints. With --key,
FILE is the value of one record and KEY's file its key, byte by byte. csv is a data file of the
cloud storage sink; --table gives its columns, by its schema file or a CREATE TABLE statement.
"""

_LONGEST_NUMBER = 18


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    command_line = parser()
    arguments, rest = command_line.parse_known_args(argv)
    if len(rest) == 1 and arguments.file is None and not rest[0].startswith("-"):
        arguments.file = rest[0]  # behind options, where argparse does not look for it
    elif rest:
        command_line.error(f"unrecognized arguments: {' '.join(rest)}")
    if sys.stdout is None:
        return 1  # it was closed
    failure: TicdcError | None
    try:
        with standard_output():
            failure = _print(arguments)
    except OutputError as error:
        failure = error
    except OutputClosed:
        return CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    if failure is None:
        return 0
    print(f"ticdc-encoder: {failure}", file=sys.stderr)
    return _exit_code(failure)


def _print(arguments: argparse.Namespace) -> TicdcError | None:
    """Writes the events up to the first that cannot be decoded; returns its error. Raises OSError
    if they cannot be written."""
    failure = None
    try:
        for line in _decoded(arguments):
            sys.stdout.buffer.write(line.encode() + b"\n")
            if arguments.follow:
                sys.stdout.buffer.flush()
    except TicdcError as error:
        failure = error
    sys.stdout.buffer.flush()
    return failure


def _exit_code(error: TicdcError) -> int:
    if isinstance(error, ConfigError | DefinitionError):
        return 2
    return 1 if isinstance(error, RegistryError) else error.exit_code


def _decoded(arguments: argparse.Namespace) -> Iterator[str]:
    if (arguments.file is None) == (arguments.kafka is None):
        raise ConfigError("name what to decode: either FILE or --kafka TOPIC")
    if (arguments.file, arguments.key, arguments.table).count("-") > 1:
        raise ConfigError("standard input is one file, not two")
    return islice(_READERS.get(arguments.protocol, _messages)(arguments), arguments.count)


def _csv(arguments: argparse.Namespace) -> Iterator[str]:
    if arguments.kafka or arguments.key or not arguments.table:
        raise ConfigError("csv is decoded from a FILE, with --table")
    options = parse_options(csv.Options, arguments.option, require_commit_ts=False)
    data, table = _bytes(arguments.file), _table(arguments.table)
    try:
        if not table.schema:
            table = replace(table, schema=csv.schema_of(data, options))
        changes = csv.decode(data, table, options)
    except TicdcError as error:
        error.add_note(f"in {arguments.file}")
        raise
    return map(json_line, changes)


def _table(name: str) -> Table:
    content = _bytes(name)
    if not content.lstrip().startswith(b"{"):
        return parse_create_table(content.decode("utf-8", "replace"), "")
    table = parse_schema_file(None, content).table
    if table is None:
        raise ConfigError(f"{name} has no columns")
    return table


def _messages(arguments: argparse.Namespace) -> Iterator[str]:
    options = parse_options(
        FORMATS[arguments.protocol].Options, arguments.option, require_commit_ts=False
    )
    return lines(arguments.protocol, options, _records(arguments))


_READERS = {"csv": _csv}
"""Readers of a protocol's events other than `_messages`."""


def _records(arguments: argparse.Namespace) -> Iterator[Located]:
    if arguments.kafka:
        from ticdc_encoder.kafka.consume import records_of_topic

        config = dict(_pair(text) for text in arguments.setting)
        if arguments.bootstrap:
            config["bootstrap.servers"] = arguments.bootstrap
        if "bootstrap.servers" not in config:
            raise ConfigError("--kafka needs --bootstrap HOST:PORT")
        yield from records_of_topic(
            arguments.kafka,
            config,
            partition=arguments.partition,
            offset=arguments.offset,
            follow=arguments.follow,
        )
    elif arguments.key:
        yield Located(_bytes(arguments.key), _bytes(arguments.file), arguments.file)
    else:
        name = "standard input" if arguments.file == "-" else arguments.file
        with _opened(arguments.file) as file:
            try:
                yield from records_of_lines(file, name)
            except OSError as error:
                raise _unreadable(name, error) from error


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigError(f"-X {key}: not KEY=VALUE")
    return key, value


def _bytes(name: str) -> bytes:
    with _opened(name) as file:
        try:
            return file.read()
        except OSError as error:
            raise _unreadable(name, error) from error


def _opened(name: str) -> IO[bytes]:
    if name == "-":
        if sys.stdin is None:
            raise ConfigError("standard input is closed")
        return sys.stdin.buffer
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise _unreadable(name, error) from error
    except ValueError as error:  # a NUL
        raise ConfigError(f"{name!r} is not the name of a file") from error


def _unreadable(name: str, error: OSError) -> ConfigError:
    return ConfigError(f"{name} cannot be read: {error.strerror}")


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="ticdc-encoder",
        description="TiCDC's messages, for people.",
        epilog="exit codes: 0 done; 1 brokers or a schema registry cannot be reached; 2 wrong usage"
        " or options; 3 a message that cannot be read.",
    )
    parser.add_argument("--version", action="version", version=version("ticdc-consumer"))
    _add_decode(parser.add_subparsers(required=True, metavar="COMMAND"))
    return parser


def _add_decode(commands: Any) -> None:
    decode = commands.add_parser(
        "decode",
        help="print a topic or a file as lines of JSON",
        description="Prints the events of a topic or a file, each as a line of JSON.",
        epilog=f"{_EXAMPLES}\noptions of the protocols (-o), named as TiCDC's settings are:\n"
        + "\n".join(_options_help()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    decode.add_argument("protocol", choices=[*sorted(FORMATS), *_READERS], metavar="PROTOCOL")
    decode.add_argument("file", nargs="?", metavar="FILE", help="or - for standard input")
    add: Callable[..., object] = decode.add_argument
    add("--kafka", metavar="TOPIC", help="a topic instead of a file, all that it holds")
    add("--bootstrap", metavar="HOST:PORT", help="the topic's brokers")
    add(
        "-X",
        dest="setting",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of librdkafka, such as security.protocol=SASL_SSL; may be repeated",
    )
    add("--partition", type=_number, metavar="N", help="only this partition of the topic")
    add("--offset", type=_number, metavar="N", help="from this offset on")
    add("--follow", action="store_true", help="continue with the topic's messages as they arrive")
    add("--count", type=_number, metavar="N", help="no more than N events")
    add(
        "-o",
        dest="option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of the protocol, such as compression=lz4; may be repeated",
    )
    add("--key", metavar="FILE", help="the key of the one record whose value is in FILE")
    add("--table", metavar="FILE", help="csv: the schema file, or a CREATE TABLE statement")


def _options_help() -> Iterator[str]:
    formats: dict[str, Callable[..., object]] = {n: f.Options for n, f in sorted(FORMATS.items())}
    for protocol, options in {**formats, "csv": csv.Options}.items():
        yield f"  {protocol}"
        yield from (f"    {name}={values}" for name, values in described(options).items())


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > _LONGEST_NUMBER:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return int(text)
