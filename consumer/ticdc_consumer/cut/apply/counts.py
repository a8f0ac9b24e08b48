"""Counts of a cut's changes to the rows of each table."""

from dataclasses import dataclass, field

from ticdc_consumer.targets.layout import Layout


@dataclass(slots=True)
class Counts:
    """Counts for one table: rows deleted, written, and cleared because the table had drifted and
    they were in the way. `missing` counts rows to delete that a table without a key did not have.
    """

    deleted: int = 0
    upserted: int = 0
    cleared: int = 0
    missing: int = 0

    def add(self, deleted: int = 0, upserted: int = 0, cleared: int = 0, missing: int = 0) -> None:
        self.deleted += deleted
        self.upserted += upserted
        self.cleared += cleared
        self.missing += missing


@dataclass(slots=True)
class Applied:
    """The counts of a commit, by upstream `schema.table`."""

    tables: dict[str, Counts] = field(default_factory=dict)

    def of(self, layout: Layout) -> Counts:
        return self.tables.setdefault(layout.name, Counts())

    def rows(self) -> int:
        """Returns the rows deleted and written so far. Thread-safe."""
        return sum(counts.deleted + counts.upserted for counts in list(self.tables.values()))

    def add(self, other: "Applied") -> None:
        for name, more in other.tables.items():
            counts = self.tables.setdefault(name, Counts())
            counts.add(more.deleted, more.upserted, more.cleared, more.missing)
