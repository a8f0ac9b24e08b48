"""The DDL cases in `tests/ddl/*.sql`; their README says how they are written."""

from dataclasses import dataclass, field, replace
from pathlib import Path

CASES = Path(__file__).resolve().parent.parent / "ddl"
_LIKE = {"mariadb": "mysql", "tidb": "mysql"}


@dataclass(frozen=True)
class Case:
    """`others` are CREATE TABLE of further tables, each with its rows; `expected` are the
    statements per dialect, `then` the rows, `stops` the reason; the key "" stands for every dialect
    that has none of its own."""

    name: str
    table: str
    rows: tuple[str, ...]
    others: tuple[tuple[str, tuple[str, ...]], ...]
    statement: str
    expected: dict[str, list[str]] = field(default_factory=dict)
    then: dict[str, str] = field(default_factory=dict)
    stops: dict[str, str] = field(default_factory=dict)
    then_other: str | None = None
    view: str = ""

    def __str__(self) -> str:
        return self.name.replace(" ", "-")

    def of(self, told: dict[str, str], dialect: str) -> str | None:
        return told.get(dialect, told.get(""))

    def statements(self, dialect: str) -> list[str]:
        return self.expected.get(dialect, self.expected.get(_LIKE.get(dialect, ""), []))


def cases(file: Path) -> list[Case]:
    """The cases of a file, in order."""
    found: list[Case] = []
    table = view = ""
    rows: tuple[str, ...] = ()
    others: tuple[tuple[str, tuple[str, ...]], ...] = ()
    for line in file.read_text().splitlines():
        word, _, rest = line.removeprefix("-- ").partition(":")
        rest = rest.removeprefix(" ")
        if not line.startswith("-- "):
            if line:
                found[-1] = replace(found[-1], statement=line)
            continue
        word, _, dialect = word.partition(".")
        match word:
            case "table":
                table, others, view = rest, (), ""
            case "rows":
                rows = tuple(row for row in rest.split(" | ") if row)
            case "other":
                others = (*others, (rest, ()))
            case "other-rows":
                others = (*others[:-1], (others[-1][0], tuple(rest.split(" | "))))
            case "view":
                view = rest
            case "case":
                found.append(Case(rest, table, rows, others, "", view=view))
            case "then-other":
                found[-1] = replace(found[-1], then_other=rest)
            case "then":
                found[-1].then[dialect] = rest
            case "stops":
                found[-1].stops[dialect] = rest
            case _:
                found[-1].expected.setdefault(word, []).append(rest)
    return found
