"""Which sessions of a database hold what another one waits for."""

import re
from dataclasses import dataclass

from ticdc_encoder.tso import duration

LONGEST_QUERY = 200
"""Characters of a query that are shown."""

_NUMBER = r"""(?<![\w`"'])-?\d[\w.]*"""
_UNSURE = re.compile(r"\\|\$\w*\$")
"""What a literal may hold, or be quoted by, that ends it elsewhere on another server."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """A session that holds a lock: on which table, as far as that is known; `who` is its user and
    client; `query` what it runs or ran last, without values; its transaction has been open for
    `open_for` seconds, and `end` is the statement that ends the session. The database may not show
    the `session` (""); `hint` says what would."""

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
        """A line each."""
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
    """A statement for people: literals, which may be a row's, are left out. `quotes` are what texts
    are quoted by; a statement in which it is not sure where one ends is cut there."""
    text = query or ""
    if _UNSURE.search(text):
        text = re.split(rf"[{quotes}$]", text)[0]
    texts = "|".join(f"{quote}(?:[^{quote}]|{quote}{quote})*{quote}?" for quote in quotes)
    text = " ".join(re.sub(f"{texts}|{_NUMBER}", "?", text, flags=re.S).split())
    return text if len(text) <= LONGEST_QUERY else f"{text[:LONGEST_QUERY]}..."
