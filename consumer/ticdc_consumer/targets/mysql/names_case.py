"""Names of databases and tables that are the same to a server of the MySQL family."""

from collections.abc import Callable
from enum import IntEnum
from string import ascii_letters


class NamesCase(IntEnum):
    """The server's lower_case_table_names."""

    DIFFERENT = 0
    LOWERED = 1
    KEPT = 2


class NamesFold:
    """The server's rule for equal names. `lowered` asks the server for the lower case of letters,
    one letter each: Python's differs for some."""

    def __init__(self, case: NamesCase, lowered: Callable[[str], str]) -> None:
        self._case, self._ask = case, lowered
        self._lowered: dict[int, int | str] = {ord(x): x.lower() for x in ascii_letters}

    @property
    def exact(self) -> bool:
        """True if two spellings are two names."""
        return self._case == NamesCase.DIFFERENT

    def lower(self, name: str) -> str:
        unknown = "".join({letter for letter in name if ord(letter) not in self._lowered})
        if unknown:
            self._lowered.update(zip(map(ord, unknown), self._ask(unknown), strict=True))
        return name.translate(self._lowered)

    def comparable(self, name: str) -> str:
        return name if self.exact else self.lower(name)

    def in_catalog(self, name: str) -> str:
        """The catalog's name. MariaDB's catalog finds no other spelling of some letters."""
        return self.lower(name) if self._case == NamesCase.LOWERED else name
