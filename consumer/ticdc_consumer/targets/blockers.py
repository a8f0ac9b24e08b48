"""Sessions of a database that hold locks which another session waits for."""

import re
from dataclasses import dataclass

from ticdc_encoder.tso import duration

LONGEST_QUERY = 200
"""The number of characters shown of a query."""

_NUMBER = r"""(?<![\w`"'])-?\d[\w.]*"""
_UNSURE = re.compile(r"\\|\$\w*\$")
"""Characters in or around a literal that may end it elsewhere on another server."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """A session that holds a lock. `on` is the table, as far as it is known; `who` the session's
    user and client; `query` the statement that it runs or ran last, without values; `open_for` the
    age of its transaction in seconds; `end` the statement that ends the session. `session` is "" if
    the database does not show it; `hint` then says how to make it visible."""

    session: str = ""
    on: str = ""
    who: str = ""
    query: str = ""
    open_for: float | None = None
    end: str = ""
    hint: str = ""

    @property
    def text(self) -> str:
        """The lock, in words."""
        holder = f"session {self.session}" if self.session else "another session"
        return f"a lock that {holder} holds" + (f" on {self.on}" if self.on else "")

    @property
    def details(self) -> tuple[str, ...]:
        """Details for people, one line each."""
        lines = []
        if self.who:
            lines.append(f"session {self.session} is {self.who}")
        if self.open_for is not None:
            lines.append(f"its transaction has been open for {duration(max(0.0, self.open_for))}")
        if self.hint:
            lines.append(self.hint)
        if self.query:
            lines.append(f"it runs, or ran last: {self.query}")
        return tuple(lines)


def without_values(query: str | None, quotes: str = "'") -> str:
    """Shortens a statement for people and removes literals, which may be a row's. `quotes` are the
    quotation marks of texts; a statement where the end of a text is uncertain is cut there."""
    text = query or ""
    if _UNSURE.search(text):
        text = re.split(rf"[{quotes}$]", text)[0]
    texts = "|".join(f"{quote}(?:[^{quote}]|{quote}{quote})*{quote}?" for quote in quotes)
    text = " ".join(re.sub(f"{texts}|{_NUMBER}", "?", text, flags=re.S).split())
    return text if len(text) <= LONGEST_QUERY else f"{text[:LONGEST_QUERY]}..."
