"""What the documents name exists: files, folders, make targets, classes and constants."""

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TESTS = ROOT / "tests"
PYTHON = ("encoder", "consumer", "tests", "samples", "bench")
ROOTS = (
    *(ROOT, ROOT / "tests", ROOT / "encoder", ROOT / "consumer"),
    *(ROOT / "encoder" / "ticdc_encoder", ROOT / "consumer" / "ticdc_consumer"),
    ROOT / "consumer" / "ticdc_torture",
)
DOCUMENTS = sorted(
    {
        *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(path for top in ("tests", "samples") for path in (ROOT / top).rglob("*.md")),
    }
)
BLOCK = re.compile(r"^( *)```[a-z]+.*?^\1```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
FILE = re.compile(r"(?<![\w./*:-])[\w.*-]+(?:/[\w.*-]+)*\.(?:py|sql|md|png)\b")
FOLDER = re.compile(r"[\w.*-]+(?:/[\w.*-]+)*/")
MADE = re.compile(r"^make ((?:[a-z-]+ ?)+)|`make ((?:[a-z-]+ ?)+)", re.MULTILINE)
NAME = re.compile(r"_?(?:[A-Z][a-z]+\w*|[A-Z]+(?:_[A-Z]+)+)")
TESTED_IN = {"ticdc_consumer": (TESTS / "consumer", TESTS), "ticdc_torture": (TESTS / "torture",)}
PLACEHOLDER = {"x/y.py", "x/test_y.py", "version_N.*.sql", "NAME.py", "NAME/"}
"""Names that stand for any module, or for a file that is still to be written."""


def named(document: Path) -> str:
    return str(document.relative_to(ROOT))


@pytest.fixture(params=DOCUMENTS, ids=named)
def document(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


@cache
def source() -> str:
    return "\n".join(
        path.read_text() for folder in PYTHON for path in sorted((ROOT / folder).rglob("*.py"))
    )


def exists(reference: str, document: Path) -> bool:
    """A path from a root or beside the document; a bare file name may be anywhere."""
    patterns = [(root, reference) for root in (document.parent, *ROOTS)]
    if "/" not in reference:
        patterns += [(ROOT / folder, f"**/{reference}") for folder in (*PYTHON, "docs")]
    return any(next(folder.glob(pattern), None) for folder, pattern in patterns)


def references(text: str) -> Iterator[str]:
    """Without those of blocks with a language, which `test_blocks.py` reads."""
    text = BLOCK.sub("", text)
    yield from (target for target in LINK.findall(text) if "://" not in target)
    yield from FILE.findall(re.sub(r"https?://\S+", "", text))
    yield from (code for code in CODE.findall(text) if FOLDER.fullmatch(code))


def test_every_file_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text()
    missing = {name for name in references(text) if not exists(name.rstrip("/"), document)}
    assert {name for name in missing if not name.endswith(tuple(PLACEHOLDER))} == set()


def test_a_changelog_fragment_is_one_short_list_item() -> None:
    fragments = {p.name: p.read_text() for p in (ROOT / "changelog.d").iterdir()}
    assert fragments.pop("README.md")
    item = re.compile(r"- \S.*\n(?:  \S.*\n){0,2}")
    wrong = [name for name, text in fragments.items() if not item.fullmatch(text)]
    assert wrong == [], "see changelog.d/README.md"


def test_a_release_of_the_changelog_is_read_in_two_minutes() -> None:
    sections = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    long = [text.splitlines()[0] for text in sections if len(text.split()) > 600]
    assert long == [], "restore CHANGELOG.md of main, and write the entry into changelog.d/NAME.md"


def test_every_make_target_that_a_document_names_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    used = {
        word for match in MADE.findall(document.read_text()) for word in " ".join(match).split()
    }
    assert used <= targets


@pytest.mark.parametrize(
    "name",
    ["CONTRIBUTING.md", "docs/explanation/architecture.md", "docs/how-to/write-a-target.md"],
)
def test_every_class_and_constant_that_a_document_names_exists(name: str) -> None:
    names = {code for code in CODE.findall((ROOT / name).read_text()) if NAME.fullmatch(code)}
    assert names
    assert {name for name in names if not re.search(rf"\b{name}\b", source())} == set()


def test_the_test_of_every_module_is_found() -> None:
    """By its path, or by the table in tests/README.md."""
    listed = set(modules_with_tests_elsewhere())
    lost = []
    for package, tops in TESTED_IN.items():
        for path in sorted((ROOT / "consumer" / package).rglob("*.py")):
            module = path.relative_to(ROOT / "consumer" / package)
            own = [top / module.parent / f"test_{module.name}" for top in tops]
            known = any(fnmatch(str(module), f"{pattern}*") for pattern in listed)
            if (
                module.name != "__init__.py"
                and not known
                and not any(test.exists() for test in own)
            ):
                lost.append(f"{package}/{module}")
    assert lost == []


def modules_with_tests_elsewhere() -> Iterator[str]:
    """The first column of the table; a bare file name is in the folder of the one before."""
    table = (TESTS / "README.md").read_text().partition("## Module -> test")[2]
    for row in re.findall(r"^\|([^|]*)\|", table, re.MULTILINE):
        folder = ""
        for name in CODE.findall(row):
            yield name if "/" in name else folder + name
            folder = name.rpartition("/")[0] + "/" if "/" in name else folder
