"""The names of tables in a statement, replaced where they stand; every other byte stays."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.sql.words import masked

Name = tuple[str, str]
_TOKEN = re.compile(
    r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`(?:[^`]|``)*`"
    r"|/\*(?:T!(?:\[[^\]]*\])?|!\d*)|/\*.*?\*/|\*/|[\w$]+|[^\s\w]",
    re.DOTALL,
)
_NO_SCHEMA = {"CHARACTER", "CHARSET", "COLLATE", "DEFAULT", "PLACEMENT"}


@dataclass(frozen=True, slots=True)
class _Mention:
    """Position of a name; `schema` is "" if it is not qualified."""

    schema: str
    table: str
    start: int
    end: int


def renamed(query: str, schema: str, target: Callable[[str, str], Name]) -> str:
    """The statement with its names as `target` gives them; those that are not qualified are of
    `schema`. If one of them changes, all are written qualified, in backquotes, as by TiCDC's
    `rewriteDDLStmtTables` (`pkg/routing`, v8.5.7) of a statement that TiDB has restored. Raises
    DefinitionError for CREATE VIEW, whose SELECT is not read."""
    tokens = _Tokens(query)
    if tokens.database():
        mention = tokens.name()
        routed = target(mention.table, "")[0]
        return query if routed == mention.table else _replaced(query, [(mention, quoted(routed))])
    mentions = list(tokens.tables())
    sources = [(mention.schema or schema, mention.table) for mention in mentions]
    targets = [target(*source) for source in sources]
    if targets == sources:
        return query
    texts = [f"{quoted(of[0])}.{quoted(of[1])}" for of in targets]
    return _replaced(query, list(zip(mentions, texts, strict=True)))


def quoted(name: str) -> str:
    """A name as TiDB writes it in SQL."""
    return "`" + name.replace("`", "``") + "`"


def _replaced(query: str, mentions: list[tuple[_Mention, str]]) -> str:
    for mention, text in sorted(mentions, key=lambda of: -of[0].start):
        query = query[: mention.start] + text + query[mention.end :]
    return query


class _Tokens:
    def __init__(self, query: str) -> None:
        self._tokens = [
            match
            for match in _TOKEN.finditer(masked(query))
            if not match[0].startswith("/*") and match[0] != "*/"
        ]
        self._at = 0

    def _upper(self, ahead: int = 0) -> str:
        at = self._at + ahead
        return self._tokens[at][0].upper() if at < len(self._tokens) else ""

    def _take(self, *texts: str) -> bool:
        matches = all(self._upper(ahead) == text for ahead, text in enumerate(texts))
        self._at += len(texts) if matches else 0
        return matches

    def _pass_exists(self) -> None:
        _ = self._take("IF", "NOT", "EXISTS") or self._take("IF", "EXISTS")

    def database(self) -> bool:
        """Returns whether the statement is of a database, whose name then comes next."""
        is_database = self._upper(1) in ("DATABASE", "SCHEMA")
        if is_database:
            self._at = 2
            self._pass_exists()
        return is_database and self._upper() not in _NO_SCHEMA

    def name(self) -> _Mention:
        first = self._identifier()
        if self._upper() != ".":
            return _Mention("", _text(first), first.start(), first.end())
        self._at += 1
        second = self._identifier()
        return _Mention(_text(first), _text(second), first.start(), second.end())

    def _identifier(self) -> re.Match[str]:
        if self._at >= len(self._tokens):
            raise DefinitionError("expected a name, found the end")
        self._at += 1
        return self._tokens[self._at - 1]

    def tables(self) -> Iterator[_Mention]:
        """The names of tables, from left to right."""
        first, kind = self._upper(), self._kind()
        if kind == "VIEW" and first == "CREATE":
            raise DefinitionError("CREATE VIEW is not supported beside table routes")
        if kind == "INDEX":
            while self._upper() not in ("ON", ""):
                self._at += 1
            self._at += 1
        self._pass_exists()
        if kind:
            yield self.name()
        if first in ("DROP", "RENAME") and kind != "INDEX":
            while self._take(",") or self._take("TO"):
                yield self.name()
        elif kind == "TABLE":
            if self._take("LIKE") or self._take("(", "LIKE"):
                yield self.name()
            yield from self._of_clauses(first)

    def _kind(self) -> str:
        """The kind of the statement's object; its name, or an index's, comes next."""
        if self._upper() == "TRUNCATE" and self._upper(1) != "TABLE":
            self._at = 1
            return "TABLE"
        for number, token in enumerate(self._tokens):
            if token[0].upper() in ("TABLE", "VIEW", "INDEX"):
                self._at = number + 1
                return token[0].upper()
        return ""

    def _of_clauses(self, first: str) -> Iterator[_Mention]:
        while self._at < len(self._tokens):
            if self._take("REFERENCES") or self._take("WITH", "TABLE"):
                yield self.name()
            elif first == "ALTER" and self._take("RENAME"):
                if self._upper() not in ("COLUMN", "INDEX", "KEY"):
                    _ = self._take("AS") or self._take("TO") or self._take("=")
                    yield self.name()
            else:
                self._at += 1


def _text(token: re.Match[str]) -> str:
    text = token[0]
    return text[1:-1].replace("``", "`") if text.startswith("`") else text
