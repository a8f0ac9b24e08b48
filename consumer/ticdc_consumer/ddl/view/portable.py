"""The views that mean the same in every dialect: columns of one table, comparisons of integers."""

from collections.abc import Iterator, Mapping

from sqlglot import exp
from ticdc_encoder.column import INTEGERS, Column
from ticdc_encoder.event import Table
from ticdc_encoder.sql.statements import CreateView

from ticdc_consumer.ddl.context import DdlContext
from ticdc_consumer.ddl.generated_columns import computed_here
from ticdc_consumer.ddl.view.query import ViewQuery, column_names, missing, refused, require_parts
from ticdc_consumer.state.known_tables import Definitions
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.schema.create import literal
from ticdc_consumer.targets.target import Target

_COMPARISONS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


def translated(
    context: DdlContext,
    view: CreateView,
    tree: exp.Query,
    definitions: Definitions,
    created: Definitions,
) -> ViewQuery:
    """`created` are the definitions of the time of the CREATE VIEW: `*` is the columns of then.
    Raises `Unsupported` for a query that may mean something else in the target, `Missing` for one
    of tables or columns that `definitions` lack."""
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
        column = item.this if isinstance(item, exp.Alias) else item
        if not isinstance(column, exp.Column) or isinstance(column.this, exp.Star):
            raise refused("it selects more than columns by their names")
        names.append(item.alias if isinstance(item, exp.Alias) else column.name)
        texts.append(target.quote(None, rows.column(column).name))
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
    """A SELECT of one table."""
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


class _Rows:
    """Expressions over the columns of a view's table, in the target's words."""

    def __init__(
        self, target: Target, table: Table, source: exp.Table, computed: frozenset[str]
    ) -> None:
        self._target, self._computed = target, computed
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
                members = ", ".join(map(self._number, node.expressions))
                return f"{self._number(column)} IN ({members})"
        if type(node) in _COMPARISONS and isinstance(node, exp.Binary):
            word = _COMPARISONS[type(node)]
            return f"{self._number(node.left)} {word} {self._number(node.right)}"
        raise refused("its condition is more than comparisons of integers")

    def _number(self, node: exp.Expr) -> str:
        """An integer's column, or literal: what compares alike everywhere."""
        if isinstance(node, exp.Column):
            column = self.column(node)
            long = column.type.name == "bigint" and column.type.unsigned
            text = long and self._target.unsigned_bigint_is_text
            if column.type.name in INTEGERS and not text:
                return self._target.quote(None, column.name)
        sign, literal = ("-", node.this) if isinstance(node, exp.Neg) else ("", node)
        if isinstance(literal, exp.Literal) and not literal.is_string and literal.name.isdecimal():
            return sign + literal.name
        raise refused("its condition is more than comparisons of integers")
