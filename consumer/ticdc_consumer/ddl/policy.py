"""Decides whether a DDL that cannot be done exactly stops the run, or is skipped: `[ddl]`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ticdc_encoder.errors import TicdcError
from ticdc_encoder.filters.table import TableMatcher
from ticdc_encoder.sql.statements import AlterTable
from ticdc_encoder.sql.words import SqlWords

from ticdc_consumer.config.choices import OnKind, OnUnsupported
from ticdc_consumer.config.options import Settings
from ticdc_consumer.ddl.kinds import action_kind, policy_of
from ticdc_consumer.ddl.names import understood
from ticdc_consumer.errors import LeftOut, Stop, Unsupported
from ticdc_consumer.state.ledger import LedgerEntry

_VERBS = ("CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME", "RECOVER", "FLASHBACK")
_OBJECTS = {
    "DATABASE": "DATABASE",
    "SCHEMA": "DATABASE",
    "TABLE": "TABLE",
    "VIEW": "VIEW",
    "INDEX": "INDEX",
    "SEQUENCE": "SEQUENCE",
}
_DEFAULTS: Mapping[str, OnKind] = {"VIEW": "if-certain"}


@dataclass(frozen=True, slots=True)
class Policy:
    """The choices: a table's precedes a kind's, and that precedes `on_unsupported`."""

    on_unsupported: OnUnsupported = "stop"
    kinds: Mapping[str, OnKind] = field(default_factory=lambda: dict(_DEFAULTS))
    tables: tuple[tuple[TableMatcher, OnUnsupported], ...] = ()

    @classmethod
    def of(cls, options: Settings) -> "Policy":
        return cls(
            options.ddl_on_unsupported,
            {**_DEFAULTS, **options.ddl_kinds},
            tuple(
                (TableMatcher((pattern,), options.case_sensitive), choice)
                for pattern, choice in options.ddl_tables.items()
            ),
        )

    def passes(self, entry: LedgerEntry, refusal: TicdcError) -> bool:
        """Returns whether a refused DDL is skipped: that of an "if-certain" view for any reason."""
        if isinstance(refusal, LeftOut) or self.leaves_out(entry):
            return True
        inexact = not isinstance(refusal, Stop) or isinstance(refusal, Unsupported)
        return inexact and self.skips(entry)

    def skips(self, entry: LedgerEntry) -> bool:
        """Returns whether it is skipped if it cannot be done exactly."""
        return self._is("skip", entry)

    def leaves_out(self, entry: LedgerEntry) -> bool:
        """Returns whether no DDL of a view may stop the run."""
        return self._is("if-certain", entry)

    def _is(self, choice_made: OnKind, entry: LedgerEntry) -> bool:
        """Returns whether this choice applies; an ALTER TABLE of several actions is skipped only if
        each is."""
        for matcher, choice in self.tables:
            if matcher.matches(entry.schema, entry.table):
                return choice == choice_made
        return all(self._of_kind(names) == choice_made for names in kinds(entry))

    def _of_kind(self, names: tuple[str, ...]) -> OnKind:
        return next((self.kinds[name] for name in names if name in self.kinds), self.on_unsupported)


def kinds(entry: LedgerEntry) -> list[tuple[str, ...]]:
    """Returns, for each action of the statement, the names of its kind, the narrowest first."""
    try:
        statement = _kind(entry.query)
    except TicdcError:
        return [()]  # not even words
    if statement.endswith(" VIEW"):
        return [(statement, "VIEW")]
    altered = understood(entry.query, entry.schema)
    if not isinstance(altered, AlterTable):
        return [(statement,)]
    policies = [policy_of(each) for each in altered.actions if action_kind(each).effect]
    return [(name, statement) if name else (statement,) for name in policies] or [(statement,)]


def _kind(query: str) -> str:
    """Returns a kind such as `CREATE VIEW`, for `CREATE OR REPLACE ALGORITHM = UNDEFINED ... VIEW`
    too."""
    words = SqlWords(query)
    verb = words.next().upper()
    for word in _plain(words):
        if word in _OBJECTS:
            return f"{verb} {_OBJECTS[word]}"
    return f"{verb} TABLE"  # TRUNCATE t


def _plain(words: SqlWords) -> Iterator[str]:
    while not words.done():
        plain = words.kind() == "word"
        text = words.next().upper()
        if plain:
            yield text
