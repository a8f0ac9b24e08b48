"""Rules of the core, each taken away by a small change of one function's source."""

import inspect
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from types import CodeType, FunctionType
from typing import Any

Edit = tuple[str, str, str]
"""A function as `module:name` or `module:Class.name` below `ticdc_consumer`; the text that is
replaced, which it has once; and what it is replaced by."""


@dataclass(frozen=True)
class Mutant:
    """`without` says what is taken away. `tests` notice it, as pytest's ids; without any, the world
    does."""

    name: str
    without: str
    edits: tuple[Edit, ...]
    tests: tuple[str, ...] = ()


def mutant(name: str, without: str, place: str, old: str, new: str, *tests: str) -> Mutant:
    """One of a single edit."""
    return Mutant(name, without, ((place, old, new),), tests)


def _function(place: str) -> FunctionType:
    module, _, name = place.partition(":")
    found: Any = import_module(f"ticdc_consumer.{module}")
    for part in name.split("."):
        found = inspect.getattr_static(found, part)
    if isinstance(found, classmethod | staticmethod):
        found = found.__func__
    if isinstance(found, property):
        found = found.fget
    function = inspect.unwrap(found)
    assert isinstance(function, FunctionType)
    return function


def _compiled(function: FunctionType, edits: Iterable[Edit]) -> CodeType:
    source = textwrap.dedent(inspect.getsource(function))
    for _, old, new in edits:
        if source.count(old) != 1:
            raise LookupError(f"{function.__qualname__} has {source.count(old)} times {old!r}")
        source = source.replace(old, new)
    names: dict[str, Any] = {}
    source = source[source.index("def ") :]
    code = compile(source, f"<mutant of {function.__qualname__}>", "exec")
    exec(code, function.__globals__, names)
    made: CodeType = names[function.__name__].__code__
    return made


@contextmanager
def mutated(mutant: Mutant) -> Iterator[None]:
    """Inside, whoever calls these functions runs the changed ones."""
    with ExitStack() as stack:
        for place, edits in groupby(mutant.edits, key=itemgetter(0)):
            function = _function(place)
            before, function.__code__ = function.__code__, _compiled(function, edits)
            stack.callback(setattr, function, "__code__", before)
        yield
