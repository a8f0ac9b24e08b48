"""Identifiers and strings in SQL, under the session's sql_mode."""

from ticdc_consumer.errors import Unsupported

LONGEST_NAME = 64


def quote_name(name: str, wide: bool) -> str:
    """Returns the identifier in backquotes. Raises `Unsupported` if the server cannot hold it
    unchanged; `wide`: it can hold characters beyond U+FFFF."""
    beginning = f"{name[:LONGEST_NAME]!r}"
    if not name or len(name) > LONGEST_NAME:
        raise Unsupported(
            f"the name {beginning} has {len(name)} characters; 1 to {LONGEST_NAME} are allowed"
        )
    if "\0" in name or any("\ud800" <= character <= "\udfff" for character in name):
        raise Unsupported(f"the name {beginning} holds a character that no name can hold")
    if name.endswith(" "):
        raise Unsupported(
            f"the name {beginning} ends with a space, which the target does not allow"
        )
    if not wide and is_wide(name):
        raise Unsupported(
            f"the name {beginning} holds a character beyond U+FFFF, which the target would replace"
        )
    return "`" + name.replace("`", "``") + "`"


def is_wide(name: str) -> bool:
    """Returns whether the name has characters beyond U+FFFF."""
    return any(character > "\uffff" for character in name)


def string_literal(text: str) -> str:
    """Quotes a text. With NO_BACKSLASH_ESCAPES, only the quote itself needs an escape."""
    return "'" + text.replace("'", "''") + "'"
