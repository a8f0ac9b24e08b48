import json

import pytest
from ticdc_encoder.cli.decode import json_line
from ticdc_encoder.errors import WireError, visible, visible_lines
from ticdc_encoder.event import Ddl


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, naïve, 茶 🫖", "plain, naïve, 茶 🫖"),
        ("\x1b]0;title\x07", "\\u001b]0;title\\u0007"),
        ("one\ntwo\r\tthree", "one\\ntwo\\r\\tthree"),
        ("\x7f\x80\x9b", "\\u007f\\u0080\\u009b"),
        ("\u202a\u202e\u2066\u2069\u200e\u061c", "\\u202a\\u202e\\u2066\\u2069\\u200e\\u061c"),
        ("\u2028\u2029\udcff", "\\u2028\\u2029\\udcff"),
    ],
)
def test_what_is_not_visible_is_escaped(text: str, shown: str) -> None:
    assert visible(text) == visible(shown) == shown
    assert str(WireError(text)) == shown
    assert visible_lines(f"{text}\n{text}").count("\n") == 1 + 2 * text.count("\n")


def test_a_note_of_an_error_is_escaped_too() -> None:
    error = WireError("no")
    error.add_note("in a\nfile")
    assert str(error) == "no; in a\\nfile"


def test_decoded_json_loses_control_characters_and_no_value() -> None:
    query = "DROP TABLE `\x1b\x9b\u202e\n`"
    line = json_line(Ddl("s", "t", query, 5))
    assert visible(line) == line
    assert json.loads(line)["query"] == query


def test_a_name_that_no_database_has_does_not_fill_the_screen() -> None:
    text = str(WireError(f"column {'a' * 5000} of {'b' * 100} is not known"))
    assert text == f"column {'a' * 100}... of {'b' * 100} is not known"
