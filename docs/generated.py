"""What MkDocs does not do by itself: parts of pages that are made from the code, and links that
lead out of `docs/`.

A page has `<!-- generated: NAME -->` where the part goes that `PARTS[NAME]` makes.
"""

import argparse
import ast
import html
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ticdc_consumer.cli.arguments import parser, parsers_of
from ticdc_consumer.commands.check.advisories import ADVISORIES
from ticdc_consumer.config import reference
from ticdc_consumer.config.reference import Described
from ticdc_consumer.errors import Fenced, Stop, Unavailable, Usage

ROOT = Path(__file__).resolve().parent.parent
MARKER = re.compile(r"<!-- generated: ([a-z-]+) -->")
LINK = re.compile(r"\[([^]]+)\]\(((?:\.\./)+[^)#\s]+)(#[^)\s]*)?\)")

CODES = {each.__name__: each.exit_code for each in (Unavailable, Fenced, Usage, Stop)}
"""The classes of errors that end a command; those derived from them have their exit codes."""
END_NOTHING = {"LeftOut", "NotInTarget"}
"""Classes whose errors are always dealt with."""


def settings() -> str:
    """All settings, a table for each section."""
    sections: dict[str, list[Described]] = {}
    for setting in reference.settings():
        section = setting.name.partition(".")[0] if "." in setting.name else ""
        sections.setdefault(section, []).append(setting)
    lines: list[str] = []
    for name, described in sections.items():
        lines += [f"## `[{name}]`" if name else "## Top level", ""]
        lines += ["| setting | takes | default | meaning |", "|---|---|---|---|"]
        lines += [f"| {' | '.join(map(_cell, setting_row(each)))} |" for each in described]
        lines += [""]
    return "\n".join(lines)


def setting_row(setting: Described) -> tuple[str, str, str, str]:
    """Name, what it takes, default, meaning."""
    takes = " or ".join(f"`{name}`" for name in setting.allowed) or setting.type
    default = f"`{setting.default}`" if setting.default else ""
    of_kafka = setting.name.startswith("kafka.")
    needed = "**required**, unless `storage.url` is set" if of_kafka else "**required**"
    return f"`{setting.name}`", takes, needed if setting.required else default, setting.help


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def command_line() -> str:
    """All commands with their arguments, without the settings, which have a page of their own."""
    lines: list[str] = []
    for name, command in parsers_of(parser()).items():
        usage = " ".join(command.format_usage().removeprefix("usage: ").split())
        lines += [f"## {name}", "", f"{_sentence(command.description or '')}", ""]
        lines += ["```text", usage, "```", ""]
        rows = [action for action in command._actions if action.dest != "help"]
        if rows:
            lines += ["| argument | meaning |", "|---|---|"]
            lines += [f"| {_cell(_written(a))} | {_cell(a.help or '')} |" for a in rows]
            lines += [""]
        examples = re.search(r"examples?:\n((?:  .*\n?)+)", command.epilog or "")
        if examples:
            lines += ["```sh", *(line.strip() for line in examples[1].splitlines()), "```", ""]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _written(action: argparse.Action) -> str:
    metavar = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
    if isinstance(metavar, tuple):
        metavar = " ".join(metavar)
    if not action.option_strings:
        return f"`{metavar}`"
    choices = "|".join(map(str, action.choices)) if action.choices else metavar
    return f"`{' '.join(filter(None, (', '.join(action.option_strings), choices)))}`"


def messages() -> Iterator[tuple[int, str]]:
    """Exit code and text of each error that the consumer raises, with `…` for what varies."""
    paths = sorted((ROOT / "consumer" / "ticdc_consumer").rglob("*.py"))
    nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text()))]
    codes = exit_codes(node for node in nodes if isinstance(node, ast.ClassDef))
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            code = codes.get(node.func.id)
            text = re.sub(r"(?:…\s?)+…", "…", template(node.args[0]))
            if code is not None and len(re.sub(r"\W", "", text)) > 10:
                yield code, " ".join(text.split())


def exit_codes(classes: Iterable[ast.ClassDef]) -> dict[str, int]:
    """By the name of its class, that of each error that ends a command."""
    bases = {each.name: ast.unparse(each.bases[0]) for each in classes if each.bases}
    codes = {}
    for name in bases.keys() - END_NOTHING:
        root = name
        while root not in CODES and root in bases:
            root = bases[root]
        if root in CODES:
            codes[name] = CODES[root]
    return codes


def template(node: ast.expr) -> str:
    """The text that an expression makes, with `…` for what varies."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(template(part) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return template(left) + template(right)
        case _:
            return "…"


def message_list() -> str:
    """All messages, by exit code."""
    lines: list[str] = []
    for code in sorted(set(CODES.values())):
        lines += [f"### Exit code {code}: all messages", ""]
        lines += [
            f"* {html.escape(text, quote=False)}"
            for text in sorted({t for c, t in messages() if c == code})
        ]
        lines += [""]
    return "\n".join(lines)


def advisories() -> str:
    """The known defects of TiCDC's releases."""
    lines: list[str] = []
    for each in ADVISORIES:
        lines += [
            f"## {each.name[:1].upper()}{each.name[1:]}",
            "",
            f"[{each.issue}]({each.url}). Affected: {each.releases}.",
            "",
            f"* **Defect:** {each.defect}.",
            f"* **Harm to this target:** {each.here}.",
            f"* **What to do:** {each.remedy}.",
            "",
        ]
    return "\n".join(lines)


PARTS: dict[str, Callable[[], str]] = {
    "advisories": advisories,
    "settings": settings,
    "cli": command_line,
    "messages": message_list,
}


def with_parts(markdown: str) -> str:
    """The page, with what is made from the code."""
    return MARKER.sub(lambda match: PARTS[match[1]](), markdown)


def repository() -> str:
    """The project's address, "" as long as its owner has set none in pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return str(project.get("urls", {}).get("Repository", "")).rstrip("/")


def with_links(markdown: str, page: Path, repository: str) -> str:
    """The page, whose links to files outside `docs/` lead into the repository. They are names of
    files as long as the repository has no address."""

    def outward(match: re.Match[str]) -> str:
        text, link, anchor = match.groups()
        path = (page.parent / link).resolve()
        if path.is_relative_to(ROOT / "docs") or not path.exists():
            return match[0]  # for MkDocs to judge
        name = path.relative_to(ROOT)
        if not repository:
            return f"{text} (`{name}`)"
        kind = "tree" if path.is_dir() else "blob"
        return f"[{text}]({repository}/{kind}/main/{name}{anchor or ''})"

    return LINK.sub(outward, markdown)


def on_config(config: Any) -> Any:
    """MkDocs' hook."""
    if address := repository():
        config["repo_url"] = address
        config["edit_uri"] = "blob/main/docs/"
    return config


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """MkDocs' hook."""
    text = with_parts(markdown)
    return with_links(text, Path(page.file.abs_src_path), repository())
