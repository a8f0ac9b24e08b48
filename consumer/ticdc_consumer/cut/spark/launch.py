"""Starts a JVM without showing a setting: `ps` shows the command line of every process."""

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ticdc_consumer.config.settings import OTHER_VARIABLES, variable

_SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_JAVA_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
_TEMPORARY = "-Djava.io.tmpdir="


@contextmanager
def private_settings(settings: Iterable[tuple[str, str]], folder: Path) -> Iterator[None]:
    """Lets `launch_gateway` start a JVM inside with these settings in files that only this user can
    read, and without our own settings in its environment. The files are removed at the end: the JVM
    has read them when it answers. Its temporary files are in `folder`, unless a user names another
    place."""
    properties, java = folder / "spark.properties", folder / "java.options"
    try:
        _write(properties, java, dict(settings))
        arguments = os.environ.get(_SUBMIT_ARGS, "pyspark-shell")
        file = shlex.quote(str(properties))
        with _environment(
            {_SUBMIT_ARGS: f"--properties-file {file} --load-spark-defaults {arguments}"}
        ):
            yield
    finally:
        properties.unlink(missing_ok=True)
        java.unlink(missing_ok=True)


@contextmanager
def _environment(changed: Mapping[str, str]) -> Iterator[None]:
    """Adds `changed` to this process's environment inside, and hides our settings."""
    ours = variable("")
    hidden = [n for n in os.environ if n.startswith(ours) and n not in OTHER_VARIABLES]
    before = {name: os.environ.get(name) for name in (*hidden, *changed)}
    for name in hidden:
        del os.environ[name]
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _write(properties: Path, java: Path, settings: dict[str, str]) -> None:
    options = settings.get(_JAVA_OPTIONS, "")
    # Spark itself reports that a heap's size belongs elsewhere.
    if "-Xmx" not in options:
        everywhere = (options, *(os.environ.get(name, "") for name in _JAVA_VARIABLES))
        words = shlex.split(options)
        if _TEMPORARY not in " ".join(everywhere):
            words.append(f"{_TEMPORARY}{properties.parent}")
        _private(java, "".join(f'"{_escaped(option)}"\n' for option in words))
        settings[_JAVA_OPTIONS] = f"@{java}"
    lines = (f"{_property(name)}={_property(text)}\n" for name, text in settings.items())
    _private(properties, "".join(lines))


def _escaped(option: str) -> str:
    """Quotes an option for a file of Java's launcher."""
    return option.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _property(text: str) -> str:
    """Escapes text for java.util.Properties: in ASCII, other characters by their UTF-16."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    return "".join([chr(n) if chr(n) in _PLAIN else f"\\u{n:04x}" for n in units])


_PLAIN = frozenset(map(chr, range(0x21, 0x7F))) - frozenset("\\=:#!")


def _private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
