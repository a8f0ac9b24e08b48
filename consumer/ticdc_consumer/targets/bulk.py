"""The part of a target that writes and deletes rows. It runs in the driver; a load and staging
use it in Spark's tasks, too."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal

from ticdc_consumer.targets.layout import Layout

if TYPE_CHECKING:  # a command without rows need not wait for Arrow
    import pyarrow as pa

OnDrift = Literal["stop", "overwrite"]


class Bulk(ABC):
    """The bulk path of one session; each call but `existing` is inside its transaction.

    Keys are payloads of `encode_keys`, rows those of `encode_rows`.
    """

    def forget(self, relation: str) -> None:  # noqa: B027 - most remember nothing
        """What is remembered of a table is looked up again."""

    @abstractmethod
    def delete(self, layout: Layout, keys: "pa.BinaryArray") -> int:
        """Deletes the rows of these keys; returns how many there were."""

    @abstractmethod
    def existing(self, layout: Layout, keys: "pa.BinaryArray") -> int:
        """How many rows of these keys there are."""

    @abstractmethod
    def shown_deletes(self, layout: Layout, keys: "pa.BinaryArray") -> list[str]:
        """What `delete` sends, for people: values instead of parameters."""

    @abstractmethod
    def shown_inserts(self, layout: Layout, rows: "pa.BinaryArray", on_drift: OnDrift) -> list[str]:
        """What `insert` sends, for people; PostgreSQL's COPY as INSERT."""

    @abstractmethod
    def delete_rows(self, layout: Layout, rows: "pa.BinaryArray") -> int:
        """Deletes, for each of these rows of a layout without a key, one row that is equal to it,
        NULLs included; returns how many there were."""

    @abstractmethod
    def insert(self, layout: Layout, rows: "pa.BinaryArray", on_drift: OnDrift) -> int:
        """Upserts (`layout.upsert`) or plainly inserts rows.

        With `on_drift` "overwrite", other rows that hold a unique value of these are deleted first;
        returns how many were. With "stop" a clash raises an error.
        """


class StagingBulk(Bulk):
    """A bulk path by which rows may wait in tables of their own, outside of any transaction of the
    consumer's. A `stage` is the quoted name of one; it has the columns that rows are written to, of
    the same types, and no key: two rows of a stage may yet be in each other's way."""

    @abstractmethod
    def stage(self, layout: Layout, stage: str, rows: "pa.BinaryArray") -> None:
        """Creates the stage and commits these rows there; outside of a transaction."""

    @abstractmethod
    def trim(self, layout: Layout, stage: str, keys: "pa.BinaryArray") -> None:
        """Deletes the stage's rows of these keys; outside of a transaction."""

    @abstractmethod
    def publish(self, layout: Layout, stage: str, on_drift: OnDrift) -> int:
        """What `insert` does, with all rows of the stage."""
