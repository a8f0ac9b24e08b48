"""Starts a JVM without showing a setting: `ps` shows the command line of every process."""

import os
import shlex
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ticdc_consumer.config.loading import OTHER_VARIABLES
from ticdc_consumer.config.settings import variable

_SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


@contextmanager
def private_settings(settings: Iterable[tuple[str, str]]) -> Iterator[None]:
    """Inside, `launch_gateway` starts a JVM with these settings by way of files that this user
    alone can read, and without our own settings in its environment. The files are removed at the
    end: the JVM has read them when it answers."""
    folder = Path(tempfile.mkdtemp(prefix="ticdc-spark-"))  # of mode 0700
    try:
        arguments = os.environ.get(_SUBMIT_ARGS, "pyspark-shell")
        file = shlex.quote(str(_properties_file(folder, dict(settings))))
        with _environment(
            {_SUBMIT_ARGS: f"--properties-file {file} --load-spark-defaults {arguments}"}
        ):
            yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _environment(changed: Mapping[str, str]) -> Iterator[None]:
    """This process's environment with `changed`, and without our settings."""
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


def _properties_file(folder: Path, settings: dict[str, str]) -> Path:
    options = settings.get(_JAVA_OPTIONS, "")
    # Of a heap's size Spark says itself that it belongs elsewhere.
    if options and "-Xmx" not in options:
        lines = (f'"{_escaped(option)}"\n' for option in shlex.split(options))
        settings[_JAVA_OPTIONS] = f"@{_private(folder / 'java.options', ''.join(lines))}"
    lines = (f"{_property(name)}={_property(text)}\n" for name, text in settings.items())
    return _private(folder / "spark.properties", "".join(lines))


def _escaped(option: str) -> str:
    """As a file of Java's launcher quotes it."""
    return option.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _property(text: str) -> str:
    """As java.util.Properties reads it: in ASCII, other characters by their UTF-16."""
    units = memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H")
    return "".join([chr(n) if chr(n) in _PLAIN else f"\\u{n:04x}" for n in units])


_PLAIN = frozenset(map(chr, range(0x21, 0x7F))) - frozenset("\\=:#!")


def _private(path: Path, text: str) -> Path:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    return path
