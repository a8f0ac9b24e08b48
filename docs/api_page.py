"""Makes docs/reference/api.md from the code: `python docs/api_page.py`."""

import ast
import copy
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import ticdc_consumer
from ticdc_consumer import api
from ticdc_consumer.api import results
from ticdc_encoder import __all__ as of_encoder

PAGE = Path(__file__).resolve().parent / "reference" / "api.md"
HEAD = """# Python API

<!-- made by docs/api_page.py -->

[Embed the consumer](../how-to/embedding.md) and [The encoder](encoder.md) show the use of this.

| part | import |
|---|---|
| the loop, errors | `from ticdc_consumer import Consumer, Settings, Stop` |
| commands | `from ticdc_consumer import api` |
| results, for type annotations | `from ticdc_consumer.api.results import TableReport` |
| the encoder | `from ticdc_encoder import Changefeed` |
"""
WHOLE = {"Settings", "Consumer", "UncommittedCut", "Changefeed"}
"""Classes whose methods are shown, too."""
WIDTH = 100
OF_EVENTS = ("Table", "RowChange", "Ddl", "Resolved", "Transaction")
OF_LOOP = ("Settings", "Consumer", "Epoch", "Counts", "UncommittedCut", "BeforeCommit", "Activity")


@dataclass(frozen=True)
class Definition:
    """A public name, with the tree of what defines it."""

    name: str
    module: str
    node: ast.stmt


@cache
def body(module: str) -> tuple[ast.stmt, ...]:
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    return tuple(ast.parse(Path(spec.origin).read_text()).body)


def defined(name: str, module: str) -> Definition:
    """Follows an import to where the name is defined."""
    for node in body(module):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return Definition(name, module, node)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return Definition(name, module, node)
        if isinstance(node, ast.ImportFrom) and name in [alias.name for alias in node.names]:
            return defined(name, node.module or "")
    raise LookupError(f"{module} does not define {name}")


def home(name: str) -> str:
    """The module of a name of `ticdc_consumer`."""
    homes: dict[str, str] = vars(ticdc_consumer)["_HOMES"]
    return homes.get(name, "ticdc_consumer.errors")


def parts() -> dict[str, list[Definition]]:
    """The page's parts, and what each shows, once."""
    functions = [name for name, each in vars(api).items() if inspect.isfunction(each)]
    errors = [name for name in ticdc_consumer.__all__ if name not in OF_LOOP]
    return {
        "The loop": [defined(name, home(name)) for name in OF_LOOP],
        "Errors": sorted((defined(n, home(n)) for n in errors), key=_depth),
        "Commands": [
            defined(name, api.__name__)
            for name in functions
            if vars(api)[name].__module__ == api.__name__ and not name.startswith("_")
        ],
        "Results": [defined(name, results.__name__) for name in results.__all__],
        "The encoder": [
            defined("Changefeed", "ticdc_encoder.changefeed.changefeed"),
            *(defined(name, "ticdc_encoder.event") for name in OF_EVENTS),
        ],
    }


def _depth(error: Definition) -> tuple[int, str]:
    kind = getattr(import_module(error.module), error.name)
    bases = inspect.getmro(kind) if isinstance(kind, type) else ()
    return sum(base.__name__ in exported() for base in bases), error.name


def page() -> str:
    lines = [HEAD]
    for title, definitions in parts().items():
        lines += [f"## {title}", ""]
        for each in definitions:
            lines += [*_shown(each), ""]
    return "\n".join(lines).rstrip() + "\n"


def _shown(each: Definition) -> Iterator[str]:
    node = each.node
    if isinstance(node, ast.Assign):
        yield f"### {each.name}"
        yield ""
        yield f"`{each.name} = {ast.unparse(node.value)}`"
        return
    assert isinstance(node, ast.ClassDef | ast.FunctionDef)
    kind = getattr(import_module(each.module), each.name)
    known = [base.__name__ for base in inspect.getmro(kind)[1:]] if inspect.isclass(kind) else []
    base = next((name for name in known if name in exported()), "")
    yield f"### {each.name}{f' ({base})' if base else ''}"
    yield ""
    if isinstance(node, ast.FunctionDef):
        yield from _signature(each, node)
    yield from _text(node)
    if isinstance(node, ast.ClassDef):
        yield from _members(each, node)


def _text(node: ast.ClassDef | ast.FunctionDef) -> Iterator[str]:
    if text := ast.get_docstring(node):
        yield text
        yield ""


def _signature(each: Definition, node: ast.FunctionDef) -> Iterator[str]:
    written = node.args.args + node.args.kwonlyargs
    defaults = [*([None] * (len(node.args.args) - len(node.args.defaults))), *node.args.defaults]
    parameters = []
    for parameter, default in zip(written, [*defaults, *node.args.kw_defaults], strict=True):
        if parameter in node.args.kwonlyargs[:1]:
            parameters.append("*")
        if parameter.arg != "self":
            annotation = parameter.annotation
            text = parameter.arg
            text += f": {_type(each, annotation)}" if annotation is not None else ""
            parameters.append(text + (f" = {ast.unparse(default)}" if default is not None else ""))
    returns = f" -> {_type(each, node.returns)}" if node.returns is not None else ""
    name, returns = f"def {node.name}", f"{returns}: ..."
    one_line = f"{name}({', '.join(parameters)}){returns}"
    if len(one_line) > WIDTH:
        one_line = "\n".join([f"{name}(", *(f"    {p}," for p in parameters), f"){returns}"])
    yield from ("```python", one_line.replace("'", '"'), "```", "")


def _type(each: Definition, annotation: ast.expr) -> str:
    """Of an annotation, with what aliases stand for that are not exported."""
    return ast.unparse(_Expanding(each.module).visit(copy.deepcopy(annotation)))


class _Expanding(ast.NodeTransformer):
    def __init__(self, module: str) -> None:
        self._module = module

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, str):
            return node
        expanded: ast.expr = self.visit(ast.parse(node.value, mode="eval").body)
        return expanded

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if ast.unparse(node.value) != "Literal":
            self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in exported():
            return node
        try:
            alias = defined(node.id, self._module)
        except (LookupError, AssertionError):
            return node
        if not isinstance(alias.node, ast.Assign):
            return node
        expanded: ast.expr = _Expanding(alias.module).visit(copy.deepcopy(alias.node.value))
        return expanded


def fields(node: ast.ClassDef) -> list[ast.AnnAssign]:
    return [
        each
        for each in node.body
        if isinstance(each, ast.AnnAssign) and not ast.unparse(each.target).startswith("_")
    ]


def methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """Its properties; all public methods of what a program calls, too."""
    whole = node.name in WHOLE
    shown = {"__init__"} if whole else set()
    return [
        each
        for each in node.body
        if isinstance(each, ast.FunctionDef)
        and (not each.name.startswith("_") or each.name in shown)
        and (whole or is_property(each))
    ]


def is_property(node: ast.FunctionDef) -> bool:
    return "property" in [ast.unparse(each) for each in node.decorator_list]


def _members(each: Definition, node: ast.ClassDef) -> Iterator[str]:
    shown = [] if node.name == "Settings" else fields(node)
    lines = []
    for field in shown:
        value = f" = {ast.unparse(field.value)}" if field.value is not None else ""
        value = "" if value.startswith(" = field(") else value
        lines.append(f"* `{ast.unparse(field.target)}: {_type(each, field.annotation)}{value}`")
    for method in filter(is_property, methods(node)):
        assert method.returns is not None
        text = " ".join((ast.get_docstring(method) or "").split())
        line = f"* `{method.name}: {_type(each, method.returns)}`"
        lines.append(f"{line}: {text}" if text else line)
    yield from [*lines, ""] if lines else []
    for method in methods(node):
        if not is_property(method):
            yield from _signature(each, method)
            yield from _text(method)


def annotations(each: Definition) -> Iterator[str]:
    """The names in the types that the page shows of it."""
    node = each.node
    trees: list[ast.expr] = []
    functions = [node] if isinstance(node, ast.FunctionDef) else []
    if isinstance(node, ast.ClassDef):
        trees += [] if node.name == "Settings" else [field.annotation for field in fields(node)]
        functions = methods(node)
    for function in functions:
        arguments = [*function.args.args, *function.args.kwonlyargs]
        trees += [one.annotation for one in arguments if one.annotation is not None]
        trees += [function.returns] if function.returns is not None else []
    for tree in trees:
        yield from re.findall(r"\w+", re.sub(r"Literal\[[^]]*\]", "", _type(each, tree)))


def exported() -> set[str]:
    return {*ticdc_consumer.__all__, *results.__all__, *of_encoder}


def hidden() -> set[str]:
    """Types of this project that the page shows in a signature, and that no public face exports."""
    seen: set[str] = set()
    for definitions in parts().values():
        for each in definitions:
            for name in annotations(each):
                if name not in exported() and _is_ours(name, each.module):
                    seen.add(f"{each.name}: {name}")
    return seen


def _is_ours(name: str, module: str) -> bool:
    try:
        return defined(name, module).module.startswith("ticdc_")
    except (LookupError, AssertionError):
        return False


if __name__ == "__main__":
    PAGE.write_text(page())
