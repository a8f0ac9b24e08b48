"""The commands' arguments and their help."""

import argparse
from importlib.metadata import version
from typing import Literal

from ticdc_consumer import config
from ticdc_consumer.protocols import OURS, PROTOCOLS

EXAMPLES = {
    "run": """examples:
  ticdc-consumer run orders.toml
  ticdc-consumer run orders.toml --until caught-up --set 'kafka.topics=orders,^shop_.*'
  ticdc-consumer run orders.toml --from-ts 429918007904436226     # the target holds a snapshot
  ticdc-consumer run orders.toml --load                          # loads what is not loaded yet
  ticdc-consumer run orders.toml --ddl-done 429918007904436300    # you have run that DDL
  ticdc-consumer run orders.toml --ddl-run 429918007904436300:2 instead.sql
""",
    "load": """examples:
  ticdc-consumer load orders.toml                            # as of now; then: run orders.toml
  ticdc-consumer load orders.toml --at 429918007904436226    # as of that timestamp
  ticdc-consumer load orders.toml --replace                  # delete the rows that are there
""",
    "check": "example:\n  ticdc-consumer check orders.toml",
    "plan": "examples:\n  ticdc-consumer plan orders.toml\n"
    "  ticdc-consumer plan orders.toml --until 429918007904436226 --sql",
    "status": "examples:\n  ticdc-consumer status orders.toml\n"
    "  ticdc-consumer status orders.toml --json | jq .lag_seconds",
    "why": "examples:\n  ticdc-consumer why orders.toml\n"
    "  ticdc-consumer why orders.toml --json | jq .cause",
    "list": "examples:\n  ticdc-consumer list orders.toml\n"
    "  ticdc-consumer list orders.toml --json | jq '.[].changefeed'",
    "end": "example:\n  ticdc-consumer end orders.toml",
    "demo": """examples:
  ticdc-consumer demo
  ticdc-consumer demo --protocol open-protocol --rows 100000
  ticdc-consumer demo --target postgresql+psycopg://app@localhost/empty
""",
}


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line; `command` is the name of the command."""
    parser = argparse.ArgumentParser(
        prog="ticdc-consumer",
        description="Applies TiCDC's Kafka topics to a database, exactly, through Spark.",
        epilog="exit codes: 0 done; 1 broker, target or Spark unreachable; 2 wrong usage or"
        " options; 3 something that an operator must decide; 4 a newer consumer took over."
        " TICDC_DEBUG=1 shows tracebacks.",
    )
    parser.add_argument("--version", action="version", version=version("ticdc-consumer"))
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    _demo(_command(commands, "demo", "everything embedded: see it work"))
    _run(_command(commands, "run", "apply the topics to the target"))
    _load(_command(commands, "load", "copy the tables from the upstream, as of one timestamp"))
    _check(_command(commands, "check", "check every precondition; nothing is written"))
    _plan(_command(commands, "plan", "show what the next cuts would do; nothing is done"))
    _status(_command(commands, "status", "show where the target is, and what its consumer is at"))
    _status(_command(commands, "why", "explain what the changefeed is at, and what to do"))
    _status(_command(commands, "list", "show all changefeeds of the target"))
    _takes_config(_command(commands, "end", "forget a changefeed; its tables stay as they are"))
    return parser


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, description: str
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=description,
        description=description,
        epilog=EXAMPLES[name],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _demo(demo: argparse.ArgumentParser) -> None:
    demo.add_argument(
        "--rows", type=_count, default=30_000, metavar="N", help="row changes, about; 30000"
    )
    protocols = [name for name in OURS if PROTOCOLS[name].demo is not None]
    demo.add_argument("--protocol", default="canal-json", choices=protocols, help="canal-json")
    demo.add_argument("--target", metavar="URL", help="an empty database instead of a SQLite file")
    demo.add_argument("--seed", type=int, default=1, metavar="N", help="another history")


def _run(run: argparse.ArgumentParser) -> None:
    _takes_config(run)
    run.add_argument(
        "--until",
        type=_until,
        metavar="caught-up|TS",
        help="end when the resolved ts that the topics hold now is applied, or at exactly TS",
    )
    run.add_argument(
        "--from-ts", type=_timestamp, metavar="TS", help="first start: the target is at this ts"
    )
    run.add_argument(
        "--load", action="store_true", help="first start: load the tables from the upstream before"
    )
    run.add_argument(
        "--ddl-done",
        metavar="TS[:SEQ]",
        help="you have run this DDL, which stopped the last run",
    )
    run.add_argument(
        "--ddl-run",
        nargs=2,
        metavar=("TS[:SEQ]", "FILE"),
        help="run the SQL of a file in place of this DDL, which stopped the last run",
    )


def _load(load: argparse.ArgumentParser) -> None:
    _takes_config(load)
    load.add_argument(
        "--at", type=_timestamp, metavar="TS", help="the timestamp to load; the upstream's present"
    )
    load.add_argument(
        "--replace", action="store_true", help="delete the rows of tables that have some"
    )


def _check(check: argparse.ArgumentParser) -> None:
    _takes_config(check)
    check.add_argument("--from-ts", type=_timestamp, metavar="TS", help="the same as for run")


def _plan(plan: argparse.ArgumentParser) -> None:
    _takes_config(plan)
    plan.add_argument(
        "--until",
        type=_until,
        default="caught-up",
        metavar="caught-up|TS",
        help="the same as for run; the default is caught-up",
    )
    plan.add_argument("--from-ts", type=_timestamp, metavar="TS", help="the same as for run")
    plan.add_argument(
        "--sql", action="store_true", help="also the statements of small cuts, with their values"
    )


def _status(status: argparse.ArgumentParser) -> None:
    _takes_config(status)
    status.add_argument("--json", action="store_true", help="for programs")


def _takes_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", metavar="CONFIG", help="the TOML file")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting in place of the file's, such as kafka.topics=a,b; may be repeated",
    )
    described = config.described()
    width = max(map(len, described)) + 2
    settings = "\n".join(f"  {name:<{width}}{text}" for name, text in described.items())
    parser.epilog = (
        f"{str(parser.epilog).rstrip()}\n\n"
        "settings, of CONFIG, --set, or as TICDC_KAFKA_TOPICS in the environment:\n"
        f"{settings}\n"
    )


def _until(text: str) -> Literal["caught-up"] | int:
    if text == "caught-up":
        return "caught-up"
    return _timestamp(text)


def _timestamp(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a timestamp (TSO)")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows")
    return int(text)
