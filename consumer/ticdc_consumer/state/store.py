"""Where the target stands, kept in the target: R, the Kafka positions behind it, and the ledger.

All of it changes only in the transactions that change the rows. The promise of each write: the
checkpoint still is what this consumer read or wrote last, or nothing is written at all.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeVar

import sqlalchemy as sa
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import from_json, to_json

from ticdc_consumer.config.options import Options
from ticdc_consumer.errors import Fenced, Retry, Unavailable, UnknownCommit
from ticdc_consumer.protocols.schemas import SchemaKey, key_of
from ticdc_consumer.state.ledger import Ledger, LedgerInDatabase
from ticdc_consumer.state.schema import CHECKPOINT, METADATA, OFFSET, SCHEMA
from ticdc_consumer.state.scope import check_scope, scope_hash, scope_text
from ticdc_consumer.targets import fence
from ticdc_consumer.targets.target import Target

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Position:
    """Where one partition goes on. `topic_id` is "" where the broker has none; the offset and the
    CRC of the last mark read then tell a re-created topic."""

    topic: str
    topic_id: str
    partition: int
    restart_offset: int
    mark_offset: int | None = None
    mark_crc: int | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a changefeed has durably reached: the target equals the upstream at `resolved_ts`.

    `positions` holds every listed partition, by (topic, partition). `mark_time` is the Kafka
    timestamp (ms) of the mark that proved `resolved_ts`. `counters` are sums since the beginning.
    `schemas` are Simple's that rows behind `positions` may need.
    """

    changefeed: str
    generation: int
    resolved_ts: int
    scope: str
    mark_time: int
    positions: Mapping[tuple[str, int], Position]
    counters: Mapping[str, int] = field(default_factory=dict)
    scope_text: str = "{}"
    schemas: Mapping[SchemaKey, Table] = field(default_factory=dict)

    @classmethod
    def first(
        cls,
        options: Options,
        resolved_ts: int,
        positions: Mapping[tuple[str, int], Position],
        mark_time: int = 0,
    ) -> "Checkpoint":
        """The checkpoint of a changefeed that begins at `resolved_ts`."""
        scope, text = scope_hash(options), scope_text(options)
        return cls(
            options.changefeed, 1, resolved_ts, scope, mark_time, positions, {}, scope_text=text
        )

    def check_scope(self, options: Options) -> None:
        """Raises `Stop`, saying what changed, if `options` have another scope, and something was
        applied already."""
        if self.resolved_ts:
            check_scope(self.changefeed, self.resolved_ts, self.scope, self.scope_text, options)


class Store:
    """The checkpoint of one changefeed, with its `ledger`.

    `generation` is 0 until `start` or `begin_first`; every write is refused once it is not the
    database's any more. Writes belong into `target.transaction()`.
    """

    def __init__(self, target: Target, changefeed: str, keep_dropped: float = 0.0) -> None:
        self.target = target
        self.changefeed = changefeed
        self.generation = 0
        self.ledger: Ledger = LedgerInDatabase(
            target, changefeed, self.check_generation, lambda: self.generation, keep_dropped
        )
        self._takeover_after = 30.0

    # --- the beginning -------------------------------------------------------------------------

    def create(self) -> None:
        """Creates the tables that are not there; several consumers may do so at once."""
        if self._exists(*METADATA.tables):
            return
        with self.target.transaction():
            self._one_at_a_time()
            for table in METADATA.sorted_tables:
                self._run(sa.schema.CreateTable(table, if_not_exists=True))

    def changefeeds(self) -> list[str]:
        """The changefeeds that the target knows."""
        with self.target.errors():
            if not self._exists(CHECKPOINT.name):
                return []
            rows = self._run(sa.select(CHECKPOINT.c.changefeed))
            return sorted(row.changefeed for row in rows)

    def read(self) -> Checkpoint | None:
        """The checkpoint as it is, without waiting for anyone; None before the first start."""
        with self.target.errors():
            return self._checkpoint() if self._exists(CHECKPOINT.name) else None

    def schemas(self) -> dict[SchemaKey, Table]:
        """Simple's schemas that the target holds."""
        with self.target.errors():
            if not self._exists(SCHEMA.name):
                return {}
            mine = SCHEMA.c.changefeed == self.changefeed
            rows = self._run(sa.select(SCHEMA.c.definition).where(mine))
            tables = [from_json(json.loads(row.definition)) for row in rows]
            return {key_of(table): table for table in tables}

    def start(self, takeover_after: float) -> Checkpoint | None:
        """Takes the changefeed over: from here on, older consumers are refused.

        Ends the session of an older one that is in the way for longer than `takeover_after`
        seconds. None, and nothing is taken over, where there is no checkpoint yet.
        """
        self._takeover_after = takeover_after
        self.generation = 0

        def raise_generation() -> Checkpoint | None:
            row = self._row(lock=True)
            if row is None:
                return None
            self._set(generation=row.generation + 1, owner=self.target.session_id())
            found = self._checkpoint()
            return found and replace(found, schemas=self.schemas())

        try:
            taken = self._overtake(raise_generation)
        except (Retry, UnknownCommit) as error:
            raise Unavailable(
                f"changefeed {self.changefeed} could not be taken over; nothing was applied, "
                f"start again ({error})"
            ) from error
        self.generation = taken.generation if taken else 0
        return taken

    def begin_first(self, checkpoint: Checkpoint) -> None:
        """Writes the first checkpoint. Raises `Fenced` if another consumer was faster."""

        def insert() -> None:
            self._one_at_a_time()
            if self._row(lock=True) is not None:
                raise Fenced(f"changefeed {self.changefeed}: another consumer began it first")
            self._run(
                sa.insert(CHECKPOINT).values(
                    changefeed=self.changefeed,
                    generation=checkpoint.generation,
                    owner=self.target.session_id(),
                    scope=checkpoint.scope,
                    scope_text=checkpoint.scope_text,
                    **_moving(checkpoint),
                )
            )
            self._write_positions({}, checkpoint.positions)

        try:
            self._overtake(insert)
        except (Retry, UnknownCommit) as error:
            raise Unavailable(
                f"the first checkpoint of changefeed {self.changefeed} could not be written for "
                f"sure; start again ({error})"
            ) from error
        self.generation = checkpoint.generation

    def begin_again(self, old: Checkpoint, checkpoint: Checkpoint) -> Checkpoint:
        """Replaces a first checkpoint that nothing was applied to; gives the one that is there."""

        def update() -> None:
            self.lock(old)
            scope = {"scope": checkpoint.scope, "scope_text": checkpoint.scope_text}
            self._set(**scope, **_moving(checkpoint))
            self._write_positions(old.positions, checkpoint.positions)

        try:
            self._overtake(update)
        except (Retry, UnknownCommit) as error:
            raise Unavailable(
                f"the first checkpoint of changefeed {self.changefeed} could not be corrected for "
                f"sure; start again ({error})"
            ) from error
        return replace(checkpoint, generation=self.generation)

    # --- one cut -------------------------------------------------------------------------------

    def lock(self, old: Checkpoint) -> None:
        """The first statement of every load: waits for whoever writes, then refuses to go on from
        anything but `old`."""
        self._refuse_unless(old, self._row(lock=True))

    def check_generation(self) -> None:
        """Locks the checkpoint, and raises `Fenced` if another consumer took it over."""
        self._own(self._row(lock=True))

    def write(self, old: Checkpoint, new: Checkpoint) -> None:
        """Moves the checkpoint from `old` to `new`; inside the transaction of the rows."""
        if new.resolved_ts <= old.resolved_ts:
            raise ValueError("a cut must raise R: an unknown commit could not be told apart")
        touched = self._run(
            sa.update(CHECKPOINT)
            .where(
                CHECKPOINT.c.changefeed == self.changefeed,
                CHECKPOINT.c.generation == old.generation,
                CHECKPOINT.c.resolved_ts == old.resolved_ts,
            )
            .values(_moving(new))
        )
        if touched.rowcount != 1:
            self._refuse_unless(old, self._row(lock=True))
            raise Fenced(f"the checkpoint of changefeed {self.changefeed} could not be moved")
        self._write_positions(old.positions, new.positions)
        self._write_schemas(old.schemas, new.schemas)

    def resolve_unknown(self, old: Checkpoint, new: Checkpoint) -> Literal["new", "old"]:
        """Whether the COMMIT that moved `old` to `new` happened, after the connection was lost.

        A new session's locking read waits for the old session's transaction, then tells.
        """
        reached = self.reconnect()
        if reached not in (old.resolved_ts, new.resolved_ts):
            raise self._drifted(old, reached)
        return "new" if reached == new.resolved_ts else "old"

    def recover(self) -> None:
        """After a `Retry`: replaces the session if it is gone."""
        if not fence.alive(self.target):
            self.reconnect()

    def reconnect(self) -> int:
        """A new session, fenced like the first; returns R. A server that cannot be reached is a
        `Retry`; `Fenced` if another consumer took over."""

        def own_again() -> int:
            row = self._own(self._row(lock=True))
            self._set(owner=self.target.session_id())
            return int(row.resolved_ts)

        try:
            self.target.reconnect()
            return self._overtake(own_again)
        except Fenced:
            raise
        except (Unavailable, UnknownCommit) as error:
            raise Retry(str(error)) from error

    # --- reading and writing -------------------------------------------------------------------

    def _run(self, statement: sa.Executable, rows: Any = None) -> sa.CursorResult[Any]:
        return self.target.connection.execute(statement, rows)

    def _exists(self, *names: str) -> bool:
        with self.target.errors():
            inspector = sa.inspect(self.target.connection)
            return all(inspector.has_table(name) for name in names)

    def _one_at_a_time(self) -> None:
        """PostgreSQL's CREATE TABLE IF NOT EXISTS and INSERT fail where two run at once."""
        if self.target.dialect == "postgresql":
            self.target.execute("SELECT pg_advisory_xact_lock(hashtext('ticdc_checkpoint'))")

    def _row(self, *, lock: bool = False) -> Any:
        statement = sa.select(CHECKPOINT).where(CHECKPOINT.c.changefeed == self.changefeed)
        return self._run(statement.with_for_update() if lock else statement).one_or_none()

    def _set(self, **values: object) -> None:
        mine = CHECKPOINT.c.changefeed == self.changefeed
        self._run(sa.update(CHECKPOINT).where(mine).values(**values))

    def _checkpoint(self) -> Checkpoint | None:
        """In one statement: a reader beside the writer must not see R of one cut, offsets of
        another."""
        mine = CHECKPOINT.c.changefeed == self.changefeed
        of_it = OFFSET.c.changefeed == CHECKPOINT.c.changefeed
        columns = [column for column in OFFSET.c if column is not OFFSET.c.changefeed]
        both = CHECKPOINT.outerjoin(OFFSET, of_it)
        rows = self._run(sa.select(CHECKPOINT, *columns).select_from(both).where(mine)).all()
        if not rows:
            return None
        row = rows[0]
        positions = {
            (o.topic, o.partition): Position(
                o.topic, o.topic_id, o.partition, o.restart_offset, o.mark_offset, o.mark_crc
            )
            for o in rows
            if o.topic is not None
        }
        return Checkpoint(
            self.changefeed,
            row.generation,
            row.resolved_ts,
            row.scope,
            row.mark_time,
            positions,
            json.loads(row.counters),
            row.scope_text,
        )

    def _write_positions(
        self, old: Mapping[tuple[str, int], Position], new: Mapping[tuple[str, int], Position]
    ) -> None:
        """A DELETE per topic and one INSERT: fewer round trips than an UPDATE per partition."""
        changed = [position for place, position in new.items() if old.get(place) != position]
        stale: dict[str, list[int]] = {}
        for (topic, partition), position in old.items():
            if new.get((topic, partition)) != position:
                stale.setdefault(topic, []).append(partition)
        for topic, partitions in stale.items():
            self._run(
                sa.delete(OFFSET).where(
                    OFFSET.c.changefeed == self.changefeed,
                    OFFSET.c.topic == topic,
                    OFFSET.c.partition.in_(partitions),
                )
            )
        if changed:
            rows = [{"changefeed": self.changefeed, **asdict(position)} for position in changed]
            self._run(sa.insert(OFFSET), rows)

    def _write_schemas(
        self, old: Mapping[SchemaKey, Table], new: Mapping[SchemaKey, Table]
    ) -> None:
        for schema, table, version in [key for key in old if old[key] != new.get(key)]:
            self._run(
                sa.delete(SCHEMA).where(
                    SCHEMA.c.changefeed == self.changefeed,
                    SCHEMA.c.schema == schema,
                    SCHEMA.c.table == table,
                    SCHEMA.c.version == version,
                )
            )
        rows = [
            {
                "changefeed": self.changefeed,
                "schema": schema,
                "table": table,
                "version": version,
                "definition": json.dumps(to_json(told)),
            }
            for (schema, table, version), told in new.items()
            if old.get((schema, table, version)) != told
        ]
        if rows:
            self._run(sa.insert(SCHEMA), rows)

    # --- the fence -----------------------------------------------------------------------------

    def _overtake(self, work: Callable[[], T]) -> T:
        return fence.overtake(self.target, self.changefeed, self._takeover_after, self._owner, work)

    def _owner(self) -> str:
        """The stored session, read without waiting. Raises `Fenced` if it is a newer consumer's:
        a session that begins (`generation` is 0) ends any other."""
        with self.target.errors():
            row = self._row()
        if self.generation:
            self._own(row)
        return str(row.owner) if row is not None else ""

    def _own(self, row: Any) -> Any:
        """The row, if it still is of this consumer's generation."""
        if row is None:
            raise Fenced(f"the checkpoint of changefeed {self.changefeed} is gone from the target")
        if row.generation > self.generation:
            raise Fenced(
                f"changefeed {self.changefeed}: a newer consumer took over (generation "
                f"{row.generation}, this one has {self.generation})"
            )
        if row.generation < self.generation:
            raise Fenced(
                f"the checkpoint of changefeed {self.changefeed} went back to generation "
                f"{row.generation} from {self.generation}: was the target restored?"
            )
        return row

    def _refuse_unless(self, old: Checkpoint, row: Any) -> None:
        row = self._own(row)
        if row.resolved_ts != old.resolved_ts:
            raise self._drifted(old, row.resolved_ts)

    def _drifted(self, old: Checkpoint, reached: int) -> Fenced:
        return Fenced(
            f"the checkpoint of changefeed {self.changefeed} stands at R = {reached}, where this "
            f"consumer left it at {old.resolved_ts}: something else wrote it"
        )


def _moving(checkpoint: Checkpoint) -> dict[str, object]:
    """The columns that each cut writes."""
    return {
        "resolved_ts": checkpoint.resolved_ts,
        "mark_time": checkpoint.mark_time,
        "counters": json.dumps(dict(checkpoint.counters), sort_keys=True),
    }
