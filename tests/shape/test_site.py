"""The documentation site: each page has its place, and what it says of settings, commands and
messages is what the code has."""

import ast
import importlib.util
import re
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import ticdc_consumer
import yaml
from ticdc_consumer import api
from ticdc_consumer.api import results
from ticdc_consumer.cli.arguments import parser, parsers_of
from ticdc_consumer.config import reference
from ticdc_consumer.config.settings import examples

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
README = (ROOT / "README.md").read_text()
ERRORS = (DOCS / "reference" / "errors.md").read_text()


@cache
def generated() -> ModuleType:
    return module_of("generated")


def module_of(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages(tree: Any) -> list[str]:
    """Those of the navigation, in their order."""
    if isinstance(tree, str):
        return [tree]
    entries = tree if isinstance(tree, list) else tree.values()
    return [page for entry in entries for page in pages(entry)]


def test_every_page_has_one_place_in_the_navigation() -> None:
    written = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
    assert sorted(pages(SITE["nav"])) == written, "see nav in mkdocs.yml"


def test_every_generated_part_is_made_and_used() -> None:
    texts = [path.read_text() for path in DOCS.rglob("*.md")]
    used = {name for text in texts for name in generated().MARKER.findall(text)}
    assert used == set(generated().PARTS)


def test_every_setting_is_in_the_reference() -> None:
    text = generated().settings()
    assert [name for name in examples() if f"`{name}`" not in text and name not in text] == []


SETTINGS = [
    ("limits.memory_budget", 'bytes, such as 65536 or "256 MiB"', '`"384 MiB"`'),
    ("target.apply", "`net` or `transactions`", '`"net"`'),
    ("tables.case_sensitive", "true or false", "`false`"),
    ("changefeed", "text", "**required**"),
    (
        "kafka.topics",
        'list of texts, such as ["a", "b"]',
        "**required**, unless `storage.url` is set",
    ),
    ("from_ts", "TSO, such as 429918007904436226", ""),
]


@pytest.mark.parametrize(("name", "takes", "default"), SETTINGS)
def test_a_setting_shows_what_it_takes_and_its_default(name: str, takes: str, default: str) -> None:
    (setting,) = (each for each in reference.settings() if each.name == name)
    assert generated().setting_row(setting)[:3] == (f"`{name}`", takes, default)


def test_every_command_is_in_the_reference() -> None:
    text = generated().command_line()
    commands = parsers_of(parser())
    assert {"run", "check", "status"} <= set(commands)
    assert [name for name in commands if f"\n## {name}\n" not in f"\n{text}"] == []
    assert "`--until caught-up\\|TS`" in text


@cache
def texts_of_the_code() -> str:
    """All texts of both packages, with `…` for what varies in them."""
    found: list[str] = []
    for folder in ("consumer", "encoder"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            nodes = ast.walk(ast.parse(path.read_text()))
            found += [generated().template(n) for n in nodes if isinstance(n, ast.expr)]
    return "\n".join(text for text in found if text != "…")


def documented_messages() -> list[str]:
    tables = ERRORS.partition("## The log")[2]
    return re.findall(r"^\| `([^`]+)` \|", tables, re.MULTILINE)


@pytest.mark.parametrize("message", documented_messages())
def test_a_message_that_is_explained_exists(message: str) -> None:
    pattern = ".*".join(map(re.escape, message.split("…")))
    assert re.search(pattern, texts_of_the_code())


def test_a_message_that_is_gone_would_be_noticed() -> None:
    assert "an error that nothing raises" not in texts_of_the_code()
    assert len(documented_messages()) > 30


def test_all_messages_are_listed_by_their_exit_code() -> None:
    messages = set(generated().messages())
    assert len(messages) > 250
    assert (4, "the target no longer has a checkpoint of changefeed …") in messages
    assert (1, "Spark's cluster has no executor") in messages


ADDRESS = "https://example.org/project"
LINKS = [
    ("[a](../../tests/README.md#x)", ADDRESS, f"[a]({ADDRESS}/blob/main/tests/README.md#x)"),
    ("[a](../../samples/embed)", ADDRESS, f"[a]({ADDRESS}/tree/main/samples/embed)"),
    ("[a](../../tests/README.md#x)", "", "a (`tests/README.md`)"),
    ("[a](../tutorial.md)", ADDRESS, "[a](../tutorial.md)"),
    ("[a](../../no/such.md)", "", "[a](../../no/such.md)"),
]


@pytest.mark.parametrize(("written", "address", "made"), LINKS)
def test_a_link_out_of_the_documents_leads_into_the_repository(
    written: str, address: str, made: str
) -> None:
    page = DOCS / "reference" / "types.md"
    assert generated().with_links(written, page, address) == made


def test_the_pictures_of_the_readme_are_files_of_the_repository() -> None:
    pictures = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert len(pictures) >= 3
    assert [picture for picture in pictures if not (ROOT / picture).is_file()] == []


RECORDING = [
    (0.0, "$ demo"),
    (1.0, "from <here>"),
    (9.0, "R 1: 1 change"),
    (9.5, "R 2: 2 changes"),
    (10.0, "every table equals"),
]
SHOWN = [
    ("$ demo", "28", "come 0.0s step-end"),
    ("from <here>", "47", "come 1.0s step-end"),
    ("R 1: 1 change", "66", "pass 0.5s 2.0s"),
    ("R 2: 2 changes", "66", "come 2.5s step-end"),
    ("every table equals", "85", "come 3.0s step-end"),
]


def test_a_recording_shows_lines_in_time_and_progress_in_place() -> None:
    svg = ET.fromstring(module_of("pictures").animated(RECORDING))
    texts = [each for each in svg if each.tag.endswith("text")]
    styles = [each.get("style", "").removeprefix("animation: ") for each in texts]
    assert [(t.text, t.get("y"), s) for t, s in zip(texts, styles, strict=True)] == SHOWN


def test_the_pictures_load_nothing() -> None:
    svg = (DOCS / "pictures" / "demo.svg").read_text()
    assert "every table equals the upstream at R = " in svg
    assert "://" not in svg.replace("http://www.w3.org/2000/svg", "").replace("sqlite:///", "")


def test_the_api_page_is_what_the_code_has() -> None:
    made = module_of("api_page").page()
    assert (DOCS / "reference" / "api.md").read_text() == made, "run: python docs/api_page.py"


def test_the_api_page_shows_every_public_name() -> None:
    shown = {each.name for part in module_of("api_page").parts().values() for each in part}
    assert {*ticdc_consumer.__all__, *api.__all__, *results.__all__} <= shown


def test_every_function_for_programs_is_exported() -> None:
    tree = ast.parse(Path(api.__file__).read_text())
    defined = [each.name for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef)]
    assert sorted(api.__all__) == sorted(name for name in defined if not name.startswith("_"))


def test_every_type_in_a_public_signature_is_exported() -> None:
    assert module_of("api_page").hidden() == set()


def test_the_projects_address_stands_in_one_place() -> None:
    """There is no repository until its owner sets an address in pyproject.toml."""
    written = [
        ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md", "mkdocs.yml")
    ]
    written += [*DOCS.rglob("*.md"), *(ROOT / "deploy").rglob("*.*")]
    own = re.compile(r"https?://[^\s)]+/ticdc-consumer\b")
    texts = [path.read_text() for path in written if path.suffix != ".png"]
    assert [address for text in texts for address in own.findall(text)] == []
