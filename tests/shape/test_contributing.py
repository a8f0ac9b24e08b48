"""What CONTRIBUTING.md says of the tree is true."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

LONGEST_NAME = 60


def test_the_name_of_a_test_is_short() -> None:
    assert [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test_")
        and len(node.name) > LONGEST_NAME
    ] == []
