"""The commands' arguments and their help."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from ticdc_consumer.cli.argument_types import count, moment, number, port, table, timestamp, until
from ticdc_consumer.cli.logs import FORMATTERS, LEVELS
from ticdc_consumer.config.suggesting import did_you_mean

EXAMPLES = {
    "init": """examples:
  ticdc-consumer init orders.toml
  ticdc-consumer init orders.toml --brokers localhost:9092 --topics orders --protocol canal-json \\
    --target postgresql://app@localhost/shop
  ticdc-consumer init orders.toml --from-changefeed http://cdc:8300/api/v2/changefeeds/orders
  ticdc-consumer init orders.toml --from-changefeed changefeed.toml \\
    --sink-uri 'kafka://kafka:9092/orders?protocol=simple'
""",
    "run": """examples:
  ticdc-consumer run orders.toml
  ticdc-consumer run orders.toml --until caught-up --set 'kafka.topics=orders,^shop_.*'
  ticdc-consumer run orders.toml --from-ts 429918007904436226     # the target holds a snapshot
  ticdc-consumer run orders.toml --load                          # loads the tables first
  ticdc-consumer run orders.toml --ddl-done 429918007904436300    # after you made its change
  ticdc-consumer run orders.toml --ddl-run 429918007904436300:2 instead.sql
  ticdc-consumer run orders.toml --log-format json --log-level warning
""",
    "load": """examples:
  ticdc-consumer load orders.toml                            # as of now; then: run orders.toml
  ticdc-consumer load orders.toml --at 429918007904436226    # as of that timestamp
  ticdc-consumer load orders.toml --replace                  # delete existing rows first
  ticdc-consumer load orders.toml --table shop.orders        # that table again, while run continues
""",
    "check": "examples:\n  ticdc-consumer check orders.toml\n"
    "  ticdc-consumer check orders.toml --json | jq '.findings[] | select(.level != \"ok\")'",
    "plan": "examples:\n  ticdc-consumer plan orders.toml\n"
    "  ticdc-consumer plan orders.toml --until 429918007904436226 --sql",
    "status": "examples:\n  ticdc-consumer status orders.toml\n"
    "  ticdc-consumer status orders.toml --json | jq .lag_seconds",
    "why": "examples:\n  ticdc-consumer why orders.toml\n"
    "  ticdc-consumer why orders.toml --json | jq .cause",
    "verify": "examples:\n  ticdc-consumer verify orders.toml\n"
    "  ticdc-consumer verify orders.toml --json --show-values | jq .tables\n"
    "  ticdc-consumer verify orders.toml --repair-sql repair.sql\n"
    "  ticdc-consumer verify orders.toml --topics  # compare with a replay of the topics",
    "list": "examples:\n  ticdc-consumer list orders.toml\n"
    "  ticdc-consumer list orders.toml --json | jq '.[].changefeed'",
    "release": "examples:\n  ticdc-consumer release orders.toml shop.orders\n"
    "  ticdc-consumer release orders.toml shop.orders --load  # from the upstream, not its log",
    "forget": "examples:\n  ticdc-consumer forget orders.toml\n"
    "  ticdc-consumer forget orders.toml --yes --json",
    "export": "example:\n  ticdc-consumer export orders.toml checkpoint.json",
    "import": "example:\n  ticdc-consumer import orders.toml checkpoint.json",
    "trace": """examples:
  ticdc-consumer trace orders.toml shop.orders id=5
  ticdc-consumer trace orders.toml shop.order_lines order=7 line=1 --from '2026-11-22 15:00'
  ticdc-consumer trace orders.toml shop.orders id=5 --follow --show-values --json
""",
    "inspect": "examples:\n  ticdc-consumer inspect orders.toml orders 1 1457\n"
    "  ticdc-consumer inspect orders.toml orders 1 1457 --json | jq .error",
    "completion": """examples:
  ticdc-consumer completion bash | tee ~/.local/share/bash-completion/completions/ticdc-consumer
  ticdc-consumer completion zsh | tee ~/.zfunc/_ticdc-consumer    # a folder of your fpath
  ticdc-consumer completion fish | tee ~/.config/fish/completions/ticdc-consumer.fish
""",
    "settings": "examples:\n  ticdc-consumer settings\n  ticdc-consumer settings kafka\n"
    "  ticdc-consumer settings limits --json | jq '.settings[].name'",
    "demo": """examples:
  ticdc-consumer demo
  ticdc-consumer demo --protocol open-protocol --rows 100000
  ticdc-consumer demo --target postgresql+psycopg://app@localhost/empty
  ticdc-consumer demo --page
""",
}

NO_COMMANDS = {
    "end": "there is no command end: ticdc-consumer forget CONFIG ends a changefeed",
    "rewind": "a target cannot go back: neither it nor the log holds the rows of an earlier R. To "
    "start again from another timestamp: ticdc-consumer forget CONFIG, then ticdc-consumer load "
    "CONFIG --replace --at TS; or restore a backup of the target, which contains its own R",
}
"""Commands that users look for, and why they do not exist."""

DEMO_PROTOCOLS = ("canal-json", "open-protocol", "simple", "debezium")
"""Protocols whose entries have a `demo`; other commands do not import the entries."""

COMPLETED_SHELLS = ("bash", "zsh", "fish")

SETTINGS = """\
Settings are in CONFIG. Each can also be given as --set kafka.topics=a,b or TICDC_KAFKA_TOPICS=a,b.
`ticdc-consumer settings` lists them with type, default and allowed values.
"""


class Parser(argparse.ArgumentParser):
    """Suggests names for a misspelt command, option or value."""

    def error(self, message: str) -> NoReturn:
        wrong = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if wrong is not None and wrong[1] in NO_COMMANDS:
            message = NO_COMMANDS[wrong[1]]
        elif wrong is not None:
            message += did_you_mean(wrong[1], re.findall(r"[\w-]+", wrong[2]))
        super().error(message)

    def refuse_unknown(self, unknown: Sequence[str]) -> None:
        """Ends with the usage if there are arguments that the command does not have."""
        if unknown:
            options = re.findall(r"--[\w-]+", self.format_help())
            near = did_you_mean(unknown[0].partition("=")[0], options, cutoff=0.6)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{near}")


class ShowVersion(argparse.Action):
    """Prints the version of the installed distribution, looked up only then."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        text = "show program's version number and exit"
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, help=text)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from importlib.metadata import version

        print(version("ticdc-consumer"))
        parser.exit()


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parses a command line. Exits with 2 and the usage for a wrong one."""
    whole = parser()
    arguments, unknown = whole.parse_known_args(argv)
    parsers_of(whole)[arguments.command].refuse_unknown(unknown)
    return arguments


def parsers_of(whole: Parser) -> dict[str, Parser]:
    """The parser of each command by its name."""
    actions = [each for each in whole._actions if isinstance(each, argparse._SubParsersAction)]
    return dict(actions[0].choices)


def parser() -> Parser:
    """The parser of the whole command line; `command` is the name of the command."""
    parser = Parser(
        prog="ticdc-consumer",
        description="Applies the changes that TiCDC writes to Kafka or to storage files to a "
        "database, exactly.",
        epilog="exit codes: 0 done; 1 broker, target or Spark unreachable; 2 wrong arguments or "
        "settings; 3 an operator must decide; 4 a newer consumer took over; 5 `verify` or "
        "`trace` found a difference. TICDC_DEBUG=1 shows tracebacks.",
    )
    parser.add_argument("--version", action=ShowVersion)
    commands = parser.add_subparsers(
        required=True, metavar="COMMAND", dest="command", parser_class=Parser
    )
    _demo(
        _command(
            commands,
            "demo",
            "run the consumer against a built-in Kafka on this machine, and check the result",
        )
    )
    _init(
        _command(commands, "init", "write a configuration from four answers, or from a changefeed")
    )
    _run(_command(commands, "run", "apply the topics to the target"))
    _load(_command(commands, "load", "copy the tables from the upstream, as of one timestamp"))
    _check(_command(commands, "check", "check every precondition of a run; writes nothing"))
    _plan(_command(commands, "plan", "show what the next cuts would do; writes nothing"))
    for name, description in (
        ("status", "show R, the lag, and what the consumer is doing"),
        ("why", "explain the consumer's state in one sentence, and say what to do"),
        ("list", "list the changefeeds that the target knows"),
    ):
        answering = _command(commands, name, description)
        _takes_config(answering)
        _answers(answering)
    _release(
        _command(commands, "release", "resume a quarantined table: apply the changes it missed")
    )
    _forget(_command(commands, "forget", "delete a changefeed's checkpoint, but not its tables"))
    _export(_command(commands, "export", "write a changefeed's checkpoint to a file"))
    _import(_command(commands, "import", "restore a checkpoint from an exported file"))
    _verify(_command(commands, "verify", "compare every row with the upstream at R"))
    _trace(_command(commands, "trace", "show what happened to one row, from the log to the target"))
    _inspect(_command(commands, "inspect", "show one message, decoded as far as possible"))
    _settings(_command(commands, "settings", "list the settings of a configuration"))
    _completion(_command(commands, "completion", "print the completion script of a shell"))
    return parser


def _command(commands: "argparse._SubParsersAction[Parser]", name: str, description: str) -> Parser:
    return commands.add_parser(
        name,
        help=description,
        description=description,
        epilog=EXAMPLES[name],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _demo(demo: Parser) -> None:
    demo.add_argument(
        "--rows",
        type=count,
        default=30_000,
        metavar="N",
        help="approximate number of row changes; default 30000",
    )
    demo.add_argument(
        "--protocol", default="canal-json", choices=DEMO_PROTOCOLS, help="default canal-json"
    )
    demo.add_argument("--target", metavar="URL", help="an empty database instead of a SQLite file")
    demo.add_argument(
        "--seed", type=int, default=1, metavar="N", help="seed of the generated history; default 1"
    )
    demo.add_argument(
        "--page",
        type=port,
        nargs="?",
        const=9464,
        metavar="PORT",
        help="show the consumer's page at http://127.0.0.1:PORT/ (default 9464), and run until "
        "Ctrl-C",
    )


def _init(init: Parser) -> None:
    init.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="changefeed.toml",
        help="file to write; it must not exist; default changefeed.toml",
    )
    init.add_argument(
        "--brokers", metavar="HOST:PORT,...", help="Kafka's brokers; asked for if omitted"
    )
    init.add_argument(
        "--topics", metavar="TOPIC,...", help="topic names or patterns; asked for if omitted"
    )
    init.add_argument(
        "--protocol", metavar="NAME", help="the changefeed's protocol; asked for if omitted"
    )
    init.add_argument(
        "--target", metavar="URL", help="URL of the target database; asked for if omitted"
    )
    init.add_argument(
        "--from-changefeed",
        metavar="FILE|URL",
        help="read everything except the target from the changefeed: its TOML file, the JSON that "
        "`cdc cli changefeed query` prints, or TiCDC's http://cdc:8300/api/v2/changefeeds/ID",
    )
    init.add_argument(
        "--sink-uri",
        metavar="URI",
        help="the changefeed's sink URI, which its TOML file does not contain",
    )
    init.add_argument(
        "--ca", metavar="FILE", help="CA certificates that verify TiCDC's certificate"
    )
    init.add_argument("--cert", metavar="FILE", help="client certificate for TiCDC")
    init.add_argument("--key", metavar="FILE", help="private key of --cert")


def _run(run: Parser) -> None:
    _takes_config(run)
    run.add_argument(
        "--until",
        type=until,
        metavar="caught-up|TS",
        help="stop once the resolved ts that the topics hold now is applied, or at exactly TS; "
        "default: never",
    )
    _from_ts(run, "first start only: the target holds a snapshot of this timestamp (TSO)")
    run.add_argument(
        "--standby",
        action="store_true",
        help="wait while another consumer of the changefeed is alive, instead of taking over",
    )
    run.add_argument(
        "--load",
        action="store_true",
        help="first start only: load the tables from the upstream before applying changes",
    )
    run.add_argument(
        "--ddl-done",
        metavar="TS[:SEQ]",
        help="mark the DDL that stopped the last run as done, after you made its change in the "
        "target",
    )
    run.add_argument(
        "--ddl-run",
        nargs=2,
        metavar=("TS[:SEQ]", "FILE"),
        help="run the SQL in FILE instead of the DDL that stopped the last run",
    )


def _load(load: Parser) -> None:
    _takes_config(load)
    load.add_argument(
        "--at",
        type=timestamp,
        metavar="TS",
        help="load the tables as of this timestamp; default: now",
    )
    load.add_argument(
        "--replace",
        action="store_true",
        help="delete the rows that the tables have before loading them",
    )
    load.add_argument(
        "--table",
        action="append",
        default=[],
        metavar="SCHEMA.TABLE",
        help="load this table again while the changefeed continues; may be repeated",
    )
    load.add_argument(
        "--give-up",
        action="store_true",
        help="with --table: drop the unfinished load, and leave the table in use as it is",
    )


def _release(release: Parser) -> None:
    _takes_config(release)
    release.add_argument(
        "table", metavar="TABLE", help="the table's upstream name, as SCHEMA.TABLE"
    )
    release.add_argument(
        "--load",
        action="store_true",
        help="copy the table's rows from the upstream as of R - 1; for a log that is lost or "
        "unreadable",
    )


def _check(check: Parser) -> None:
    _takes_config(check)
    _from_ts(check, "same as run --from-ts")
    _answers(check)


def _plan(plan: Parser) -> None:
    _takes_config(plan)
    plan.add_argument(
        "--until",
        type=until,
        default="caught-up",
        metavar="caught-up|TS",
        help="same as run --until; default caught-up",
    )
    _from_ts(plan, "same as run --from-ts")
    plan.add_argument(
        "--sql",
        action="store_true",
        help="also print the statements of small cuts, with their values",
    )
    _answers(plan)


def _inspect(inspect: Parser) -> None:
    _takes_config(inspect)
    inspect.add_argument("topic", metavar="TOPIC", help="topic name")
    inspect.add_argument(
        "partition", metavar="PARTITION", type=number, help="partition number, from 0"
    )
    inspect.add_argument("offset", metavar="OFFSET", type=number, help="offset, from 0")
    _answers(inspect)


def _forget(forget: Parser) -> None:
    _takes_config(forget)
    forget.add_argument("--yes", action="store_true", help="do not ask")
    _answers(forget)


def _export(export: Parser) -> None:
    _takes_config(export)
    export.add_argument("file", metavar="FILE", help="file to write; it must not exist")


def _import(import_: Parser) -> None:
    _takes_config(import_)
    import_.add_argument("file", metavar="FILE", help="file that `export` wrote")


def _trace(trace: Parser) -> None:
    _takes_config(trace)
    trace.add_argument(
        "table", metavar="SCHEMA.TABLE", type=table, help="the table's upstream name"
    )
    trace.add_argument("key", metavar="COLUMN=VALUE", nargs="+", help="value of each key column")
    for name, bound in (("from", "first"), ("to", "last")):
        trace.add_argument(
            f"--{name}",
            dest=f"{bound}_ts",
            type=moment,
            metavar="TS|TIME",
            help=f"the {bound} commit_ts, or a UTC time such as 2026-11-22T15:00; default: all",
        )
    trace.add_argument(
        "--follow",
        action="store_true",
        help="read the log twice, to find the other half of each UPDATE that changed the key",
    )
    trace.add_argument(
        "--show-values", action="store_true", help="print all columns, not only the key"
    )
    _answers(trace)


def _verify(verify: Parser) -> None:
    _takes_config(verify)
    _answers(verify)
    verify.add_argument(
        "--table",
        action="append",
        default=[],
        metavar="PATTERN",
        help="only tables that match this filter rule, such as shop.orders; may be repeated",
    )
    verify.add_argument(
        "--show-values", action="store_true", help="print the differing values with their keys"
    )
    verify.add_argument(
        "--metrics-file",
        metavar="FILE",
        help="write the result to a file for node_exporter's textfile collector",
    )
    others = verify.add_mutually_exclusive_group()
    others.add_argument(
        "--topics",
        action="store_true",
        help="compare with the topics, replayed into a temporary SQLite file",
    )
    verify.add_argument(
        "--at",
        type=timestamp,
        metavar="TS",
        help="with --topics: start from the upstream's rows as of TS; default: the log's start",
    )
    others.add_argument(
        "--against",
        metavar="URL|CONFIG",
        help="compare with the target of another changefeed at the same R, without the upstream",
    )
    verify.add_argument(
        "--against-changefeed",
        metavar="NAME",
        help="the other changefeed, if --against is a URL; default: the same name",
    )
    repairing = verify.add_mutually_exclusive_group()
    repairing.add_argument(
        "--repair",
        action="store_true",
        help="repair the rows that differ, while `run` continues, and verify again",
    )
    repairing.add_argument(
        "--repair-sql", metavar="FILE", help="write the SQL that repairs the target to FILE"
    )
    verify.add_argument(
        "--most",
        type=count,
        default=1_000,
        metavar="N",
        help="list at most N differing rows of a table; default 1000",
    )
    verify.add_argument(
        "--sessions", type=count, default=2, metavar="N", help="sessions per side; default 2"
    )


def _settings(settings: Parser) -> None:
    settings.add_argument(
        "name", metavar="NAME", nargs="?", default="", help="a setting or a section; default: all"
    )
    _answers(settings)


def _completion(completion: Parser) -> None:
    completion.add_argument("shell", choices=COMPLETED_SHELLS, help="the shell")


def _from_ts(parser: Parser, text: str) -> None:
    parser.add_argument("--from-ts", type=timestamp, metavar="TS", help=text)


def _answers(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _takes_config(parser: Parser) -> None:
    parser.add_argument("config", metavar="CONFIG", help="the TOML file")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a setting of the file; may be repeated",
    )
    parser.add_argument(
        "--log-level",
        choices=LEVELS,
        default="info",
        help="log this level and above; default info",
    )
    parser.add_argument(
        "--log-format",
        choices=list(FORMATTERS),
        default="text",
        help="text for people, or one JSON object per line; default text",
    )
    parser.epilog = f"{str(parser.epilog).rstrip()}\n\n{SETTINGS}"
