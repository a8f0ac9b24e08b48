"""Names and values that would move the cursor, begin lines or reverse text: no command shows them
as they are."""

import re

import pytest
from support.torture_cli import Begin
from support.torture_topics import inserted, table, ts
from ticdc_consumer.cli import commands as cli
from ticdc_encoder.event import Ddl

HOSTILE = "a\x1b[2J\nFAKE: b\r\t\x7f\x9b\u202ec\u2066d\u2028"
SHOWN = "a\\u001b[2J"
RAW = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
CREATE = f"CREATE TABLE `{HOSTILE}` (`id` INT NOT NULL PRIMARY KEY, `{HOSTILE}` VARCHAR(40))"


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> "Said":
    return Said(capsys)


class Said:
    """What a command printed, of which no line may begin with what a name has."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def by(self, *arguments: str) -> tuple[int, str]:
        self._capsys.readouterr()
        code = cli.main(arguments)
        out, err = self._capsys.readouterr()
        assert RAW.search(out + err) is None
        assert [line for line in (out + err).split("\n") if line.startswith("FAKE")] == []
        return code, out + err


def test_no_command_shows_a_name_or_a_value_as_it_is(begin: Begin, said: Said) -> None:
    feed, run = begin()
    feed.create(110, CREATE)
    feed.send(1, inserted(150, {"id": 1, HOSTILE: HOSTILE}, table(CREATE)))
    feed.send(0, Ddl("shop", HOSTILE, f"TRUNCATE TABLE `{HOSTILE}`", ts(160), 11))
    feed.mark(200)
    file = str(run._file)
    settings = run.arguments()
    for arguments in (["plan", file], ["plan", file, "--sql"], ["check", file]):
        code, text = said.by(*arguments, *settings)
        assert (code, SHOWN in text) == (0, True), text
    code, text = said.by("run", file, "--until", "caught-up", *settings)
    assert (code, SHOWN in text) == (0, True), text
    feed.send(0, Ddl("shop", HOSTILE, f"ALTER TABLE `{HOSTILE}` ADD FULLTEXT (x)", ts(250), 7))
    feed.mark(300)
    code, text = said.by("run", file, "--until", "caught-up", *settings)
    assert (code, SHOWN in text) == (3, True), text
    assert text.count("\n") == 1
    for arguments in (["status", file], ["status", file, "--json"]):
        code, text = said.by(*arguments, *settings)
        assert (code, SHOWN in text) == (0, True), text


def test_an_error_about_a_hostile_key_is_one_line(begin: Begin, said: Said) -> None:
    feed, run = begin()
    wide = f"CREATE TABLE `{HOSTILE}` (`k` VARCHAR(40) NOT NULL PRIMARY KEY, `n` INT)"
    feed.create(110, wide)
    for number in (1, 2):  # two rows of one key at one commit_ts
        feed.send(number % 2, inserted(150, {"k": HOSTILE, "n": number}, table(wide)))
    feed.mark(200)
    code, text = said.by("run", str(run._file), "--until", "caught-up", *run.arguments())
    # The DDL, its cut, the error.
    assert (code, text.count("\n"), SHOWN in text) == (3, 3, True), text
