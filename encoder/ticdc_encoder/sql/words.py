"""The words of a MySQL or TiDB statement, those in executable comments included.

sqlglot's MySQL tokenizer knows quotes, escapes and literals; its words are handed out one by one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

from ticdc_encoder.errors import DefinitionError

Kind = Literal["word", "name", "string", "number", "bits", "hex", "symbol"]

# What is never closed goes to the end: it is searched once.
_SINGLE = r"""'(?:[^'\\]|\\(?:.|\Z))*+(?:'|\Z)"""
_DOUBLE = _SINGLE.replace("'", '"')
_NAME = r"`[^`]*+(?:`|\Z)"
_TEXT = rf"{_SINGLE}|{_DOUBLE}|{_NAME}"
_LINE = r"(?:--(?=\s|$)|\#)[^\n]*+"
# Those whose text TiDB runs: /*!80000 ... */, /*T! ... */, /*T![x] ... */
_OPENING = r"/\*(?P<runs>T!(?:\[[^\]*]*+\])?|!\d*+)?"
_TEXT_OR_COMMENT = re.compile(rf"(?P<text>{_TEXT})|(?P<line>{_LINE})|{_OPENING}", re.DOTALL)


# As TiDB restores a text: a quote in it is doubled, so no backslash changes where it ends.
_RESTORED = r"""'(?:[^']|'')*+(?:'|\Z)"""
# Texts that are never escaped. The comment of an index is one too, but looks like a column's.
_LABELS = rf"\b(?:ENUM|SET)\((?P<labels>{_RESTORED}(?:,{_RESTORED})*+)(?:\)|\Z)"
_SHOWN = re.compile(
    rf"\b(?P<type>enum|set)(?P<labels>\({_RESTORED}(?:,{_RESTORED})*+(?:\)|\Z))"
    rf"|(?P<other>{_NAME}|{_SINGLE})",
    re.DOTALL,
)
_OPTIONS = r"COMMENT|CONNECTION|PASSWORD|DIRECTORY|ENGINE_ATTRIBUTE"
_AS_IT_IS = rf"{_LABELS}|(?:{_OPTIONS}) = (?P<option>{_RESTORED})|{_NAME}"
_BY_ESCAPES = re.compile(rf"{_AS_IT_IS}|{_SINGLE}|{_DOUBLE}", re.DOTALL)
_BY_QUOTES = re.compile(rf"{_AS_IT_IS}|(?P<other>{_RESTORED})", re.DOTALL)
_INTRODUCED = re.compile(
    rf"\b_[A-Z][A-Z0-9]*+(?P<literal>{_RESTORED})|{_SINGLE}|{_NAME}", re.DOTALL
)
_ODD = re.compile(r"(?<!\\)(?:\\\\)*+\\(?!\\)")
_WHOLE = re.compile(rf"(?:[^'\"`]|{_TEXT})*+".replace(r"|\Z)", ")"), re.DOTALL)


def escaped(sql: str) -> str:
    """A statement as TiCDC sends it, in MySQL's words: every backslash that stands for itself is
    doubled.

    TiCDC restores a statement through `ValueExpr.Restore` of TiDB's `types/parser_driver`, which
    doubles the backslashes of literals and of columns' comments; labels of ENUM and SET, options,
    and comments of indexes are written as they are (`RestoreCtx.WriteString`, by flags without
    `RestoreStringEscapeBackslash`). The parser's own `test_driver`, which TiCDC links as well,
    doubles none: a literal with a single backslash can only be of it, and then no text of the
    statement is escaped.
    """
    return _marked(sql, "\\\\")


def restored(create: str) -> str:
    """The text of TiDB's SHOW CREATE TABLE, as TiCDC would send it: ENUM and SET in capitals, whose
    labels have no escapes. The rest has the same escapes in both. Raises `DefinitionError` for
    labels that TiDB shows alike: it escapes NUL, line feed and carriage return, and no backslash.
    """
    for text in _SHOWN.finditer(create):
        if text["type"] and (alike := re.search(r"\\[0nr]", text["labels"])):
            raise DefinitionError(
                f"TiDB shows {alike[0]} in a label of this {text['type']}, which may be a control "
                "character, or a backslash and a letter: its labels are not certain"
            )
    return _SHOWN.sub(
        lambda text: text[0] if text["other"] else text["type"].upper() + text["labels"], create
    )


def masked(sql: str) -> str:
    """The statement with every backslash that stands for itself as another character: its words
    stand where they stood."""
    return _marked(sql, "_")


def _marked(sql: str, by: str) -> str:
    """The first reading in which every text has an end."""
    if "\\" not in sql:
        return sql
    readings = [
        _BY_ESCAPES.sub(lambda text: _with(by, text, text["labels"] or text["option"]), sql),
        sql,  # by hand
        _BY_QUOTES.sub(lambda text: _with(by, text, _ODD.search(text["other"] or "\\")), sql),
    ]
    literals = (match["literal"] or "" for match in _INTRODUCED.finditer(sql))
    if any(map(_ODD.search, literals)):
        readings.insert(0, _BY_QUOTES.sub(lambda text: _with(by, text, text[0][0] != "`"), sql))
    whole = (each for each in readings if _WHOLE.fullmatch(_without_comments(each)))
    return next(whole, readings[0])


def _with(by: str, text: re.Match[str], stands_for_itself: object) -> str:
    return text[0].replace("\\", by) if stands_for_itself else text[0]


def _without_comments(sql: str) -> str:
    parts: list[str] = []
    at = searched = 0
    closed = True
    while match := _TEXT_OR_COMMENT.search(sql, searched):
        begin, searched = match.span()
        if match["text"]:
            continue
        inside = ""
        if not match["line"]:
            # If one comment is not closed, no later one is.
            end = sql.find("*/", searched) if closed else -1
            if end < 0:
                closed, searched = False, begin + len("/*")
                continue
            inside = sql[searched:end] if match["runs"] else ""
            searched = end + 2
        parts += (sql[at:begin], f" {inside} ")
        at = searched
    return "".join([*parts, sql[at:]])


@dataclass(frozen=True, slots=True)
class Word:
    kind: Kind
    text: str
    start: int
    end: int


@cache
def _tokenizer() -> tuple[Any, dict[Any, Kind]]:
    """The tokenizer, and the kinds of its tokens. sqlglot is imported with the first statement:
    decoding rows needs none of it, and it takes longer to import than all formats."""
    from sqlglot.dialects.mysql import MySQL
    from sqlglot.tokenizer_core import TokenType

    class Tokenizer(MySQL.Tokenizer):  # type: ignore[misc, unused-ignore]
        COMMANDS: ClassVar[set[TokenType]] = set()  # the words after RENAME are words, too

    return Tokenizer, {
        TokenType.IDENTIFIER: "name",
        TokenType.STRING: "string",
        TokenType.NATIONAL_STRING: "string",
        TokenType.NUMBER: "number",
        TokenType.BIT_STRING: "bits",
        TokenType.HEX_STRING: "hex",
    }


def _words(sql: str) -> Iterator[Word]:
    tokenizer, kinds = _tokenizer()
    from sqlglot.errors import TokenError

    try:
        tokens = tokenizer(dialect="mysql").tokenize(sql)
    except TokenError as exc:
        raise DefinitionError("unbalanced quotes in the statement") from exc
    for token in tokens:
        kind = kinds.get(token.token_type)
        if kind is None:
            kind = "word" if token.text[:1].isalpha() or token.text[:1] in "_$" else "symbol"
        # The tokenizer joins some keywords (`PRIMARY KEY`).
        for part in token.text.split() if kind == "word" else [token.text]:
            yield Word(kind, part, token.start, token.end + 1)


class SqlWords:
    """The statement's words, read from left to right."""

    def __init__(self, sql: str) -> None:
        self._sql = _without_comments(sql)
        self._at = 0
        self._words = list(_words(self._sql))

    def done(self) -> bool:
        return self._at >= len(self._words)

    def upcoming(self) -> str:
        return "the end" if self.done() else repr(self._words[self._at].text)

    def first_two(self) -> str:
        return " ".join(word.text.lower() for word in self._words[:2])

    def skip_to_semicolon(self) -> None:
        while not self.done() and not self.at(";"):
            self._at += 1

    def rest(self) -> str:
        """The source text of all that comes, without a semicolon at its end."""
        if self.done():
            return ""
        start = self._words[self._at].start
        self._at = len(self._words)
        return self._sql[start:].strip().removesuffix(";").strip()

    def at(self, *texts: str) -> bool:
        """Returns whether these words or symbols come next."""
        following = self._words[self._at : self._at + len(texts)]
        return len(following) == len(texts) and all(
            word.kind in ("word", "symbol") and word.text.upper() == text
            for word, text in zip(following, texts, strict=True)
        )

    def take(self, *texts: str) -> bool:
        """Skips these words if they come next."""
        matches = self.at(*texts)
        self._at += len(texts) if matches else 0
        return matches

    def expect(self, *texts: str) -> None:
        if not self.take(*texts):
            raise DefinitionError(f"expected {' '.join(texts)}, found {self.upcoming()}")

    def next(self, *kinds: Kind) -> str:
        """The next word's text, which must be of one of these kinds (any if none is given)."""
        if self.done() or (kinds and self._words[self._at].kind not in kinds):
            raise DefinitionError(f"expected a {' or '.join(kinds)}, found {self.upcoming()}")
        self._at += 1
        return self._words[self._at - 1].text

    def kind(self) -> Kind | None:
        return None if self.done() else self._words[self._at].kind

    def identifier(self) -> str:
        return self.next("name", "word")

    def option(self) -> str:
        """The value of an option such as CHARSET = utf8mb4."""
        self.take("=")
        return self.next("word", "name", "string", "number")

    def qualified(self, schema: str) -> tuple[str, str]:
        first = self.identifier()
        return (first, self.identifier()) if self.take(".") else (schema, first)

    def at_introducer(self) -> bool:
        """Returns whether a string with its character set (`_utf8mb4'x'`) comes next."""
        following = self._words[self._at : self._at + 2]
        return [word.kind for word in following] == ["word", "string"] and following[
            0
        ].text.startswith("_")

    def string(self) -> str:
        """A string literal, with or without a character set introducer."""
        self._at += self.at_introducer()
        return self.next("string")

    def integer(self) -> int:
        """A number without a point or an exponent, of at most 18 digits."""
        text = self.next("number")
        if not (text.isdecimal() and len(text) < 19):
            raise DefinitionError(f"expected an integer, found {text[:40]!r}")
        return int(text)

    def number(self) -> int:
        """A number in parentheses."""
        text = self.parenthesised()
        if not (text.isdecimal() and len(text) < 19):
            raise DefinitionError(f"expected a number in parentheses, found {text[:40]!r}")
        return int(text)

    def parenthesised(self) -> str:
        """The source text between the parenthesis that comes next and its partner."""
        self.expect("(")
        start, depth = self._words[self._at - 1].end, 1
        while depth:
            depth += self.at("(") - self.at(")")
            self.next()
        return self._sql[start : self._words[self._at - 1].start].strip()


# As TiCDC writes it: without a comment or a string.
_PLAIN_SCHEMA_DDL = re.compile(
    r"\s*(?:CREATE|ALTER|DROP)\s+(?:DATABASE|SCHEMA)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"
    r"`([^`\\]+)`(?:[\s=]+[a-z_][a-z0-9_]*)*\s*;?\s*",
    re.ASCII | re.IGNORECASE,
)


def named_schema(query: str) -> str | None:
    """The database that a CREATE, ALTER or DROP DATABASE names. None for any other statement."""
    plain = _PLAIN_SCHEMA_DDL.fullmatch(query)
    if plain is not None:
        return plain[1]  # without sqlglot, since decoders ask
    words = SqlWords(query)
    if not (words.take("CREATE") or words.take("ALTER") or words.take("DROP")):
        return None
    if not (words.take("DATABASE") or words.take("SCHEMA")):
        return None
    _ = words.take("IF", "NOT", "EXISTS") or words.take("IF", "EXISTS")
    return words.identifier()
