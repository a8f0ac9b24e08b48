"""Every block of code in the documents is run or parsed: commands by the program's own parser,
TOML by its own settings, YAML, JSON and Python by their parsers, shell by bash."""

import ast
import importlib
import importlib.util
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from ticdc_consumer import config
from ticdc_consumer.cli.arguments import parser as consumer_parser
from ticdc_consumer.config.settings import examples, variable
from ticdc_consumer.errors import Usage
from ticdc_encoder import Changefeed
from ticdc_encoder.cli.commands import parser as encoder_parser
from ticdc_torture.cli import parser as torture_parser

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = sorted(
    {
        *ROOT.glob("*.md"),
        *(path for top in ("docs", "samples", "deploy") for path in (ROOT / top).rglob("*.md")),
        *(ROOT / "tests").glob("*.md"),
    }
    - {ROOT / "CHANGELOG.md"}
)
FENCE = re.compile(r"^( *)```([a-z]*)([^\n]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]+)"')
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WHEEL = f"ticdc_consumer-{PROJECT['version']}-py3-none-any.whl"
"""What `make wheel` builds."""

FOREIGN = {
    *(
        "apt-get",
        "bash",
        "cat",
        "cd",
        "curl",
        "docker",
        "echo",
        "export",
        "jq",
        "journalctl",
        "kubectl",
    ),
    *("make", "mkdir", "mysqldump", "pg_dump", "pg_restore", "promtool"),
    *("psql", "set", "spark-submit", "sqlite3"),
    *(
        "sudo",
        "systemctl",
        "systemd-creds",
        "source",
        "tiup",
        "true",
        "useradd",
        "venv-pack",
        "id",
        "cp",
    ),
}
"""Commands of others, which the documents may use; `bash -n` reads their lines."""
WRAPPERS = {"timeout": 1, "sudo": 0, "env": 0}
"""Commands that run another one, and how many arguments of theirs come before it."""
BASE: Mapping[str, str] = {
    "changefeed": "orders",
    "protocol": "canal-json",
    "kafka.topics": "orders",
    "kafka.bootstrap.servers": "localhost:9092",
    "target.url": "sqlite:///orders.db",
}
"""What a part of a configuration lacks."""
URI = "kafka://localhost:9092/orders?protocol=canal-json&enable-tidb-extension=true"


@dataclass(frozen=True)
class Block:
    document: Path
    line: int
    language: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


def blocks_of(document: Path) -> Iterator[Block]:
    text = document.read_text()
    for match in FENCE.finditer(text):
        indent, language, info, body = match.groups()
        title = TITLE.search(info)
        plain = "".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
        line = text.count("\n", 0, match.start()) + 1
        yield Block(document, line, language, title[1] if title else "", plain)


BLOCKS = [block for document in DOCUMENTS for block in blocks_of(document)]


@cache
def words_of(text: str) -> tuple[tuple[str, ...], ...]:
    """The simple commands of a shell text, as words."""
    commands: list[tuple[str, ...]] = []
    for line in text.replace("\\\n", " ").splitlines():
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;()<>")
        lexer.whitespace_split = True
        command: list[str] = []
        for word in [*lexer, ";"]:
            if set(word) <= set("|&;()"):
                commands.append(tuple(command))
                command = []
            else:
                command.append(word)
    return tuple(filter(None, commands))


def commands_of(block: Block) -> Iterator[list[str]]:
    """Each command without its variables, its redirections, and what runs it."""
    # A program in quotes over several lines is one word.
    text = re.sub(r'-c "\n.*?\n"', "-c PROGRAM", block.text, flags=re.DOTALL)
    text = re.sub(r"\$\(([^()]*)\)", r"VALUE; \1", text).replace('"VALUE; ', "VALUE; ")
    for words in words_of(text):
        command = list(words)
        while command and re.fullmatch(r"[A-Za-z_]+=.*", command[0]):
            name = command.pop(0).partition("=")[0]
            if name.startswith("TICDC_"):
                assert name in known_variables(), name
        for number, word in enumerate(command):
            if set(word) <= {"<", ">"} and word:
                command = command[:number]
                break
        if command and command[0] in WRAPPERS:
            wrapper = command.pop(0)
            while command[0].startswith("-"):
                command.pop(0)
            del command[: WRAPPERS[wrapper]]
        if command:
            yield command


@cache
def known_variables() -> set[str]:
    names = [*examples(), "kafka.sasl.password", "kafka.sasl.username"]
    return {*map(variable, names), "TICDC_DEBUG"}


def blocks(*languages: str) -> pytest.MarkDecorator:
    chosen = [block for block in BLOCKS if block.language in languages]
    assert chosen
    return pytest.mark.parametrize("block", chosen, ids=str)


def test_every_block_has_a_language_that_is_checked() -> None:
    known = {"", "dockerfile", "ini", "json", "python", "sh", "sql", "text", "toml", "yaml"}
    assert {str(block) for block in BLOCKS if block.language not in known} == set()


@blocks("sh")
def test_a_shell_block_is_shell_and_its_commands_exist(block: Block) -> None:
    subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)
    for command in commands_of(block):
        program, *rest = command
        name = Path(program).name
        if name == "ticdc-consumer":
            accepts(consumer_parser(), rest)
        elif name == "ticdc-encoder":
            accepts(encoder_parser(), rest)
        elif name == "ticdc-torture":
            accepts(torture_parser(), rest)
        elif name in ("python", "python3"):
            check_python(rest)
        elif name == "pip":
            check_pip(rest)
        else:
            assert (ROOT / program).exists() or name in FOREIGN | {"."}, command


def accepts(parser: Any, arguments: list[str]) -> None:
    if "--help" in arguments:
        return
    try:
        parser.parse_args(arguments)
    except SystemExit as error:
        raise AssertionError(f"refused: {arguments}") from error


def check_python(arguments: list[str]) -> None:
    match arguments:
        case ["-m", "ticdc_consumer", *rest]:
            accepts(consumer_parser(), rest)
        case ["-m", module, *_]:
            assert importlib.util.find_spec(module), module
        case ["-c", *_]:
            pass
        case [path, *_]:
            assert (ROOT / path).exists(), path


def check_pip(arguments: list[str]) -> None:
    for requirement in arguments:
        name = r"(?:ticdc-consumer|-e \.|\.|dist/(.+\.whl))"
        if match := re.fullmatch(name + r"\[([\w,]+)\]", requirement):
            assert match[1] in (None, WHEEL), requirement
            assert set(match[2].split(",")) <= set(PROJECT["optional-dependencies"]), requirement


@blocks("toml")
def test_a_toml_block_is_settings(block: Block, tmp_path: Path) -> None:
    document = tomllib.loads(block.text)
    if block.title.startswith("changefeed"):
        Changefeed(URI, document, version="8.5.7", new_architecture=True)
    elif "project" not in document:
        loads_as_settings(block.text, document, tmp_path)


def loads_as_settings(text: str, document: Mapping[str, Any], folder: Path) -> None:
    """By `Settings.read`, with what a part of a configuration lacks."""
    base = dict(BASE)
    if "storage" in document:
        base = {name: value for name, value in base.items() if not name.startswith("kafka.")}
    if "registry" in document:
        base["protocol"] = "avro"
    sets = [f"{name}={value}" for name, value in base.items() if not has(document, name)]
    text = re.sub(r'^("?[\w.]+_file"?) = ".*"', rf'\1 = "{folder / "secret"}"', text, flags=re.M)
    text = re.sub(r"^oauth_cb = .*", 'oauth_cb = "shape.test_blocks:token"', text, flags=re.M)
    text = re.sub(r'^("ssl\.[\w.]+\.?location") = .*\n', "", text, flags=re.M)
    (folder / "secret").write_text("secret")
    path = folder / "orders.toml"
    path.write_text(text)
    assert config.Settings.read(path, sets, environ={}).changefeed


def has(document: Any, name: str) -> bool:
    """Whether it has the setting, its dots in quotes or not."""
    if not isinstance(document, dict):
        return False
    head, _, rest = name.partition(".")
    return name in document or (head in document and (not rest or has(document[head], rest)))


def token(_: str) -> tuple[str, float]:
    """What `oauth_cb` of a block is taken to name."""
    return "token", 0.0


@blocks("python")
def test_a_python_block_is_python_and_imports_what_exists(block: Block) -> None:
    tree = ast.parse(block.text)
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ticdc_"):
            module = importlib.import_module(str(node.module))
            assert [a.name for a in node.names if not hasattr(module, a.name)] == []


@blocks("yaml")
def test_a_yaml_block_is_yaml(block: Block) -> None:
    assert list(yaml.safe_load_all(block.text))


def test_a_json_block_is_json() -> None:
    for block in BLOCKS:
        if block.language == "json":
            json.loads(block.text)


WRONG = [
    "ticdc-consumer runn orders.toml",
    "ticdc-consumer run orders.toml --from TS",
    "TICDC_TARGETS_URL=x ticdc-consumer run orders.toml",
    "python -m ticdc_consumer.nothing",
    "pip install 'ticdc-consumer[nothing]'",
    "pip install 'dist/ticdc_consumer-0.0.1-py3-none-any.whl[mysql]'",
    "no-such-command",
    "cat x | no-such-command",
]


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_command_is_noticed(text: str) -> None:
    block = Block(ROOT / "README.md", 1, "sh", "", text)
    with pytest.raises((AssertionError, ModuleNotFoundError)):
        test_a_shell_block_is_shell_and_its_commands_exist(block)


WRONG_SETTINGS = ["[targets]\nurl = 'x'", "[limits]\nretries = 0", "[ddl.kinds]\nVIEWS = 'skip'"]


@pytest.mark.parametrize("text", WRONG_SETTINGS)
def test_a_wrong_setting_is_noticed(text: str, tmp_path: Path) -> None:
    block = Block(ROOT / "README.md", 1, "toml", "", text)
    with pytest.raises(Usage):
        test_a_toml_block_is_settings(block, tmp_path)
