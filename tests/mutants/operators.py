"""Small changes of a module's functions, each at one place of its syntax tree.

Texts, defaults of parameters, what a class or module runs once, assertions and log calls are left
as they are.
"""

import ast
import inspect
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}
LOGS = {"log", "logger", "logging"}


@dataclass(frozen=True)
class Change:
    """`name` stays the same while the function does."""

    name: str
    module: str
    function: str

    def code(self) -> CodeType:
        """The function's, changed."""
        tree, file = _parsed(self.module)
        (old, new) = next(
            pair for name, _, *pair in _changes(self.module, tree) if name == self.name
        )
        _Replaced(old, new).visit(tree)
        return _code_of(compile(ast.fix_missing_locations(tree), file, "exec"), self.function)


def changes_of(module: str) -> Iterator[Change]:
    """Every small change of every function of the module."""
    tree, _ = _parsed(module)
    for name, place, _, _ in _changes(module, tree):
        yield Change(name, module, place)


@contextmanager
def applied(module: str, codes: Mapping[str, CodeType]) -> Iterator[None]:
    """Whoever calls these functions of the module meanwhile runs this code."""
    functions = {_function(module, name): code for name, code in codes.items()}
    before = {function: function.__code__ for function in functions}
    try:
        _set(module, functions)
        yield
    finally:
        _set(module, before)


def _set(module: str, codes: Mapping[FunctionType, CodeType]) -> None:
    """The module forgets what its functions have cached."""
    for function, code in codes.items():
        function.__code__ = code
    for each in vars(import_module(module)).values():
        if clear := getattr(each, "cache_clear", None):
            clear()


def probes(module: str, name: str) -> dict[str, CodeType]:
    """By function, code that calls the module's global `name` with the function's first."""
    tree, file = _parsed(module)
    functions = list(_functions(tree))
    for function, place in functions:
        assert isinstance(function, ast.FunctionDef)
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Constant(place)], [])
        function.body.insert(0, ast.Expr(call))
    code = compile(ast.fix_missing_locations(tree), file, "exec")
    return {place: _code_of(code, place) for _, place in functions}


def _function(module: str, name: str) -> FunctionType:
    found: Any = import_module(module)
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    for inner in ("__func__", "fget", "func"):  # a class's method, a property, a cached one
        found = getattr(found, inner, None) or found
    function = inspect.unwrap(found)
    assert isinstance(function, FunctionType)
    return function


def _parsed(module: str) -> tuple[ast.Module, str]:
    source = import_module(module)
    return ast.parse(inspect.getsource(source)), source.__file__ or ""


def _changes(module: str, tree: ast.Module) -> Iterator[tuple[str, str, ast.AST, ast.AST]]:
    """Each one's name, its function, and what stands where by it."""
    seen = Counter[str]()
    for function, place in _functions(tree):
        for old, new in [pair for node in _inside(function) for pair in _replacements(node)]:
            name = f"{module}:{place}: {_short(old)} -> {_short(new)}"
            seen[name] += 1
            yield f"{name} ({seen[name]})" if seen[name] > 1 else name, place, old, new


def _functions(node: ast.AST, outside: str = "") -> Iterator[tuple[ast.AST, str]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{outside}{child.name}.")
        elif isinstance(child, ast.FunctionDef):
            yield child, f"{outside}{child.name}"


def _inside(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of its body that are changed."""
    assert isinstance(function, ast.FunctionDef)
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Assert | ast.JoinedStr) or _is_log(node):
            continue
        yield node
        if isinstance(node, ast.AnnAssign):
            waiting += [node.value] if node.value else []
        else:
            waiting += ast.iter_child_nodes(node)


def _is_log(node: ast.AST) -> bool:
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name)))):
            return name in LOGS
    return False


def _replacements(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    match node:
        case ast.Compare(left, [first, *rest], right) if type(first) in COMPARED:
            yield node, ast.Compare(left, [COMPARED[type(first)](), *rest], right)
        case ast.BoolOp(ast.And(), values):
            yield node, ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(ast.Or(), values):
            yield node, ast.BoolOp(ast.And(), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield node, operand
        case ast.BinOp(left, operator, operand) if type(operator) in COMPUTED:
            yield node, ast.BinOp(left, COMPUTED[type(operator)](), operand)
        case ast.Constant(bool(value)):
            yield node, ast.Constant(not value)
        case ast.Constant(int(value)):
            yield node, ast.Constant(value + 1)
        case ast.Call(ast.Name(name), arguments, keywords) if name in CALLED:
            yield node, ast.Call(ast.Name(CALLED[name], ast.Load()), arguments, keywords)
        case ast.Expr(ast.Call()) | ast.Raise() | ast.AugAssign() | ast.Delete():
            yield node, ast.Pass()
        case ast.Continue():
            yield node, ast.Break()
        case ast.Break():
            yield node, ast.Continue()
        case ast.Return(value) if value is not None and not _is_none(value):
            yield node, ast.Return(ast.Constant(None))
    tests = [*getattr(node, "ifs", ()), getattr(node, "test", None)]
    for test in tests:
        if isinstance(test, ast.Name | ast.Attribute | ast.Call):
            yield test, ast.UnaryOp(ast.Not(), test)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


class _Replaced(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old = old
        self.new = ast.copy_location(new, old)

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)


def _short(node: ast.AST) -> str:
    words = " ".join(ast.unparse(node).split())
    return words if len(words) <= 60 else f"{words[:57]}..."


def _code_of(code: CodeType, place: str) -> CodeType:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    for each in inner:
        if each.co_qualname == place:
            return each
    (scope,) = [each for each in inner if place.startswith(f"{each.co_qualname}.")]
    return _code_of(scope, place)
