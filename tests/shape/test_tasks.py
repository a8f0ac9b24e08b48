"""What runs in Spark's tasks: a module that hands a function to `in_workers` is imported there,
with all that it imports. None of that may be the driver's."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = "ticdc_consumer"
FOLDER = Path(__file__).resolve().parent.parent.parent / "consumer" / PACKAGE
WORKER = "cut.spark.worker"

OF_CUTS = {
    *("cut.read", "cut.reconcile", "cut.spark"),
    *("source", "protocols", "config", "targets", "waiting", "errors", "failpoints"),
}
"""What the tasks of a cut import, packages with all in them."""

TASKS = {
    "cut.spark.jobs": OF_CUTS,
    "cut.spark.session": OF_CUTS,
    "cut.spark.traces": OF_CUTS,
    "commands.load.on_spark": {*OF_CUTS, "commands.load", "state", "upstream"},
}
"""Each module that has functions which run in tasks -> what it may import."""


def _modules() -> dict[str, ast.Module]:
    return {
        ".".join(path.relative_to(FOLDER).with_suffix("").parts): ast.parse(path.read_text())
        for path in sorted(FOLDER.rglob("*.py"))
    }


MODULES = _modules()


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _at_import(child)


def _imports(module: str) -> Iterator[str]:
    for node in _at_import(MODULES[module]):
        if isinstance(node, ast.ImportFrom) and node.module:
            package, _, rest = node.module.partition(".")
            if package != PACKAGE:
                continue
            for name in (f"{rest}.{alias.name}".lstrip(".") for alias in node.names):
                candidates = (name, rest, f"{name}.__init__", f"{rest}.__init__")
                yield next((each for each in candidates if each in MODULES), name)


def _imported_with(module: str) -> set[str]:
    reached, ahead = set[str](), [module]
    while ahead:
        one = ahead.pop()
        if one not in reached:
            reached.add(one)
            ahead += _imports(one) if one in MODULES else ()
    return reached


def _calls(tree: ast.Module, name: str) -> bool:
    return any(
        isinstance(node, ast.Call)
        and (getattr(node.func, "id", None) or getattr(node.func, "attr", None)) == name
        for node in ast.walk(tree)
    )


def test_functions_reach_tasks_by_one_door() -> None:
    doors = ("mapInArrow", "mapInPandas", "mapPartitions", "foreachPartition", "applyInArrow")
    assert {m for m, tree in MODULES.items() for door in doors if _calls(tree, door)} == {WORKER}
    assert {m for m, tree in MODULES.items() if _calls(tree, "in_workers")} == {*TASKS}


@pytest.mark.parametrize("module", TASKS)
def test_tasks_import_nothing_of_the_driver(module: str) -> None:
    allowed = TASKS[module]
    assert [
        each
        for each in sorted(_imported_with(module))
        if not any(each == room or each.startswith(f"{room}.") for room in allowed)
    ] == []
