"""What CONTRIBUTING.md says of the tree is true."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()

LONGEST_NAME = 60
MOST_WORDS = 1500

NAMED = re.compile(r"`([\w/]+\.py)`: ((?:`[\w.]+`(?: \(\d\))?(?:, )?)+)")
"""A file, and after a colon the names that it defines."""


def named(text: str) -> Iterator[tuple[str, str]]:
    """Each pair of a file and a name that it is said to define."""
    for file, names in NAMED.findall(" ".join(text.split())):
        for name in re.findall(r"`([\w.]+)`", names):
            yield file, name


def source(file: str) -> Path:
    """The file: paths begin at the root, or at the consumer's package."""
    path = ROOT / file
    return path if path.is_file() else ROOT / "consumer" / "ticdc_consumer" / file


def defined(body: list[ast.stmt], inside: str = "") -> Iterator[str]:
    """Functions, classes with their members, and constants."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name):
                yield f"{inside}{name}"
            case ast.ClassDef(name=name, body=members):
                yield f"{inside}{name}"
                yield from defined(members, f"{inside}{name}.")
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield f"{inside}{name}"


@pytest.mark.parametrize(("file", "name"), sorted({*named(PAGE)}))
def test_a_named_symbol_is_in_the_named_file(file: str, name: str) -> None:
    assert name in set(defined(ast.parse(source(file).read_text()).body))


@pytest.mark.parametrize(
    "subject",
    [
        *("A protocol", "A target", "A source", "A setting", "A metric", "A cause of `why`"),
        *("A command", "A kind of DDL", "A log event", "A column of the state"),
    ],
)
def test_how_to_add_names_symbols(subject: str) -> None:
    entry = PAGE.partition(f"**{subject}.**")[2].partition("\n**")[0]
    assert [*named(entry)]


def test_the_page_is_read_in_minutes() -> None:
    assert len(PAGE.split()) <= MOST_WORDS


def test_the_name_of_a_test_is_short() -> None:
    assert [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and len(node.name) > LONGEST_NAME
    ] == []
