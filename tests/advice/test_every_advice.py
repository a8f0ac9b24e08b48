"""Every advice that the product prints is followed by a case, or its kind is told here."""

import ast
import importlib.util
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from support.advice import Case
from ticdc_consumer.errors import Usage

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGE = ROOT / "consumer" / "ticdc_consumer"

ADVICE = re.compile(
    r"(?:^|[;:,(] …?|\b(?:or|and|once|then) )(?:"
    "add|bring|choose|compare|copy|correct|create|delete|do|drop|dump|empty|end|finish|fix|free|"
    "give|go on|have|install|keep|kill|leave|let|load|look|lower|make|name|prove|put|raise|release|"
    "rename|repair|report|restart|restore|resume|run|send|set|start|stop|switch|synchronise|take|"
    r"tell|use|verify|wait|write|[FLS](?:ix|oad|et)|KILL|SET GLOBAL)\b"
    "|ticdc-consumer [a-z]+|--ddl-|--from-ts"
)
"""An imperative where a clause begins, a command, or one of its options."""
HELP = {"cli/arguments.py", "config/options.py", "config/reading.py", "cli/init.py", "cli/demo.py"}
HELP |= {"cli/from_changefeed.py", "cli/sink_access.py"}
"""Modules whose texts describe settings and commands."""


ELSEWHERE: dict[str, tuple[str, ...]] = {
    "no advice: a statement, a page, a heading": (
        "<!DOCTYPE html>",
        "give its files' sizes",
        "WITH RECURSIVE family(oid)",
        "WITH all_indexes AS",
        "-- … at R = …: run this while no consumer runs",
        "look for resolved ts and DDL",
        "sends the member '' of … like its invalid, or empty, value",
    ),
    "the configuration or the command line is corrected, before anything is applied": (
        "; write %40 for @",
        "is not finished, and [source] dump is of …: set it as it was, or give the load up",
        ", or set …",
        "set … of the changefeed",
        "set … in the changefeed's sink URI",
        "has a column … itself: name another one in [tables.merge]",
        "has a column … upstream: name another one in merge",
        "both go to …: send one elsewhere by [tables] route",
        ", or leave it out by [tables] filter",
        "for load, dump: Dumpling's files",
        "without a TiDB, verify --topics",
        "… goes to …, and so does ….… of changefeed …",
    ),
    "the same command is given again, which changes nothing that is committed": (
        "; continue with: ticdc-consumer load CONFIG",
        "could not begin, nothing was applied; start again",
        "; start again when it answers",
        "changefeed …: …; start again",
        "its JVM has ended; start again",
        "its JVM ended before it was ready",
        "were replaced; start again",
        "could not be created or migrated; nothing was applied, start again",
        "DDL … came while its rows were read: verify again",
        "DDL came while its rows were read, … times",
        "its key columns have changed: verify again",
        "another client finished this load, or gave it up",
        "start it: ticdc-consumer run {config}",
        "do what the message says",
        "`ticdc-consumer check` lists",
    ),
    "a machine, a server or an account gets more of something, then the same again": (
        "since roles and wildcards may allow it; if not, run",
        "; run …, then start again",
        "a privilege is missing",
        "a disk is full",
        "has no room left on its disk",
        "free disk space there",
        "give the process more memory",
        "give it more memory",
        "raise that, …",
        "max_allowed_packet there to more",
        "tidb_txn_entry_size_limit there to more",
        "or lower [limits] rows_per_epoch",
        "raise limits.memory_budget",
        "give the slowest stage more",
        "create the upstream's key in the target; a table without a key upstream stays slow",
        "look at the executors' logs",
        "set JAVA_HOME",
        "end it, then start again",
        "end what holds the lock",
        "let that session finish, or end it",
        "end the transaction (pg_terminate_backend)",
        "end the older consumer, or KILL its session",
        "install ticdc-consumer … or later",
        "install an earlier release of it",
        "correct [target] url and its password",
        "check the registry and [registry] url",
        "check the storage, its credentials and its driver",
        "synchronise the clocks (NTP)",
        "raise retention.ms and retention.bytes of the topic now",
        "run one consumer per changefeed",
        "let it continue: kill -CONT",
    ),
    "followed by tests/consumer/ddl/test_foreign_keys.py": (
        "has such rows: drop that foreign key in the target, then start again",
    ),
    "TiCDC's changefeed or the TiDB is changed, and what comes then is read": (
        "use canal-json, enable-tidb-extension=true",
        "make sure that it does not",
        "run the TiCDC server with --tz=UTC",
        "compare [kafka] topics with the changefeed's sink URI",
        "avro's messages have … for column",
        "its messages have no key, so that avro's DELETE names no row",
        "…'s messages have … for …, too: rename it",
        "sends its DEFAULT for NULL: make it NOT NULL",
        "set storage.url to a protocol that lists sizes",
        "set them back to what they were",
        "upgrade to 8.5.8 or later; then compare the rows",
    ),
    "a table of the target becomes an ordinary one, before a run takes it: test_kinds.py": (
        "create the table with ENGINE=InnoDB",
        "make it a key of columns alone",
        "create it without GLOBAL TEMPORARY",
        "create an ordinary table",
    ),
    "followed by tests/targets/postgresql/test_session.py": (
        "if it is an index: drop it in the target unless it is the key of the rows; else shorten",
    ),
    "followed by tests/consumer/ddl/test_begun.py and shared/test_databases.py": (
        "; undo that by DROP VIEW …, and start again",
        "exists already; drop it, and start again",
        "drop only those of its tables and views that the upstream no longer has",
    ),
    "followed by tests/consumer/ddl/test_left_out_views.py": (
        "to have it, write a CREATE VIEW for the target to a file, and run once: …",
    ),
    "followed by tests/integration/test_ddl_policy_run.py": (
        "ticdc-consumer run {config} --ddl-run {id} FILE.sql",
    ),
    "followed by tests/consumer/commands/check/test_upstream.py": (
        " holds a zero or partial date",
        "create the table with these columns in utf8mb3",
        "leave the table out by [tables] filter",
    ),
    "followed by tests/integration/test_why.py and test_why_targets.py": (
        "set protocol to the changefeed's",
    ),
    "needs a MySQL 8.0.17, which the tests do not have; tests/targets/mysql/test_session.py": (
        "which its collation ignores and TiDB's does not; give the column the collation",
    ),
    "the page says what test_why.py follows": (
        "Fix the cause, stop the consumer, then apply what waits:",
    ),
    "an operator looks, or waits": (
        "ask who made it read-only",
        "compare ssl.ca.location",
        "MariaDB shows who holds it after INSTALL SONAME",
        "check its log and what session",
        "if all tables were restored to one moment",
        "see its log, and whether the target takes writes",
        "compare [tables] filter with the names of the tables",
        "look at it: ticdc-consumer inspect",
        "look at TiCDC: its checkpoint lag",
        "wait: TiCDC sends the resolved ts",
        "wait: most databases copy the table",
        "report it with",
        "compare its start-ts, or the first resolved ts",
        "its definition is not known: verify against the upstream",
        "-- more rows differ: verify again afterwards",
    ),
    "the files of a dump are written or copied anew, which the load then reads": (
        "dump again",
        "dump with",
        "dump without",
        "copy the file again",
        "copy it again",
        "copy it there again",
        "load from [source] upstream, or without the table",
        "has only six digits of a FLOAT",
    ),
}
"""Advice that no case follows: why, and parts of the messages."""


def module_at(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"read_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts(node: ast.AST) -> Iterator[str]:
    """What the code may print, with `…` for what varies; no docstrings."""
    inner: list[ast.AST] = list(ast.iter_child_nodes(node))
    match node:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Constant(value=str()) | ast.JoinedStr() | ast.BinOp(op=ast.Add()):
            yield " ".join(re.sub(r"(?:…\s?)+…", "…", template(node)).split())
            inner = list(varying(node))
    for child in inner:
        yield from texts(child)


def varying(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions in a text."""
    match node:
        case ast.Constant(value=str()):
            return
        case ast.JoinedStr(values=parts):
            yield from (part.value for part in parts if isinstance(part, ast.FormattedValue))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from (*varying(left), *varying(right))
        case _:
            yield node


def template(node: ast.expr) -> str:
    return str(generated().template(node))


@cache
def generated() -> ModuleType:
    return module_at(ROOT / "docs" / "generated.py")


@cache
def advices() -> list[str]:
    """All texts of the product that tell an operator to do something, but for those of errors in a
    command line or a configuration, after which nothing was done."""
    found: set[str] = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        if str(path.relative_to(PACKAGE)) not in HELP:
            found |= {text for text in texts(ast.parse(path.read_text())) if is_advice(text)}
    usage = {text for code, text in generated().messages() if code == Usage.exit_code}
    return sorted(found - usage)


def is_advice(text: str) -> bool:
    return len(text.split()) > 3 and bool(ADVICE.search(text))


def cases() -> list[Case]:
    paths = [path for path in sorted(HERE.glob("test_*.py")) if path.name != Path(__file__).name]
    return [case for path in paths for case in module_at(path).CASES]


def claimed(part: str) -> list[str]:
    """The advices that a part of a message is in."""
    return [text for text in advices() if part in text]


def test_every_advice_is_followed() -> None:
    parts = [part for case in cases() for part in (case.says, *case.also)]
    parts += [part for group in ELSEWHERE.values() for part in group]
    left = [text for text in advices() if not any(part in text for part in parts)]
    assert left == [], "add a case for it"


@pytest.mark.parametrize("part", [part for group in ELSEWHERE.values() for part in group])
def test_what_is_tried_elsewhere_is_said(part: str) -> None:
    assert claimed(part)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_what_a_case_follows_is_said(case: Case) -> None:
    assert [part for part in (case.says, *case.also) if not claimed(part)] == []


ADVICES = [
    ("the target has no table t; load it, or create it", True),
    ("it is at R = 5 already: continue with: ticdc-consumer run CONFIG", True),
    ("Load a new snapshot of the table", True),
    ("or once its work is done, --ddl-done 5", True),
    ("the rows of t are left out by [tables] filter", False),
    ("its old offsets are no longer valid", False),
]


@pytest.mark.parametrize(("text", "expected"), ADVICES)
def test_an_advice_is_recognised(text: str, expected: bool) -> None:
    assert is_advice(text) is expected
