"""The part of a target that writes and deletes rows. It runs in the driver; a load and staging
use it in Spark's tasks, too."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Literal

from ticdc_consumer.targets.layout import Layout

if TYPE_CHECKING:  # a command without rows need not wait for Arrow
    import pyarrow as pa

OnDrift = Literal["stop", "overwrite"]


class Bulk(ABC):
    """The bulk path of one session; every call but `existing` runs inside its transaction.

    Keys are payloads of `encode_keys`, rows are payloads of `encode_rows`.
    """

    def forget(self, relation: str) -> None:  # noqa: B027 - most remember nothing
        """Forgets what is remembered of a table, so that it is looked up again."""

    @abstractmethod
    def delete(self, layout: Layout, keys: "pa.BinaryArray") -> int:
        """Deletes the rows of these keys; returns how many existed."""

    @abstractmethod
    def existing(self, layout: Layout, keys: "pa.BinaryArray") -> int:
        """Counts the rows of these keys."""

    @abstractmethod
    def shown_deletes(self, layout: Layout, keys: "pa.BinaryArray") -> list[str]:
        """The statements of `delete` for people, with values instead of parameters."""

    @abstractmethod
    def shown_inserts(self, layout: Layout, rows: "pa.BinaryArray", on_drift: OnDrift) -> list[str]:
        """The statements of `insert` for people; PostgreSQL's COPY is shown as INSERT."""

    @abstractmethod
    def delete_rows(self, layout: Layout, rows: "pa.BinaryArray") -> int:
        """Deletes, for each of these rows of a layout without a key, one row that equals it, NULLs
        included; returns how many existed."""

    @abstractmethod
    def insert(self, layout: Layout, rows: "pa.BinaryArray", on_drift: OnDrift) -> int:
        """Upserts (`layout.upsert`) or plainly inserts rows.

        With `on_drift` "overwrite", deletes other rows that hold a unique value of these first, and
        returns how many. With "stop", a clash raises an error.
        """


class StagingBulk(Bulk):
    """A bulk path that can keep rows in staging tables, outside of the consumer's transactions. A
    `stage` is the quoted name of such a table. It has the columns that rows are written to, with
    the same types, and no key: two rows of a stage may still conflict."""

    @abstractmethod
    def stage(self, layout: Layout, stage: str, rows: "pa.BinaryArray") -> None:
        """Creates the stage and commits these rows there; runs outside of a transaction."""

    @abstractmethod
    def trim(self, layout: Layout, stage: str, keys: "pa.BinaryArray") -> None:
        """Deletes the stage's rows of these keys; runs outside of a transaction."""

    @abstractmethod
    def publish(self, layout: Layout, stage: str, on_drift: OnDrift) -> int:
        """Inserts all rows of the stage, as `insert` does."""
