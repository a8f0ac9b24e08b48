"""Which source column goes into which target column, and what forbids it."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ticdc_encoder.column import Column, ColumnType
from ticdc_encoder.event import Table

from ticdc_consumer.errors import Stop
from ticdc_consumer.targets.layout import Layout, TargetColumn, TargetTable, UniqueKey

SKIP = "skip"
LABELLED = frozenset({"enum", "set"})
"""The codecs that write labels for ENUM's indexes and SET's masks."""

Codec = Callable[[ColumnType, TargetColumn, bool], str]
"""(source type, target column, whether it is part of the fold key) -> name of the conversion.
Raises `Stop` with the reason alone."""

Merges = Callable[[str, ColumnType], bool]
"""Whether a collation of the target takes for equal what the source type holds apart."""


def fit(
    *,
    dialect: str,
    relation: str,
    quote: Callable[[str], str],
    codec: Codec,
    merges: Merges,
    source: Table,
    key: Sequence[str],
    target: TargetTable,
    definition: Table | None,
    keys_only: bool,
) -> Layout:
    """`Target.layout`, for the databases that differ in types and collations only."""
    name = f"{source.schema}.{source.name}"
    columns: list[str] = []
    codecs: list[str] = []
    elements: list[tuple[str, ...]] = []
    placed: dict[str, tuple[Column, ColumnType, TargetColumn]] = {}
    for column in source.columns:
        there = _find(target.columns, column.name)
        if there is None:
            if column.generated != "virtual":
                raise Stop(f"{name}.{column.name}: the target table has no such column")
            columns.append(quote(column.name))
            codecs.append(SKIP)
            elements.append(())
            continue
        type_ = _completed(column, definition)
        placed[column.name] = (column, type_, there)
        columns.append(quote(there.name))
        if there.generated:
            if column.name in key:
                raise Stop(f"{name}.{column.name}: a key column that the target generates itself")
            codecs.append(SKIP)
            elements.append(())
            continue
        try:
            codecs.append(codec(type_, there, column.name in key))
        except Stop as reason:
            raise Stop(f"{name}.{column.name}: {reason}") from None
        elements.append(_labels(type_, there) if codecs[-1] in LABELLED else ())
    if not keys_only:
        _nothing_else_is_required(name, target, {there.name for _, _, there in placed.values()})
    _collations(name, target, placed, merges)
    names = [placed[column][2].name for column in key]
    arbiters = _keys_on(target, names)
    if key and not arbiters:
        raise Stop(_no_key(name, names, target))
    return Layout(
        dialect=dialect,
        schema=source.schema,
        table=source.name,
        relation=relation,
        source=source.columns,
        columns=tuple(columns),
        codecs=tuple(codecs),
        key=tuple(key),
        upsert=_upsert(target, names, arbiters, [there for _, _, there in placed.values()]),
        elements=tuple(elements),
    )


def _find(columns: Sequence[TargetColumn], name: str) -> TargetColumn | None:
    """By its exact name, else by the only one that differs in case: TiDB's names have no case."""
    for column in columns:
        if column.name == name:
            return column
    same = [column for column in columns if column.name.lower() == name.lower()]
    return same[0] if len(same) == 1 else None


def _completed(column: Column, definition: Table | None) -> ColumnType:
    """The type of the wire, with what only the CREATE TABLE tells."""
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


def _labels(type_: ColumnType, there: TargetColumn) -> tuple[str, ...]:
    return type_.elements or there.elements


def labelled(type_: ColumnType, there: TargetColumn, in_key: bool) -> str:
    """The codec that writes labels of an ENUM or SET. Raises `Stop` where they are not known."""
    labels = _labels(type_, there)
    if not labels:
        raise Stop(
            f"the labels of this {type_.name} are not known, since its CREATE TABLE was not in the "
            "stream; make the target column an integer, or send content-compatible=true"
        )
    if in_key and "" in labels:
        raise Stop(f"a key of {type_.name} whose labels include '', which also means no value")
    return type_.name


def _nothing_else_is_required(name: str, target: TargetTable, filled: set[str]) -> None:
    for there in target.columns:
        free = there.nullable or there.has_default or there.generated or there.identity_always
        if not free and there.name not in filled:
            raise Stop(
                f"{name}: the target column {there.name} is NOT NULL without a default, and the "
                "source has no such column"
            )


def _collations(
    name: str,
    target: TargetTable,
    placed: dict[str, tuple[Column, ColumnType, TargetColumn]],
    merges: Merges,
) -> None:
    for unique in target.unique_keys:
        for column, type_, there in placed.values():
            collation = there.collation
            if there.name in unique.columns and collation and merges(collation, type_):
                raise Stop(
                    f"{name}.{column.name}: collation {collation} of the unique key {unique.name} "
                    "takes keys for equal that upstream holds apart"
                )


def _keys_on(target: TargetTable, names: Sequence[str]) -> list[UniqueKey]:
    """The unique keys that identify a row by these columns, which must all be NOT NULL."""
    nullable = {column.name for column in target.columns if column.nullable}
    if nullable.intersection(names):
        return []
    return [key for key in target.unique_keys if key.plain and set(key.columns) == set(names)]


def _no_key(name: str, names: Sequence[str], target: TargetTable) -> str:
    there = "; ".join(f"{key.name} ({', '.join(key.columns)})" for key in target.unique_keys)
    return (
        f"{name}: its rows are identified by ({', '.join(names)}), and the target has no unique "
        f"key on exactly these columns, all NOT NULL; it has {there or 'none'}"
    )


def _upsert(
    target: TargetTable,
    names: Sequence[str],
    arbiters: Sequence[UniqueKey],
    placed: Sequence[TargetColumn],
) -> bool:
    """Whether nothing but the fold key can clash.

    A plain key that contains the fold key cannot; a deferrable one cannot arbitrate; an identity
    that is always generated can be inserted, never updated.
    """
    others = [
        key for key in target.unique_keys if not (key.plain and set(names) <= set(key.columns))
    ]
    fixed = any(there.identity_always and there.name not in names for there in placed)
    return bool(names) and not others and not fixed and not all(key.deferrable for key in arbiters)
