"""How wide a folder is, which way imports point, and where a difference is decided."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from ticdc_encoder.formats import FORMATS
from ticdc_encoder.storage.layout import FILE_FORMATS

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = {
    "ticdc_encoder": ROOT / "encoder" / "ticdc_encoder",
    "ticdc_consumer": ROOT / "consumer" / "ticdc_consumer",
    "ticdc_torture": ROOT / "consumer" / "ticdc_torture",
}
WIDEST = 26
ROOT_WIDEST = 16
"""Packages and modules at the root of the consumer, at most."""

LONGEST = 60
"""Lines of a function's body, without its docstring."""

ORDER: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "ticdc_consumer": (
        ("cli",),
        ("api",),
        ("testing",),
        ("commands",),
        ("cut",),
        ("status",),
        ("ddl",),
        ("upstream",),
        ("state",),
        ("source",),
        ("protocols",),
        ("config",),
        ("targets",),
        ("waiting",),
        ("errors", "failpoints"),
    ),
    "ticdc_encoder": (
        ("cli", "produce"),
        ("testing",),
        ("changefeed",),
        ("kafka", "storage"),
        ("formats", "filters"),
        ("sql",),
    ),
    "ticdc_torture": (
        ("cli",),
        ("report", "export"),
        ("run",),
        ("kafka", "judge"),
        ("target",),
        ("history",),
        ("changefeed",),
        ("upstream",),
    ),
}
"""From top to bottom: a module imports what is below it. What is not named is a leaf, below all."""

DECISIONS = {
    "dialect": "targets",
    "protocol": "protocols",
    "storage_url": "source",
}
"""An attribute that tells one entry from another -> the package that alone may compare it."""

FACES = {"Encoder", "Decoder", "Options"}
"""What each format calls its own: the same name in each, on purpose."""


@cache
def trees() -> dict[str, dict[tuple[str, ...], ast.Module]]:
    """Package -> the parts of a module's path -> its syntax."""
    return {
        package: {
            path.relative_to(folder).with_suffix("").parts: ast.parse(path.read_text())
            for path in sorted(folder.rglob("*.py"))
        }
        for package, folder in PACKAGES.items()
    }


def modules() -> Iterator[tuple[str, ast.Module]]:
    for package, parsed in trees().items():
        for parts, tree in parsed.items():
            yield ".".join((package, *parts)), tree


def own_imports(package: str, tree: ast.Module) -> Iterator[tuple[str, ...]]:
    """Within the package: the parts of each module, or name of a module, that is imported, be it
    only for a type checker."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            head, *rest = node.module.split(".")
            if head == package:
                yield from ((*rest, alias.name) for alias in node.names)


def level(package: str, room: str) -> int:
    order = ORDER[package]
    return next((n for n, rooms in enumerate(order) if room in rooms), len(order))


def docstring_free(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    first = node.body[0]
    has_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return node.body[1:] if has_docstring else node.body


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    rooms: dict[Path, set[str]] = defaultdict(set)
    for folder in PACKAGES.values():
        for path in folder.rglob("*.py"):
            if not path.name.startswith("__"):
                rooms[path.parent].add(path.name)
            elif path.name == "__init__.py" and path.parent != folder:
                rooms[path.parent.parent].add(path.parent.name)
    widest = {PACKAGES["ticdc_consumer"]: ROOT_WIDEST}
    assert {
        str(f): len(names) for f, names in rooms.items() if len(names) > widest.get(f, WIDEST)
    } == {}


@pytest.mark.parametrize("package", sorted(ORDER))
def test_imports_point_one_way(package: str) -> None:
    upwards = [
        f"{'.'.join(parts)} imports {'.'.join(imported)}"
        for parts, tree in trees()[package].items()
        if parts not in (("__init__",), ("__main__",))
        for imported in own_imports(package, tree)
        if imported[0] != parts[0]
        if level(package, parts[0]) >= level(package, imported[0])
        if level(package, parts[0]) < len(ORDER[package]) or imported[0] in sum(ORDER[package], ())
    ]
    assert upwards == []


@pytest.mark.parametrize("package", sorted(ORDER))
def test_the_architecture_draws_the_order_that_imports_have(package: str) -> None:
    text = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    drawing = re.search(rf"```\n {package}: (.*?)```", text, re.DOTALL)
    assert drawing, f"no drawing of {package}"
    layers = [tuple(re.findall(r"\w+", layer)) for layer in drawing[1].split("│")]
    assert layers[: len(ORDER[package])] == list(ORDER[package])
    rooms = {parts[0] for parts in trees()[package]} - {"__init__", "__main__"}
    assert rooms == {room for layer in layers for room in layer}


@pytest.mark.parametrize("package", sorted(ORDER))
def test_no_modules_import_each_other_in_a_circle(package: str) -> None:
    parsed = trees()[package]
    arrows = {
        parts: {
            target
            for imported in own_imports(package, tree)
            if (target := resolved(parsed, imported))
        }
        for parts, tree in parsed.items()
        if parts[-1] != "__init__"
    }
    done: set[tuple[str, ...]] = set()

    def visit(parts: tuple[str, ...], path: tuple[tuple[str, ...], ...]) -> None:
        assert parts not in path, " -> ".join(".".join(step) for step in (*path, parts))
        if parts not in done:
            for target in sorted(arrows.get(parts, ())):
                visit(target, (*path, parts))
            done.add(parts)

    for parts in sorted(arrows):
        visit(parts, ())


def resolved(
    parsed: Mapping[tuple[str, ...], ast.Module], imported: tuple[str, ...]
) -> tuple[str, ...] | None:
    """The module that an imported name is, or is of; None for a package's own face."""
    for parts in (imported, imported[:-1]):
        if parts in parsed:
            return parts
    return None


def test_every_database_has_the_same_files() -> None:
    folder = PACKAGES["ticdc_consumer"] / "targets"
    databases = {
        path.parent.name: {file.name for file in path.parent.glob("*.py")}
        for path in folder.glob("*/session.py")
    }
    assert len(databases) >= 3
    common = set.intersection(*databases.values())
    assert {"__init__.py", "session.py", "bulk.py", "catalog.py", "types.py", "encode.py"} <= common
    smallest = min(databases.values(), key=len)
    assert common == smallest, "a database lacks a file that the others have, or names it otherwise"


def test_outside_targets_no_particular_database_is_known() -> None:
    folder = PACKAGES["ticdc_consumer"] / "targets"
    databases = {path.parent.name for path in folder.glob("*/session.py")}
    assert {"mysql", "postgresql", "sqlite"} <= databases
    assert [
        f"{'.'.join(parts)} imports {'.'.join(imported)}"
        for parts, tree in trees()["ticdc_consumer"].items()
        if parts[0] != "targets"
        for imported in own_imports("ticdc_consumer", tree)
        if imported[0] == "targets" and imported[1] in databases
    ] == []


@pytest.mark.parametrize(("attribute", "owner"), DECISIONS.items())
def test_a_difference_is_an_entry_and_not_a_branch(attribute: str, owner: str) -> None:
    branches = [
        f"{'.'.join(parts)}:{node.lineno}"
        for parts, tree in trees()["ticdc_consumer"].items()
        if parts[0] != owner
        for node in ast.walk(tree)
        if isinstance(node, ast.expr | ast.stmt)
        and any(mentions(side, attribute) for side in compared(node))
    ]
    assert branches == []


def test_the_encoder_compares_no_protocol_with_its_name() -> None:
    names = {*FORMATS, *FILE_FORMATS}
    branches = [
        f"{'.'.join(parts)}:{node.lineno}"
        for parts, tree in trees()["ticdc_encoder"].items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        or (isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "startswith")
        if any(isinstance(each, ast.Constant) and each.value in names for each in ast.walk(node))
    ]
    assert branches == []


def compared(node: ast.AST) -> list[ast.expr]:
    """What an expression or statement decides by: sides of a comparison, subjects of a match,
    keys that are looked up."""
    match node:
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Match(subject=subject):
            return [subject]
        case ast.Subscript(slice=key):
            return [key]
        case ast.Call(func=ast.Attribute(attr="get"), args=[key, *_]):
            return [key]
        case _:
            return []


def mentions(node: ast.expr, attribute: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == attribute


def test_a_class_name_has_one_meaning() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for module, tree in modules():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name not in FACES:
                homes[node.name].append(module)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_no_function_is_longer_than_a_page() -> None:
    long = {}
    for module, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = docstring_free(node) or node.body
                lines = (body[-1].end_lineno or 0) - body[0].lineno + 1
                if lines > LONGEST:
                    long[f"{module}.{node.name}"] = lines
    assert long == {}


CLAUSES = {"What", "Whether", "How", "Where", "Of", "Those", "By", "As", "With"}
"""First words of a clause that stands for a noun."""


def test_a_docstring_begins_with_a_verb_or_a_noun() -> None:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    texts = [
        (module, ast.get_docstring(node) or "-")
        for module, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, documented)
    ]
    assert [(module, text) for module, text in texts if text.split()[0] in CLAUSES] == []
