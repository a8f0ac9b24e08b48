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


# Texts that TiCDC writes as they are, except for quotes: labels, and comments other than columns'.
_RAW = r"""'(?:[^']|'')*+(?:'|\Z)"""
_AS_IT_IS = re.compile(
    rf"\b(?:ENUM|SET)\(({_RAW}(?:,{_RAW})*+)(?:\)|\Z)|COMMENT = ({_RAW})|{_SINGLE}|{_NAME}",
    re.DOTALL,
)


def escaped(sql: str) -> str:
    """A statement as TiCDC sends it, with every backslash in a text escaped. TiCDC escapes those in
    literals, but not those in labels of ENUM and SET or in comments of tables and partitions.
    Source: TiDB's `FieldType.Restore` and `TableOption.Restore`, of which only literals go by
    `ValueExpr.Restore`.
    """

    def double(match: re.Match[str]) -> str:
        raw = match[1] or match[2]
        return match[0].replace("\\", "\\\\") if raw else match[0]

    return _AS_IT_IS.sub(double, sql) if "\\" in sql else sql


def masked(sql: str) -> str:
    """The statement with every backslash that TiCDC does not escape as another character: its
    words stand where they stood."""

    def without(match: re.Match[str]) -> str:
        return match[0].replace("\\", "_") if match[1] or match[2] else match[0]

    return _AS_IT_IS.sub(without, sql) if "\\" in sql else sql


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
        """Whether these words or symbols come next."""
        following = self._words[self._at : self._at + len(texts)]
        return len(following) == len(texts) and all(
            word.kind in ("word", "symbol") and word.text.upper() == text
            for word, text in zip(following, texts, strict=True)
        )

    def take(self, *texts: str) -> bool:
        """Pass these words if they come next."""
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
        """Whether a string with its character set (`_utf8mb4'x'`) comes next."""
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
