"""Simple's table schemas: rows are read by them, and name theirs by table and version.

DDL and BOOTSTRAP messages carry the schemas, always to partition 0 (and to the others unless
`send-bootstrap-to-all-partition` is false). A schema is valid wherever it came: `version` names
one definition of a table, so that it may be used for rows before and after it, in any partition.

Why no row is lost, and none is read by a wrong schema, whenever a consumer dies:

* A task reads rows by the schemas that came with its job and those of its own partitions. A row of
  the cut whose schema is in neither is reported, and no cut that has one is committed: it is read
  again as soon as the scout, or any task, has read the schema. A row of a later cut is dropped like
  any other, and keeps the restart offset at or below its own.
* With R and the restart offsets the target commits the schemas that are known then: those that
  were committed before, those that the scout read in partition 0, which it has read at least as far
  as the tasks did, and those that the tasks read. So each schema that came below a restart offset
  is in the target, and each that came at or above one will be read again. Thus for every row that
  it reads, a restart knows what an undisturbed run would know, or waits as that would.
* A DDL that is done at T carries the schema that rows above T have; older versions of that name are
  dropped with the commit of its cut, since replays below R do not need them.

Two schemas of one version whose columns differ stop the run; ids and the order of columns may
change, by TRUNCATE and with TiCDC's architecture.
"""

from collections.abc import Iterable, Mapping

from ticdc_encoder.event import Ddl, Table
from ticdc_encoder.filters.table import TableFilter

from ticdc_consumer.config.options import Settings
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols.pickled_once import PickledOnce

SchemaKey = tuple[str, str, int]
"""Schema, table, version."""


def key_of(table: Table) -> SchemaKey:
    return table.schema, table.name, table.version or 0


class Schemas:
    """Known schemas of tables that the filter lets pass."""

    def __init__(self, options: Settings, stored: Iterable[Table] = ()) -> None:
        self._filter = TableFilter(options.filter, case_sensitive=options.case_sensitive)
        self._known: dict[SchemaKey, Table] = {}
        self._tables: PickledOnce[Table] | None = None
        self.learn(stored)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All of them; the same tuple as long as nothing is new."""
        if self._tables is None:
            self._tables = PickledOnce(self._known.values())
        return self._tables

    def learn(self, tables: Iterable[Table]) -> None:
        """Adds schemas. Raises `Stop` if two of one version differ."""
        for table in tables:
            if not self._filter.matches(table.schema, table.name):
                continue
            key = key_of(table)
            known = self._known.get(key)
            if known is not None and _substance(known) != _substance(table):
                raise Stop(
                    f"{table.schema}.{table.name}: two schemas of one version, {table.version}: "
                    "does more than one changefeed write to the topic?"
                )
            if known != table:
                self._known[key], self._tables = table, None

    def missing(self, keys: Iterable[SchemaKey]) -> list[SchemaKey]:
        return [key for key in keys if key not in self._known]

    def after(self, ddls: Iterable[Ddl]) -> dict[SchemaKey, Table]:
        """Returns the schemas still needed after these DDL."""
        oldest = {
            (ddl.definition.schema, ddl.definition.name): ddl.definition.version or 0
            for ddl in ddls
            if ddl.definition is not None
        }
        return {
            (schema, table, version): known
            for (schema, table, version), known in self._known.items()
            if version >= oldest.get((schema, table), 0)
        }

    def keep(self, schemas: Mapping[SchemaKey, Table]) -> None:
        """Forgets all schemas but these."""
        self._known, self._tables = dict(schemas), None


def _substance(table: Table) -> object:
    """The part of a schema that all of TiCDC's versions send alike."""
    return {c.name: (c.type.name, c.type.unsigned, c.type.elements) for c in table.columns}
