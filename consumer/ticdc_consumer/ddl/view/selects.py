"""The views of the MySQL family: SELECTs that TiDB, MySQL and MariaDB read alike, with joins,
groups and queries inside. Every name is rewritten as the target has it, with its alias."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp
from ticdc_encoder.sql.statements import CreateView

from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.generated_columns import computed_here
from ticdc_consumer.ddl.merged_tables import of_shard
from ticdc_consumer.ddl.view.expressions import condition, typed
from ticdc_consumer.ddl.view.query import ViewQuery, column_names, missing, of_view, refused
from ticdc_consumer.errors import Unsupported
from ticdc_consumer.state.known_tables import Definitions
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.schema.queries import Kind, QueryWords, Typed

_PARTS = frozenset(
    {
        *("expressions", "from_", "joins", "where", "group", "having", "order"),
        *("limit", "offset", "distinct", "kind"),
    }
)
_COMPARED = frozenset({"integer", "decimal", "text", "date", "datetime", "timestamp"})
_SIDES = {"": "JOIN", "LEFT": "LEFT JOIN", "RIGHT": "RIGHT JOIN"}


def translated(
    context: DdlContext,
    view: CreateView,
    tree: exp.Query,
    definitions: Definitions,
    created: Definitions,
) -> ViewQuery:
    """`created` are the definitions at the time of the CREATE VIEW: `*` is the columns at that
    time. Raises `Unsupported` for a query that may mean something else in the target, `Missing` for
    one of tables or columns that `definitions` lack."""
    words = context.target.query_words
    if words is None:
        raise refused("this target takes no such query")
    try:
        query = _Queries(context, definitions, created, words).query(tree, None)
    except Unsupported as refusal:
        raise of_view(refusal) from refusal
    for name, each in zip(query.names, query.of, strict=True):
        if name is None and not view.columns:
            raise refused(f"{each.text} has no name, and TiDB's name for it is not certain")
    names = column_names(view, (name or "" for name in query.names))
    return ViewQuery(names, query.text)


@dataclass(frozen=True, slots=True)
class _Read:
    """A query in the target's words: its columns, and their names if they have any."""

    text: str
    names: tuple[str | None, ...]
    of: tuple[Typed, ...]

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(column.kind for column in self.of)


@dataclass(frozen=True, slots=True)
class _Source:
    """A table, or a query in its place, under its alias: its columns in order; `hidden` are those
    that the target lacks, `key` identifies a row, if known."""

    schema: str
    alias: str
    columns: Mapping[str, Typed]
    names: Mapping[str, str]
    hidden: frozenset[str] = frozenset()
    key: tuple[str, ...] = ()


@dataclass(slots=True)
class _Scope:
    """The tables of one SELECT, and those of the queries around it."""

    queries: "_Queries"
    outer: "_Scope | None"
    sources: list[_Source] = field(default_factory=list)
    joined: dict[str, Typed] = field(default_factory=dict)
    """Columns of USING, which need no table's name."""
    groups: frozenset[str] | None = None
    """The expressions with one value per group, if only these may be named."""

    @property
    def words(self) -> QueryWords:
        return self.queries.words

    def column(self, node: exp.Column) -> Typed:
        name = node.name.lower()
        if isinstance(node.this, exp.Star):
            raise refused("it selects more than columns by their names")
        if not node.table and name in self.joined:
            return self._grouped(self.joined[name])
        meant = [
            source
            for source in self.sources
            if (name in source.columns or name in source.hidden)
            and node.table.lower() in ("", source.alias.lower())
            and node.db.lower() in ("", source.schema.lower())
        ]
        if len(meant) > 1:
            raise refused(f"it does not say whose column {node.name} is")
        if not meant:
            if self.outer is None:
                raise missing(f"its tables have no column {node.name}")
            return self.outer.column(node)
        if name in meant[0].hidden:
            raise refused(f"column {node.name} is virtual, and not in the target")
        return self._grouped(meant[0].columns[name])

    def _grouped(self, column: Typed) -> Typed:
        if self.groups is not None and column.text not in self.groups:
            raise refused(f"{column.text} may have several values in a group")
        return column if self.groups is None else self.words.of_group(column)

    def query(self, tree: exp.Expr, columns: int | None) -> tuple[str, Sequence[Kind]]:
        inner = tree.this if isinstance(tree, exp.Subquery) else tree
        if isinstance(inner, exp.Subquery) or inner.args.get("limit"):
            raise refused("LIMIT, or parentheses twice, in a query in its query")
        read = self.queries.query(inner, self)
        if columns is not None and len(read.of) != columns:
            raise refused("a value is a query of several columns")
        return read.text, read.kinds

    def inside_aggregate(self) -> "_Scope":
        return _Scope(self.queries, self.outer, self.sources, self.joined)

    def by_group(self, groups: Sequence[Typed]) -> "_Scope":
        texts = frozenset(group.text for group in groups)
        return _Scope(self.queries, self.outer, self.sources, self.joined, texts)


@dataclass(frozen=True, slots=True)
class _Queries:
    """Reads queries over the tables of `definitions`."""

    context: DdlContext
    definitions: Definitions
    created: Definitions
    words: QueryWords

    def query(self, tree: exp.Expr, outer: _Scope | None, *, labelled: bool = False) -> _Read:
        """Reads a query. With `labelled`, its columns have their names in the text."""
        if isinstance(tree, exp.Union):
            return self._union(tree, outer, labelled)
        if not isinstance(tree, exp.Select):
            raise refused("its query is not of SELECTs")
        for part, value in tree.args.items():
            if value and part not in _PARTS:
                raise refused(f"{part.upper()} in its query")
        return self._select(tree, outer, labelled)

    def _union(self, tree: exp.Union, outer: _Scope | None, labelled: bool) -> _Read:
        for part, value in tree.args.items():
            if value and part not in ("this", "expression", "distinct"):
                raise refused(f"{part.upper()} of several queries in its query")
        left = self.query(tree.this, outer, labelled=labelled)
        right = self.query(tree.expression, outer)
        distinct = bool(tree.args.get("distinct"))
        if isinstance(tree.expression, exp.Union):
            raise refused("parentheses around queries in its query")
        allowed = _COMPARED - {"decimal"} | (frozenset() if distinct else {"string"})
        if distinct and not self.words.orders_alike:
            allowed -= {"text"}
        for one, other in zip(left.of, right.of, strict=False):
            alike = (one.kind, one.scale) == (other.kind, other.scale)
            if not alike or one.kind not in allowed:
                raise refused(f"the result of combining {one.text} and {other.text} is not certain")
        if len(left.of) != len(right.of):
            raise refused("its queries have other numbers of columns")
        word = "UNION" if distinct else "UNION ALL"
        of = tuple(self.words.derived(column.text, column) for column in left.of)
        return _Read(f"{left.text} {word} {right.text}", left.names, of)

    def _select(self, tree: exp.Select, outer: _Scope | None, labelled: bool) -> _Read:
        scope = _Scope(self, outer)
        text = ""
        if (source := tree.args.get("from_")) is not None:
            text = f" FROM {self._tables(scope, source.this, tree.args.get('joins') or ())}"
        if (where := tree.args.get("where")) is not None:
            text += f" WHERE {condition(scope, where.this)}"
        items = list(_items(scope, tree))
        group = tree.args.get("group")
        aliases = {item.alias.lower(): item.this for item in items if isinstance(item, exp.Alias)}
        if group is not None:
            texts = [part for part, value in group.args.items() if value]
            if texts != ["expressions"]:
                raise refused("ROLLUP in its query")
            groups = [_sorted(scope, node, items, aliases) for node in group.expressions]
            text += f" GROUP BY {', '.join(map(scope.words.key, groups))}"
            scope = scope.by_group(groups)
        elif any(map(_aggregates, (*items, tree.args.get("having")))):
            scope = scope.by_group(())
        if (having := tree.args.get("having")) is not None:
            if scope.groups is None:
                raise refused("HAVING without groups in its query")
            text += f" HAVING {condition(scope, _unaliased(scope, having.this, aliases))}"
        columns = [_value(scope, item) for item in items]
        distinct = "DISTINCT " if tree.args.get("distinct") is not None else ""
        if distinct and not {column.kind for column in columns} <= _COMPARED:
            raise refused("it is not certain which of its rows are equal")
        if distinct and not scope.words.orders_alike:
            if scope.groups is not None:
                raise refused("DISTINCT beside groups in its query")
            text += f" GROUP BY {', '.join(map(scope.words.key, columns))}"
            scope = scope.by_group(columns)
            distinct, columns = "", [scope.words.of_group(column) for column in columns]
        text += _order(scope, tree, items, aliases)
        names = tuple(map(_name, items))
        selected = ", ".join(
            f"{self.words.selected(column)} AS {self.context.target.quote(None, name)}"
            if labelled and name
            else self.words.selected(column)
            for name, column in zip(names, columns, strict=True)
        )
        return _Read(f"SELECT {distinct}{selected}{text}", names, tuple(columns))

    # --- tables ---

    def _tables(self, scope: _Scope, first: exp.Expr, joins: Sequence[exp.Join]) -> str:
        first, joins = _unnested(first, joins)
        text = self._table(scope, first)
        right = any(join.side == "RIGHT" for join in joins)
        if right and not self.words.computes_joined:
            raise refused("a RIGHT JOIN in its query")
        for join in joins:
            side = _SIDES.get(join.side)
            rest = {part for part, value in join.args.items() if value}
            if side is None or not rest <= {"this", "side", "kind", "on", "using"}:
                raise refused("a join of its query is not certain to mean the same here")
            if join.kind not in ("", "INNER", "CROSS", "OUTER"):
                raise refused(f"{join.kind} in its query")
            before = list(scope.sources)
            other = self._table(scope, join.this)
            on, using = join.args.get("on"), join.args.get("using")
            if using:
                if right:
                    raise refused("USING beside RIGHT JOIN in its query")
                joined = self._using(scope, before, scope.sources[len(before) :], using)
            elif on is not None:
                joined = condition(scope, on)
            elif right or side != "JOIN":
                raise refused("a RIGHT JOIN beside a join without a condition in its query")
            else:
                side, joined = "CROSS JOIN", ""
            text += f" {side} {other}" + (f" ON {joined}" if joined else "")
        return text

    def _table(self, scope: _Scope, node: exp.Expr) -> str:
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery):
            if node.alias:
                raise refused("parentheses around its tables are not certain to mean the same here")
            joined = node.args.get("joins")
            text = self._tables(scope, node, ()) if joined else self._table(scope, node.this)
            return f"({text})" if joined else text
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            return self._derived(scope, node)
        if not isinstance(node, exp.Table):
            raise refused("its query is not of plain tables")
        joins = node.args.get("joins") or ()
        text = self._named(scope, node)
        if not joins:
            return text
        scope.sources.pop()
        inner = node.copy()
        inner.set("joins", None)
        return f"({self._tables(scope, inner, joins)})"

    def _named(self, scope: _Scope, node: exp.Table) -> str:
        name: TableName = self.definitions.spelled((node.db, node.name))
        if name not in self.definitions:
            raise missing(f"the definition of {'.'.join(name)} did not come through the stream")
        table, target = self.definitions[name], self.context.target
        where = self.context.locate(name)
        described = target.describe(*where)
        existing = {} if described is None else {c.name.lower(): c for c in described.columns}
        alias = self._alias(scope, node.alias)
        now = self.context.definitions.get(name)
        types = {column.name: column.type for column in now.columns} if now is not None else {}
        columns, hidden = {}, set()
        computed = computed_here(self.context, table, described)
        for column in table.columns:
            if column.virtual and column.name.lower() not in computed:
                hidden.add(column.name.lower())
                continue
            # Without the table's own, a column's collation is its database's, if that is known.
            own = existing.get(column.name.lower())
            if not self.words.orders_alike and column.type != types.get(column.name):
                own = None  # the consumer will make it
            text = f"{alias}.{target.quote(None, column.name)}"
            columns[column.name.lower()] = self.words.column(
                text, column, own, collated=table.collation is not None
            )
        of_star = self.created.any_case(name) or table
        names = {column.name.lower(): column.name for column in of_star.columns}
        key = tuple(columns[n.lower()].text for n in table.handle_key if n.lower() in columns)
        source = _Source(name[0], node.alias, columns, names, frozenset(hidden), key)
        scope.sources.append(source)
        shard = self.context.shard(name)
        if shard is None:
            return f"{target.quote(*where)} AS {alias}"
        listed = ", ".join(
            target.quote(None, c.name) for c in table.columns if c.name.lower() in columns
        )
        rows = of_shard(self.context.target, self.context.locate(name), shard)
        return f"(SELECT {listed} FROM {rows}) AS {alias}"  # noqa: S608

    def _derived(self, scope: _Scope, node: exp.Subquery) -> str:
        alias = node.args.get("alias")
        if alias is None or alias.args.get("columns") or node.args.get("joins"):
            raise refused("a query in its query has no name, or names its columns")
        read = self.query(node.this, None, labelled=True)
        quoted = self._alias(scope, node.alias)
        columns, names = {}, {}
        for name, of in zip(read.names, read.of, strict=True):
            if name is None or name.lower() in columns:
                raise refused("a column of a query in its query has no name of its own")
            names[name.lower()] = name
            text = f"{quoted}.{self.context.target.quote(None, name)}"
            columns[name.lower()] = self.words.derived(text, of)
        scope.sources.append(_Source("", node.alias, columns, names))
        return f"({read.text}) AS {quoted}"

    def _alias(self, scope: _Scope, alias: str) -> str:
        if alias.lower() in {source.alias.lower() for source in scope.sources}:
            raise refused(f"two of its tables are called {alias}")
        return self.context.target.quote(None, alias)

    def _using(
        self,
        scope: _Scope,
        before: Sequence[_Source],
        new: Sequence[_Source],
        using: Sequence[exp.Identifier],
    ) -> str:
        """Returns the condition; the first source has the value, as no row lacks it there."""
        conditions = []
        for name in using:
            sides = []
            for sources in (before, new):
                side = _Scope(self, None, list(sources))
                if sources is before:
                    side.joined = scope.joined
                sides.append(side.column(exp.column(name.this)))
            if sides[0].kind != sides[1].kind or sides[0].kind not in _COMPARED:
                raise refused(
                    f"it is not certain how {sides[0].text} compares with {sides[1].text}"
                )
            scope.joined[name.this.lower()] = sides[0]
            conditions.append(self.words.compared("=", *sides))
        return " AND ".join(conditions)


def _unnested(first: exp.Expr, joins: Sequence[exp.Join]) -> tuple[exp.Expr, Sequence[exp.Join]]:
    """Removes the parentheses around the first item, in which TiDB restores each join: joins are
    read from the left."""
    while isinstance(first, exp.Subquery) and not first.alias:
        if not isinstance(first.this, exp.Table | exp.Subquery):
            break
        joins = [*(first.args.get("joins") or ()), *joins]
        first = first.this
    inner = first.args.get("joins") if isinstance(first, exp.Table) else None
    if inner:
        joins, first = [*inner, *joins], first.copy()
        first.set("joins", None)
    return first, joins


# --- selected items, and their order -------------------------------------------------------------


def _items(scope: _Scope, tree: exp.Select) -> Iterator[exp.Expr]:
    """Yields the selected items; a star is the columns that its tables have at this moment, as in
    TiDB."""
    for item in tree.expressions:
        star = item.this if isinstance(item, exp.Column) else item
        if not isinstance(star, exp.Star):
            yield item
            continue
        if any(star.args.values()) or scope.joined:
            raise refused("* beside USING in its query")
        of = item.table.lower() if isinstance(item, exp.Column) else ""
        sources = [source for source in scope.sources if of in ("", source.alias.lower())]
        if not sources:
            raise missing(f"it has no table {of}")
        for source in sources:
            for name in source.names.values():
                yield exp.column(name, source.alias, quoted=True)


def _name(item: exp.Expr) -> str | None:
    if isinstance(item, exp.Alias):
        return item.alias
    return item.name if isinstance(item, exp.Column) else None


def _value(scope: _Scope, item: exp.Expr) -> Typed:
    node = item.this if isinstance(item, exp.Alias) else item
    if scope.groups and not _aggregates(node):
        one = typed(scope.inside_aggregate(), node)
        if one.text in scope.groups:
            return scope.words.of_group(one)
    return typed(scope, node)


def _aggregates(node: exp.Expr | None) -> bool:
    """Returns whether a part of it aggregates all rows of a group."""
    if node is None or isinstance(node, exp.Query | exp.Exists | exp.Window):
        return False
    return isinstance(node, exp.AggFunc) or any(map(_aggregates, node.iter_expressions()))


def _is_column(scope: _Scope, name: str) -> bool:
    return name in scope.joined or any(
        name in source.columns or name in source.hidden for source in scope.sources
    )


def _unaliased(scope: _Scope, node: exp.Expr, aliases: Mapping[str, exp.Expr]) -> exp.Expr:
    """Returns the expression with aliases replaced by their expressions."""

    def replaced(part: exp.Expr) -> exp.Expr:
        if not isinstance(part, exp.Column) or part.table or part.name.lower() not in aliases:
            return part
        meant = aliases[part.name.lower()]
        same = isinstance(meant, exp.Column) and meant.name.lower() == part.name.lower()
        if _is_column(scope, part.name.lower()) and not same:
            raise refused(f"{part.name} is a column and another one's name in its query")
        return meant.copy() if isinstance(meant, exp.Column) else exp.Paren(this=meant.copy())

    return node.copy().transform(replaced) if node.find(exp.Query) is None else node


def _sorted(
    scope: _Scope, node: exp.Expr, items: Sequence[exp.Expr], aliases: Mapping[str, exp.Expr]
) -> Typed:
    """Returns the value to sort or group by: an expression, or a selected item's name or number."""
    if isinstance(node, exp.Literal):
        at = int(node.name) if node.name.isdecimal() and not node.is_string else 0
        if not 1 <= at <= len(items):
            raise refused("the order of its rows is not certain")
        node = items[at - 1]
        node = node.this if isinstance(node, exp.Alias) else node
    else:
        node = _unaliased(scope, node, aliases)
    one = _value(scope, node.this if isinstance(node, exp.Paren) else node)
    if one.kind not in _COMPARED:
        raise refused(f"the order of {one.text} is not certain")
    return one


def _order(
    scope: _Scope, tree: exp.Select, items: Sequence[exp.Expr], aliases: Mapping[str, exp.Expr]
) -> str:
    order, limit, offset = (tree.args.get(part) for part in ("order", "limit", "offset"))
    text, by = "", set()
    if order is not None:
        parts = []
        for each in order.expressions:
            one = _sorted(scope, each.this, items, aliases)
            by.add(one.text)
            parts.append(scope.words.order(one, descending=bool(each.args.get("desc"))))
        text = f" ORDER BY {', '.join(parts)}"
    if limit is None and offset is None:
        return text
    keys = [source.key for source in scope.sources]
    one_row = len(keys) == 1 and keys[0] and by.issuperset(keys[0]) and scope.groups is None
    if not one_row:
        raise refused("it is not certain which rows its LIMIT leaves: it needs the order of a key")
    for word, part in (("LIMIT", limit), ("OFFSET", offset)):
        if part is not None:
            if not isinstance(part.expression, exp.Literal):
                raise refused(f"{word} without a number in its query")
            text += f" {word} {int(part.expression.name)}"
    return text
