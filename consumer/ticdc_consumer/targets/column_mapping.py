"""Mapping of source columns to target columns, and the reasons that forbid one."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Table

from ticdc_consumer.errors import Problems, Stop
from ticdc_consumer.targets.layout import Layout, TargetColumn, TargetTable, UniqueKey

SKIP = "skip"
LABELLED = frozenset({"enum", "set"})
"""The codecs that write labels for ENUM's indexes and SET's masks."""

Codec = Callable[[ColumnType, TargetColumn, bool], str]
"""(source type, target column, whether it is part of the fold key) -> name of the conversion.
Raises `Stop` with only the reason."""

Merges = Callable[[str, ColumnType], bool]
"""Predicate: the target's collation merges values that the source type distinguishes."""

Finer = Callable[[ColumnType], str]
"""A collation of the target that distinguishes all that the source type does."""


def _by_bytes(type_: ColumnType) -> str:
    return "that compares bytes"


@dataclass(frozen=True, slots=True)
class TypeRules:
    """A target's rules for columns; `quote` quotes a column's name. With `trusting`, a unique key
    that `merges` is accepted all the same, and its layout is `exact`."""

    dialect: str
    quote: Callable[[str], str]
    codec: Codec
    merges: Merges
    finer: Finer = _by_bytes
    trusting: bool = False


@dataclass(frozen=True, slots=True)
class _Placed:
    """A source column, its type as far as it is known, and the target column that takes it; None
    for a virtual column that the target lacks."""

    column: Column
    type_: ColumnType
    existing: TargetColumn | None
    codec: str

    @property
    def elements(self) -> tuple[str, ...]:
        return self.type_.elements if self.codec.partition(":")[0] in LABELLED else ()


def fit(
    rules: TypeRules,
    relation: str,
    source: Table,
    key: Sequence[str],
    target: TargetTable,
    definition: Table | None,
    keys_only: bool = False,
) -> Layout:
    """Builds a layout, see `Target.layout`; `relation` is the quoted, qualified target table."""
    name = f"{source.schema}.{source.name}"
    problems, columns = Problems(), list[_Placed]()
    for column in source.columns:
        with problems:
            columns.append(_mapped(rules, name, column, column.name in key, target, definition))
    placed = [each for each in columns if each.existing is not None]
    coarse = [*_coarse(rules, name, target, placed)]
    unfilled = [] if keys_only else [*_unfilled(name, target, placed)]
    for refusal in unfilled if rules.trusting else unfilled + coarse:
        with problems:
            raise refusal
    problems.require_none()
    targets = {each.column.name: each.existing for each in placed if each.existing is not None}
    names = [targets[column].name for column in key]
    arbiters = _keys_on(target, names)
    if key and not arbiters:
        raise Stop(_no_key(name, names, target))
    return Layout(
        dialect=rules.dialect,
        schema=source.schema,
        table=source.name,
        relation=relation,
        source=source.columns,
        columns=tuple(
            rules.quote(each.existing.name if each.existing else each.column.name)
            for each in columns
        ),
        codecs=tuple(each.codec for each in columns),
        key=tuple(key),
        upsert=not coarse and _upsert(target, names, arbiters, list(targets.values())),
        elements=tuple(each.elements for each in columns),
        exact=bool(coarse),
    )


def _mapped(
    rules: TypeRules,
    name: str,
    column: Column,
    in_key: bool,
    target: TargetTable,
    definition: Table | None,
) -> _Placed:
    """Maps one column. Raises `Stop` if the target has no column that holds every value."""
    existing = _find(target.columns, column.name)
    if existing is None:
        if column.generated != "virtual":
            raise Stop(
                f"{name}.{column.name}: the target table has no such column; add it there with "
                "the upstream's type, load its values: ticdc-consumer load CONFIG --table "
                f"{name}, then start again"
            )
        return _Placed(column, column.type, None, SKIP)
    type_ = _completed(column, definition)
    if existing.generated:
        if in_key:
            raise Stop(f"{name}.{column.name}: a key column that the target generates itself")
        _require_generated(f"{name}.{column.name}", column, definition)
        return _Placed(column, type_, existing, SKIP)
    try:
        return _Placed(column, type_, existing, rules.codec(type_, existing, in_key))
    except Stop as reason:
        raise Stop(f"{name}.{column.name}: {reason}") from None


def _require_generated(label: str, column: Column, definition: Table | None) -> None:
    """Raises `Stop` unless the upstream is known to generate the column, as the target does."""
    declared = column
    if definition is not None:
        same = (known for known in definition.columns if known.name == column.name)
        declared = next(same, column)
    if declared.generated is not None:
        return
    if definition is not None:
        raise Stop(f"{label}: the target generates it, and upstream does not: make it ordinary")
    raise Stop(
        f"{label}: the target generates it, and whether upstream does is not known, since its "
        "CREATE TABLE was not in the stream: make it an ordinary column, or set [source] upstream "
        "to the TiDB, from which a run then reads it"
    )


def _find(columns: Sequence[TargetColumn], name: str) -> TargetColumn | None:
    """Finds a column by its exact name, else the only one that differs in case, as in TiDB."""
    for column in columns:
        if column.name == name:
            return column
    same = [column for column in columns if column.name.lower() == name.lower()]
    return same[0] if len(same) == 1 else None


def _completed(column: Column, definition: Table | None) -> ColumnType:
    """The wire's type, completed from the CREATE TABLE."""
    wire = column.type
    if definition is None:
        return wire
    for declared in (known.type for known in definition.columns if known.name == column.name):
        if declared.name == wire.name:
            return replace(
                wire,
                unsigned=wire.unsigned or declared.unsigned,
                length=declared.length if wire.length is None else wire.length,
                decimals=declared.decimals if wire.decimals is None else wire.decimals,
                elements=wire.elements or declared.elements,
                charset=wire.charset or declared.charset,
                collation=wire.collation or declared.collation,
            )
    return wire


def require_labels(type_: ColumnType, or_else: str = "") -> None:
    """Raises `Stop` if the upstream's labels of an ENUM or SET are not known. The target column's
    labels may differ or stand in another order."""
    if not type_.elements:
        raise Stop(
            f"the labels of this {type_.name} are not known: neither its rows nor a CREATE TABLE "
            "in the stream list them; set [source] upstream to the TiDB, from which a run then "
            f"reads them{or_else}"
        )


def labelled(type_: ColumnType, in_key: bool) -> str:
    """Returns the codec of an ENUM's or SET's labels. Raises `Stop` if they are unknown."""
    require_labels(type_, ", or make the target column an integer")
    if in_key and "" in type_.elements:
        raise Stop(f"a key of {type_.name} whose labels include '', which also means no value")
    return type_.name


def _unfilled(name: str, target: TargetTable, placed: Sequence[_Placed]) -> Iterator[Stop]:
    """Yields a `Stop` for each target column that must have a value and gets none."""
    filled = {each.existing.name for each in placed if each.existing is not None}
    for column in target.columns:
        free = column.nullable or column.has_default or column.generated or column.identity_always
        if not free and column.name not in filled:
            yield Stop(
                f"{name}: the target column {column.name} is NOT NULL without a default, and the "
                "source has no such column; give it a default or let it take NULL, then start again"
            )


def _coarse(
    rules: TypeRules, name: str, target: TargetTable, placed: Sequence[_Placed]
) -> Iterator[Stop]:
    """Yields a `Stop` for each unique key that merges values which the upstream distinguishes."""
    for unique in target.unique_keys:
        for each in placed:
            existing = each.existing
            if existing is None or existing.name not in unique.columns or not existing.collation:
                continue
            if rules.merges(existing.collation, each.type_):
                yield Stop(
                    f"{name}.{each.column.name}: collation {existing.collation} of the unique "
                    f"key {unique.name} treats keys as equal that the upstream distinguishes; "
                    f"give the column the collation {rules.finer(each.type_)}, then start again"
                )


def _keys_on(target: TargetTable, names: Sequence[str]) -> list[UniqueKey]:
    """The unique keys that identify a row by these columns; all must be NOT NULL."""
    nullable = {column.name for column in target.columns if column.nullable}
    if nullable.intersection(names):
        return []
    return [key for key in target.unique_keys if key.identifies and set(key.columns) == set(names)]


def _no_key(name: str, names: Sequence[str], target: TargetTable) -> str:
    existing = "; ".join(f"{key.name} ({', '.join(key.columns)})" for key in target.unique_keys)
    return (
        f"{name}: its rows are identified by ({', '.join(names)}), and the target has no unique "
        f"key on exactly these columns, all NOT NULL; it has {existing or 'none'}"
    )


def _upsert(
    target: TargetTable,
    names: Sequence[str],
    arbiters: Sequence[UniqueKey],
    filled: Sequence[TargetColumn],
) -> bool:
    """Returns whether only the fold key can clash.

    A plain key that contains the fold key cannot clash; a deferrable key cannot arbitrate; an
    identity that is always generated can be inserted but never updated.
    """
    others = [
        key for key in target.unique_keys if not (key.plain and set(names) <= set(key.columns))
    ]
    fixed = any(column.identity_always and column.name not in names for column in filled)
    return bool(names) and not others and not fixed and not all(key.deferrable for key in arbiters)
