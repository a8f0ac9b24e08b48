"""What MkDocs does not do by itself: parts of pages that are made from the code, and links that
lead out of `docs/`.

A page has `<!-- generated: NAME -->` where the part goes that `PARTS[NAME]` makes.
"""

import argparse
import ast
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ticdc_consumer.cli.arguments import parser
from ticdc_consumer.config import parsers
from ticdc_consumer.config.options import Options
from ticdc_consumer.config.settings import REQUIRED, SECTIONS, SETTINGS, URLS, variable

ROOT = Path(__file__).resolve().parent.parent
MARKER = re.compile(r"<!-- generated: ([a-z-]+) -->")
LINK = re.compile(r"(\]\()((?:\.\./)+[^)#\s]+)((?:#[^)\s]*)?\))")

CODES = {
    **dict.fromkeys(("Unavailable", "Away"), 1),
    "Usage": 2,
    **dict.fromkeys(("Stop", "Denied", "NoTable", "InTheWay", "Conflict", "Unsupported"), 3),
    "Fenced": 4,
}
"""The class of an error -> its exit code."""

FORMS: dict[Callable[[Any], Any], str] = {
    parsers.text: "text",
    parsers.characters: "text",
    parsers.prefix: "URL",
    parsers.names: "list of texts",
    parsers.topics: "list of texts",
    parsers.filter_rules: "list of rules",
    parsers.lossy_rules: "list of [rules](types.md#rules)",
    parsers.flag: "`true` or `false`",
    parsers.whole_number: "whole number",
    parsers.count: "whole number, 1 or more",
    parsers.write_source: "1 to 15",
    parsers.timestamp: "timestamp (TSO)",
    parsers.seconds: "seconds",
    parsers.sign_interval: "seconds, 6 or more",
    parsers.duration: 'seconds, or `"5m"`, `"24h"`, `"7d"`',
    parsers.size: 'bytes, or `"256 MiB"`',
    parsers.address: "host and port",
    parsers.time_zone: "name of a time zone",
    parsers.protocol: "a [protocol](protocols.md)",
    parsers.csv_settings: "table",
    parsers.ddl_kinds: "table: kind = `stop` or `skip`",
    parsers.ddl_tables: "table: pattern = `stop` or `skip`",
}
"""What a setting's parser takes, in words."""

SIZES = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
TIMES = ((86_400, "d"), (3_600, "h"), (60, "m"), (1, "s"))


def form(option: str) -> str:
    """What a setting takes."""
    setting = SETTINGS[option]
    hint = get_type_hints(Options)[option]
    if get_origin(hint) is Literal:
        return " or ".join(f"`{name}`" for name in get_args(hint))
    return "table" if setting.is_table and setting.read not in FORMS else FORMS[setting.read]


def default(field: Field[Any]) -> str:
    """A setting's default, as it would be written."""
    setting = SETTINGS[field.name]
    value = field.default_factory() if field.default_factory is not MISSING else field.default
    if value is MISSING:
        return "**required**"
    if value in (None, (), {}, frozenset()):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return "`[" + ", ".join(f'"{item}"' for item in value) + "]`"
    if setting.read is parsers.size:
        return f'`"{_in_units(value, SIZES, " ")}"`'
    if setting.read is parsers.duration:
        return f'`"{_in_units(value, TIMES, "")}"`' if value else "`0`"
    if isinstance(value, int | float):
        return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"
    return f"`{value!r}`".replace("'", '"')


def _in_units(value: float, units: tuple[tuple[int, str], ...], space: str) -> str:
    for size, name in units:
        if value % size == 0:
            return f"{value / size:.0f}{space}{name}"
    return f"{value:.0f}"


def settings_rows() -> Iterator[tuple[str, str, str, str]]:
    """Name, what it takes, default, meaning."""
    for field in fields(Options):
        if field.name in SETTINGS:
            setting = SETTINGS[field.name]
            # Topics are not asked for beside a storage; nothing else depends on another setting.
            needed = "**required**, unless `storage.url` is set"
            of_kafka = setting.name.startswith("kafka.")
            yield (
                setting.name,
                form(field.name),
                needed if of_kafka else default(field),
                setting.help,
            )
    for option, url in URLS.items():
        needed = "**required**" if _required(option) else ""
        yield url.name, "URL", needed, f"{url.help}: `{url.example}`"
        yield f"{url.name}_file", "path", "", "a file with the URL"
        yield url.password, "text", "", "the password of the URL"
        yield f"{url.password}_file", "path", "", "a file with the password"


def _required(option: str) -> bool:
    (field,) = (field for field in fields(Options) if field.name == option)
    return field.default is MISSING and field.default_factory is MISSING


def settings() -> str:
    """All settings, a table for each section."""
    sections: dict[str, list[tuple[str, str, str, str]]] = {}
    for row in settings_rows():
        section = row[0].partition(".")[0] if "." in row[0] else ""
        sections.setdefault(section, []).append(row)
    passing = {section.name: section for section in SECTIONS.values()}
    lines: list[str] = []
    for name in sorted({*sections, *passing}):
        lines += [f"## `[{name}]`" if name else "## Top level", ""]
        if name in passing:
            example = passing[name].example
            needed = "required, unless `storage.url` is set; " if example in REQUIRED else ""
            lines += [f"Passes through: {passing[name].help} ({needed}`{variable(example)}`).", ""]
        if rows := sections.get(name):
            lines += ["| setting | takes | default | meaning |", "|---|---|---|---|"]
            lines += [f"| `{row[0]}` | {' | '.join(map(_cell, row[1:]))} |" for row in rows]
            lines += [""]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    (subcommands,) = (
        action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    return dict(subcommands.choices)


def command_line() -> str:
    """All commands with their arguments, without the settings, which have a page of their own."""
    lines: list[str] = []
    for name, command in commands().items():
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
    for path in sorted((ROOT / "consumer" / "ticdc_consumer").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
                code = CODES.get(node.func.id)
                text = re.sub(r"(?:…\s?)+…", "…", template(node.args[0]))
                if code is not None and len(re.sub(r"\W", "", text)) > 10:
                    yield code, " ".join(text.split())


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


PARTS: dict[str, Callable[[], str]] = {
    "settings": settings,
    "cli": command_line,
    "messages": message_list,
}


def with_parts(markdown: str) -> str:
    """The page, with what is made from the code."""
    return MARKER.sub(lambda match: PARTS[match[1]](), markdown)


def with_links(markdown: str, page: Path, repository: str) -> str:
    """The page, whose links to files outside `docs/` lead into the repository."""

    def outward(match: re.Match[str]) -> str:
        path = (page.parent / match[2]).resolve()
        if path.is_relative_to(ROOT / "docs") or not path.exists():
            return match[0]  # for MkDocs to judge
        kind = "raw" if path.suffix == ".png" else "tree" if path.is_dir() else "blob"
        return f"{match[1]}{repository}/{kind}/main/{path.relative_to(ROOT)}{match[3]}"

    return LINK.sub(outward, markdown)


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """MkDocs' hook."""
    text = with_parts(markdown)
    return with_links(text, Path(page.file.abs_src_path), config["repo_url"].rstrip("/"))
