"""Views that mean the same in every dialect: columns of one table and texts, with comparisons of
integers or equality of texts."""

from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp
from ticdc_encoder.column import INTEGERS, TEXTS, Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.statements import CreateView

from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.generated_columns import computed_here
from ticdc_consumer.ddl.view.query import ViewQuery, column_names, missing, refused, require_parts
from ticdc_consumer.state.known_tables import Definitions
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.schema.create import literal
from ticdc_consumer.targets.schema.queries import PADDED
from ticdc_consumer.targets.target import Target

_COMPARISONS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TOO_MUCH = "its condition is more than comparisons of integers, or of a text with literals"


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
    target = context.target
    select = _plain(tree)
    (source,) = select.find_all(exp.Table)
    name: TableName = definitions.spelled((source.db, source.name))
    if name not in definitions:
        raise missing(f"the definition of {'.'.join(name)} did not come through the stream")
    table = definitions[name]
    rows = _Rows(target, table, source, computed_here(context, table))
    names, texts = [], []
    for item in _items(select, created.any_case(name)):
        inner = item.this if isinstance(item, exp.Alias) else item
        names.append(item.alias_or_name)
        texts.append(rows.selected(inner, named=inner is not item or bool(view.columns)))
    where = select.args.get("where")
    text = f"SELECT {', '.join(texts)} FROM {target.quote(*context.locate(name))}"  # noqa: S608
    conditions = [] if where is None else [rows.condition(where.this)]
    shard = context.shard(name)
    if shard is not None:
        conditions = [f"({condition})" for condition in conditions]
        conditions.append(f"{target.quote(None, shard.column)} = {literal(shard.name)}")
    if conditions:
        text += " WHERE " + " AND ".join(conditions)
    return ViewQuery(column_names(view, names), text)


def _plain(tree: exp.Query) -> exp.Select:
    """Returns a SELECT of one table."""
    if not isinstance(tree, exp.Select):
        raise refused("its query is not a SELECT")
    for part, value in tree.args.items():
        if value and part not in ("expressions", "from_", "where", "kind"):
            raise refused(f"{part.upper()} in its query")
    source = tree.args.get("from_")
    one = len(list(tree.find_all(exp.Table))) == 1
    if not one or source is None or not isinstance(source.this, exp.Table):
        raise refused("its query is not of one table")
    return tree


def _items(select: exp.Select, created: Table | None) -> Iterator[exp.Expr]:
    for item in select.expressions:
        if type(item) is exp.Star and not any(item.args.values()):
            if created is None:
                raise refused("which columns its table had is not known")
            for column in created.columns:
                yield exp.column(column.name, quoted=True)
        else:
            yield item


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _text(text: str) -> str:
    if "\0" in text:
        raise refused("there is a NUL character in its query")
    return literal(text)


class _Rows:
    """Expressions over the columns of a view's table, in the target's words."""

    def __init__(
        self, target: Target, table: Table, source: exp.Table, computed: frozenset[str]
    ) -> None:
        self._target, self._computed = target, computed
        # Without the table's own, a column's collation is its database's, which is not sent.
        self._collated = table.collation is not None
        self._columns = {column.name.lower(): column for column in table.columns}
        self._names = {
            ("", ""),
            ("", source.alias.lower()),
            (source.db.lower(), source.alias.lower()),
        }

    def column(self, node: exp.Column) -> Column:
        column = self._columns.get(node.name.lower())
        if column is None or (node.db.lower(), node.table.lower()) not in self._names:
            raise missing(f"its table has no column {node.name}")
        if column.virtual and column.name.lower() not in self._computed:
            raise refused(f"column {node.name} is virtual, and not in the target")
        return column

    def selected(self, node: exp.Expr, *, named: bool) -> str:
        if isinstance(node, exp.Literal) and node.is_string and named:
            return _text(node.name)
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            raise refused("it selects more than columns by their names")
        return self._target.quote(None, self.column(node).name)

    def condition(self, node: exp.Expr) -> str:
        require_parts(node, ("this", "expression", "expressions"))
        match node:
            case exp.Paren():
                return self.condition(node.this)
            case exp.And() | exp.Or():
                word = "AND" if isinstance(node, exp.And) else "OR"
                return f"({self.condition(node.left)} {word} {self.condition(node.right)})"
            case exp.Not():
                return f"NOT ({self.condition(node.this)})"
            case exp.Is(this=exp.Column() as column, expression=exp.Null()):
                return f"{self._target.quote(None, self.column(column).name)} IS NULL"
            case exp.In(this=exp.Column() as column) if node.expressions:
                left, members = self._alike(column, node.expressions)
                return f"{left} IN ({', '.join(members)})"
            case exp.EQ() | exp.NEQ() if _is_text(node.right):
                left, (right,) = self._alike(node.left, [node.right])
                return f"{left} {_COMPARISONS[type(node)]} {right}"
            case exp.EQ() | exp.NEQ() if _is_text(node.left):
                right, (left,) = self._alike(node.right, [node.left])
                return f"{left} {_COMPARISONS[type(node)]} {right}"
        if type(node) in _COMPARISONS and isinstance(node, exp.Binary):
            word = _COMPARISONS[type(node)]
            return f"{self._number(node.left)} {word} {self._number(node.right)}"
        raise refused(_TOO_MUCH)

    def _alike(self, one: exp.Expr, others: Sequence[exp.Expr]) -> tuple[str, list[str]]:
        """Returns a column, and literals that may be equal to it; spaces at the end of a text do
        not count."""
        if not all(map(_is_text, others)):
            return self._number(one), [self._number(other) for other in others]
        if isinstance(one, exp.Column):
            column = self.column(one)
            padded = self._collated and column.type.collation in PADDED
            if column.type.name in TEXTS and padded:
                name = self._target.quote(None, column.name)
                texts = [_text(other.name.rstrip(" ")) for other in others]
                return self._target.comparable_text(name), texts
        raise refused(_TOO_MUCH)

    def _number(self, node: exp.Expr) -> str:
        """Returns an integer's column or literal, which compares alike everywhere."""
        if isinstance(node, exp.Column):
            column = self.column(node)
            long = column.type.name == "bigint" and column.type.unsigned
            text = long and self._target.unsigned_bigint_is_text
            if column.type.name in INTEGERS and not text:
                return self._target.quote(None, column.name)
        sign, number = ("-", node.this) if isinstance(node, exp.Neg) else ("", node)
        if isinstance(number, exp.Literal) and not number.is_string and number.name.isdecimal():
            return sign + number.name
        raise refused(_TOO_MUCH)
