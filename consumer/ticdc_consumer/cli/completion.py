"""Shell completion scripts for the command line, made from its parser."""

import argparse
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ticdc_consumer.cli.arguments import Parser, parser, parsers_of

PROGRAM = "ticdc-consumer"


@dataclass(frozen=True, slots=True)
class _Option:
    names: tuple[str, ...]
    help: str
    choices: tuple[str, ...]
    takes_value: bool


@dataclass(frozen=True, slots=True)
class _Completed:
    """A command: its options, and the words that may follow it (files if there are none)."""

    name: str
    help: str
    options: tuple[_Option, ...]
    words: tuple[str, ...]


def script(shell: str) -> str:
    """The script for `bash`, `zsh` or `fish` to source."""
    return "\n".join(SHELLS[shell](list(_completed(parser())))) + "\n"


def _completed(whole: Parser) -> Iterator[_Completed]:
    for name, command in parsers_of(whole).items():
        options = tuple(_option(each) for each in command._actions if each.option_strings)
        positional = [each for each in command._actions if not each.option_strings]
        words = tuple(str(c) for each in positional for c in each.choices or ())
        yield _Completed(name, command.description or "", options, words)


def _option(action: argparse.Action) -> _Option:
    choices = tuple(map(str, action.choices or ()))
    names = tuple(name for name in action.option_strings if name.startswith("--"))
    return _Option(names, action.help or "", choices, action.nargs != 0)


def _bash(commands: list[_Completed]) -> Iterator[str]:
    yield "_ticdc_consumer() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""'
    yield "  COMPREPLY=()"
    yield '  if [ "$COMP_CWORD" -eq 1 ]; then'
    yield f'    words="{" ".join(each.name for each in commands)} --help --version"'
    yield "  else"
    yield '    case "${COMP_WORDS[1]} $before" in'
    for each in commands:
        for option in each.options:
            for name in option.names if option.choices else ():
                yield f'      "{each.name} {name}") words="{" ".join(option.choices)}" ;;'
    yield '      *) case "${COMP_WORDS[1]}" in'
    for each in commands:
        words = [*(name for option in each.options for name in option.names), *each.words]
        yield f'        {each.name}) words="{" ".join(words)}" ;;'
    yield "      esac ;;"
    yield "    esac"
    yield "  fi"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$word"))'
    yield "}"
    yield f"complete -o default -o bashdefault -F _ticdc_consumer {PROGRAM}"


def _zsh(commands: list[_Completed]) -> Iterator[str]:
    yield f"#compdef {PROGRAM}"
    yield "_ticdc_consumer() {"
    yield "  local -a commands"
    yield "  commands=("
    yield from (f"    {shlex.quote(f'{each.name}:{each.help}')}" for each in commands)
    yield "  )"
    yield "  if (( CURRENT == 2 )); then _describe command commands; return; fi"
    yield '  case "$words[2]" in'
    for each in commands:
        arguments = [_zsh_option(name, o) for o in each.options for name in o.names]
        of_command = f"({' '.join(each.words)})" if each.words else "_files"
        arguments.append(shlex.quote(f"*:argument:{of_command}"))
        yield f"    {each.name}) shift words; (( CURRENT-- )); _arguments {' '.join(arguments)} ;;"
    yield "  esac"
    yield "}"
    # A file in fpath is called at once; a sourced one registers itself.
    yield f'if [ "$funcstack[1]" = "_{PROGRAM}" ]; then _ticdc_consumer "$@"'
    yield f"else compdef _ticdc_consumer {PROGRAM}; fi"


def _zsh_option(name: str, option: _Option) -> str:
    text = option.help.replace("[", "(").replace("]", ")").replace(":", " ")
    values = ""
    if option.takes_value:
        values = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files"
    return shlex.quote(f"{name}[{text}]{values}")


def _fish(commands: list[_Completed]) -> Iterator[str]:
    complete = f"complete -c {PROGRAM}"
    for each in commands:
        help_ = shlex.quote(each.help)
        yield f"{complete} -f -n __fish_use_subcommand -a {each.name} -d {help_}"
        seen = f"-n '__fish_seen_subcommand_from {each.name}'"
        for word in each.words:
            yield f"{complete} -f {seen} -a {word}"
        for option in each.options:
            value = f" -x -a {shlex.quote(' '.join(option.choices))}" if option.choices else " -r"
            for name in option.names:
                needs = value if option.takes_value else ""
                yield f"{complete} {seen} -l {name[2:]}{needs} -d {shlex.quote(option.help)}"


SHELLS: Mapping[str, Callable[[list[_Completed]], Iterator[str]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
