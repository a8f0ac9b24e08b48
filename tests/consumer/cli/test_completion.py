"""What completes the command line in a shell."""

import shlex
import shutil
import subprocess

import pytest
from ticdc_consumer.cli import arguments as command_line
from ticdc_consumer.cli import main
from ticdc_consumer.cli.completion import SHELLS, script

COMPLETE = """
{script}
COMP_WORDS=({words}); COMP_CWORD={last}
_ticdc_consumer
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def completed(*words: str) -> list[str]:
    """What bash offers for the last word."""
    quoted = " ".join(f'"{word}"' for word in ("ticdc-consumer", *words))
    program = COMPLETE.format(script=script("bash"), words=quoted, last=len(words))
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


CASES = [
    (("sta",), ["status"]),
    (("se",), ["settings"]),
    (("run", "orders.toml", "--until"), ["--until"]),
    (("status", "orders.toml", "--j"), ["--json"]),
    (("status", "orders.toml", "--from"), []),
    (("run", "orders.toml", "--log-format", ""), ["text", "json"]),
    (("demo", "--protocol", "open"), ["open-protocol"]),
    (("completion", "f"), ["fish"]),
    (("nothing", ""), []),
]


@pytest.mark.parametrize(("words", "offered"), CASES)
def test_bash_offers_commands_options_and_values(
    words: tuple[str, ...], offered: list[str]
) -> None:
    assert completed(*words) == offered


@pytest.mark.parametrize("shell", command_line.COMPLETED_SHELLS)
def test_a_script_has_every_command_and_option(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    printed = capsys.readouterr().out
    parsers = command_line.parsers_of(command_line.parser())
    assert [name for name in parsers if name not in printed] == []
    assert "log-format" in printed and "when-" not in printed


@pytest.mark.parametrize("shell", command_line.COMPLETED_SHELLS)
def test_a_shell_parses_its_script(shell: str) -> None:
    assert set(SHELLS) == set(command_line.COMPLETED_SHELLS)
    program = shutil.which(shell)
    if program is None:
        # Not on this machine: at least the quotes of each line are closed.
        for line in script(shell).splitlines():
            shlex.split(line)
        return
    option = "--no-execute" if shell == "fish" else "-n"
    done = subprocess.run([program, option], input=script(shell), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
