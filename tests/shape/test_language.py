"""Phrases that are hard to read do not come back: documents, docstrings and messages are plain
technical English, subject, verb, object."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
TEXTS = sorted(
    {
        *(ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "tests" / "README.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "samples").rglob("*.md"),
        *(path for top in ("encoder", "consumer") for path in (ROOT / top).rglob("*.py")),
    }
)
PLAINER = {
    r"but for (?:a|an|the|its|one|what|quotes|spaces|BIGINT)\b": "except for ...",
    r"(?:is|are|was|were) none of": "is not one of ...",
    r"that (?:is|are) no (?!longer)": "that is not ...",
    r"(?:is|are|was|were) no more(?! than)": "no longer exists",
    r"(?:is|are|was|were)(?: not)? told": "learns, is configured, is distinguished",
    r"what (?:is|was) told": "the report",
    r"as (?:it|they) (?:is|are) told": "as configured",
    r"meant perhaps": "did you mean ...?",
    r"made again": "is recreated, repeated",
    r"topic that was created again": "a recreated topic",
    r"stands? at": "is, ends at",
    r"where nothing": "if no ...",
    r"(?:a|no) person(?:'s)?": "an operator",
    r"somebody": "an operator, another client",
    r"\w+ said": "showed, named, stated",
    r"is not is": "two sentences",
    r"whereof|thereof|hereof|wherein|therein": "of which, in which",
}
"""Phrase -> what to write instead."""


def phrases(text: str) -> list[str]:
    """Those that the text has, also across the ends of lines and of literals."""
    plain = re.sub(r"""["']?\s*\n[\s#]*f?["']?|\s+""", " ", text).replace("  ", " ")
    return [
        f"{match[0]!r}: rather {instead}"
        for phrase, instead in PLAINER.items()
        for match in re.finditer(rf"\b(?:{phrase})\b", plain, re.IGNORECASE)
    ]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_text_is_plain_english(path: Path) -> None:
    assert phrases(path.read_text()) == []


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ('"op is none "\n    "of c, u and d"', "is none of"),
        ("the view is\n    # made again after it", "made again"),
        ("it waits, as it is told", "is told"),
    ],
)
def test_a_phrase_is_found_across_lines_and_literals(text: str, phrase: str) -> None:
    assert any(phrase in report for report in phrases(text))
