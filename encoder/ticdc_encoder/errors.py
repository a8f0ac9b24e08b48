"""Errors of this project, from one root.

    TicdcError
        WireError                   bytes that the protocol does not allow
            MissingCommitTs         (formats.format) a message without a commit_ts
            FieldCount              a record of csv with more or fewer fields than expected
        DefinitionError             a table definition, or a value for its columns, that cannot be
        ConfigError                 a setting that is unknown, malformed or contradicts another
        MessageTooLarge             (formats.format) a row beyond max-message-bytes
        RegistryError               (formats.registry) a schema registry that fails
        ClaimCheckError             (formats.claim_check) a claim check's file that fails
        ProduceError                brokers that do not take a message or a topic
        TopicError                  a topic that cannot be read

`ticdc_encoder` exports all of them.
"""

import re

_INVISIBLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_LONG = re.compile(r"([^\s/]{100})[^\s/]+")
"""A name that no database has, which may fill screens."""
_SHORT = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def visible(text: str) -> str:
    """The text for a line of a terminal or a log. Upstream names and values could move the cursor,
    begin lines of their own or reverse the text, so invisible characters (control characters, those
    of bidirectional text, lone surrogates) are escaped as JSON does it."""
    return _INVISIBLE.sub(lambda m: _SHORT.get(m[0]) or f"\\u{ord(m[0]):04x}", text)


def visible_lines(text: str) -> str:
    """The same for a text of several lines, which stay separate."""
    return "\n".join(map(visible, text.split("\n")))


class TicdcError(Exception):
    """The root of all errors of this project: one sentence, without a row's contents.

    Callers that know the position (topic, partition, offset) add it with `add_note`. `exit_code` is
    the command's. `table` is the upstream's (schema, table), and `commit_ts` that of the rows or
    the DDL, if the error is about one table; else None, and 0.
    """

    exit_code = 3
    table: tuple[str, str] | None = None
    commit_ts: int = 0

    def __str__(self) -> str:
        return visible("; ".join([super().__str__(), *getattr(self, "__notes__", ())]))


class _OfNames(TicdcError):
    """An error that may name anything in a message: names are cut after 100 characters."""

    def __str__(self) -> str:
        return _LONG.sub(r"\1...", super().__str__())


class WireError(_OfNames):
    """Bytes that the protocol does not allow."""


class FieldCount(WireError):
    """A csv record whose number of fields differs from that of its table and settings."""


class DefinitionError(_OfNames):
    """An impossible table definition, or an impossible value for one of its columns."""


class ConfigError(TicdcError):
    """A setting that is unknown, malformed or contradicts another. Exit 2."""

    exit_code = 2


class ProduceError(TicdcError):
    """A message that the broker did not take, or a topic unlike the requested one."""


class TopicError(TicdcError):
    """A topic that cannot be read."""

    exit_code = 1
