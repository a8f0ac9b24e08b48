"""The oldest releases that are tested are the oldest that `pyproject.toml` allows."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = ("postgresql", "mysql", "avro", "storage", "metrics")
NOT_LAID_OVER = {"pyspark", "tzdata"}
"""Spark is too large for it, and a time zone's data have no oldest release that is right."""


def oldest() -> dict[str, str]:
    lines = (ROOT / "tests" / "versions" / "oldest.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines)


def floors() -> dict[str, str]:
    wanted = [
        *PROJECT["dependencies"],
        *(d for e in EXTRAS for d in PROJECT["optional-dependencies"][e]),
    ]
    named = [re.fullmatch(r"([\w-]+)(\[\w+\])?>=([\d.]+)(,<\d+)?", one) for one in wanted]
    return {one[1].lower().replace("_", "-"): one[3] for one in named if one is not None}


def test_the_oldest_are_those_that_are_allowed() -> None:
    tested, allowed = oldest(), floors()
    assert allowed.keys() - NOT_LAID_OVER == tested.keys() - {"psycopg-binary"}
    for name in allowed.keys() - NOT_LAID_OVER:
        assert f"{tested[name]}.0.0".startswith(f"{allowed[name]}."), name


def test_none_of_them_is_newer_than_what_is_locked() -> None:
    def parts(text: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", text)]

    newer = {name: old for name, old in oldest().items() if parts(version(name)) < parts(old)}
    assert newer == {}
