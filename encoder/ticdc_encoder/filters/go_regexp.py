"""Regular expressions as Go's `regexp` reads them, which TiCDC uses: RE2, of the same authors.

The time of a match is linear in the text, whatever the expression.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import re2

from ticdc_encoder.errors import ConfigError

_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")  # RE2 has it, Go does not


@dataclass(frozen=True, slots=True)
class GoRegexp:
    """An expression. Raises ConfigError for one that Go does not read."""

    pattern: str
    case_sensitive: bool = True
    _compiled: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if _BYTE.search(self.pattern):
            raise ConfigError(r"not a regular expression that Go reads: \C")
        options = re2.Options()
        options.case_sensitive = self.case_sensitive
        options.log_errors = False
        try:
            compiled = re2.compile(self.pattern.encode(), options)
        except (re2.error, UnicodeEncodeError) as exc:
            reason = exc.args[0] if isinstance(exc, re2.error) else "not UTF-8"
            reason = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
            raise ConfigError(f"not a regular expression that Go reads: {reason}") from exc
        object.__setattr__(self, "_compiled", compiled)

    def found_in(self, text: str) -> bool:
        """Returns whether some part of the text matches."""
        return self._compiled.search(text.encode(errors="replace")) is not None


def literal(text: str) -> str:
    """An expression that matches only the text."""
    return str(re2.escape(text))
