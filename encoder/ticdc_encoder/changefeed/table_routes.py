"""`target-schema` and `target-table` of dispatchers: the names that messages carry.

Filters, topics and partitions go by the upstream's names. Source: TiCDC v8.5.7, `pkg/routing`, and
the codecs' `GetTargetSchemaName`.
"""

from collections.abc import Sequence
from dataclasses import replace

from ticdc_encoder.changefeed.route import Dispatcher
from ticdc_encoder.changefeed.tables import TableKey
from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.event import Ddl, RowChange, Table
from ticdc_encoder.filters.table import TableMatcher
from ticdc_encoder.sql.renamed import renamed


class TableRoutes:
    """The first dispatcher with a target whose matcher fits decides, whichever decides on the
    topic. Two tables that are sent under one name are an error, as they stop the changefeed."""

    def __init__(self, dispatchers: Sequence[Dispatcher], *, case_sensitive: bool) -> None:
        self._rules = [
            (TableMatcher(dispatcher.matcher, case_sensitive), dispatcher)
            for dispatcher in dispatchers
            if dispatcher.target_schema or dispatcher.target_table
        ]
        self._routed: dict[int, tuple[Table, Table]] = {}
        self._owners: dict[TableKey, TableKey] = {}

    def __bool__(self) -> bool:
        return bool(self._rules)

    def target(self, schema: str, table: str) -> TableKey:
        """The name of a table, or of a schema if `table` is "". Raises DefinitionError for a schema
        that goes to two."""
        if not table:
            schemas = dict.fromkeys(
                _substituted(rule.target_schema, schema, "") or schema
                for matcher, rule in self._rules
                if matcher.matches_schema(schema)
            )
            if len(schemas) > 1:
                raise DefinitionError(f"schema {schema} is routed to {' and to '.join(schemas)}")
            return next(iter(schemas), schema), ""
        for matcher, rule in self._rules:
            if matcher.matches(schema, table):
                return (
                    _substituted(rule.target_schema, schema, table) or schema,
                    _substituted(rule.target_table, schema, table) or table,
                )
        return schema, table

    def change(self, change: RowChange) -> RowChange:
        return replace(change, table=self.table(change.table)) if self._rules else change

    def table(self, table: Table) -> Table:
        """The table under the name that messages carry. Raises DefinitionError if another one that
        is there has that name."""
        if not self._rules:
            return table
        known = self._routed.get(id(table))
        if known is None:
            self._claim((table.schema, table.name))
            known = self._routed[id(table)] = table, self._renamed(table)
        return known[1]

    def ddl(self, ddl: Ddl, *, drops: bool) -> Ddl:
        """The DDL under these names. One that `drops` its table claims no name."""
        if not self._rules:
            return ddl
        query = renamed(ddl.query, ddl.schema, self.target)
        if ddl.table and not drops:
            self._claim((ddl.schema, ddl.table))
        if query == ddl.query:
            return ddl
        schema, table = self.target(ddl.schema, ddl.table)
        return replace(
            ddl,
            schema=schema,
            table=table,
            query=query,
            definition=ddl.definition and self._renamed(ddl.definition),
            previous=ddl.previous and self._renamed(ddl.previous),
        )

    def release(self, schema: str, table: str = "") -> None:
        """Frees the table's name, or without `table` all names of the schema."""
        for target, owner in [*self._owners.items()]:
            if owner == (schema, table) or (not table and owner[0] == schema):
                del self._owners[target]
        self._routed = {
            key: of
            for key, of in self._routed.items()
            if (of[0].schema, of[0].name) != (schema, table) and (table or of[0].schema != schema)
        }

    def _renamed(self, table: Table) -> Table:
        schema, name = self.target(table.schema, table.name)
        return replace(table, schema=schema, name=name)

    def _claim(self, name: TableKey) -> None:
        target = self.target(*name)
        owner = self._owners.setdefault(target, name)
        if owner != name:
            first, second, both = (".".join(of) for of in (owner, name, target))
            raise DefinitionError(f"{first} and {second} are both routed to {both}")


def _substituted(expression: str, schema: str, table: str) -> str:
    # One after the other, as TiCDC: a schema's name may hold {table}.
    return expression.replace("{schema}", schema).replace("{table}", table)
