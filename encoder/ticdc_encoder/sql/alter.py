"""The actions of ALTER TABLE, and CREATE INDEX and DROP INDEX, which are two of them."""

from collections.abc import Iterator

from ticdc_encoder.errors import DefinitionError
from ticdc_encoder.sql.clauses import Clauses
from ticdc_encoder.sql.column import default_of
from ticdc_encoder.sql.partitions import definitions, partition_by
from ticdc_encoder.sql.statements import (
    Action,
    AddColumn,
    AddForeignKey,
    AddIndex,
    AlterTable,
    DropColumn,
    DropForeignKey,
    DropIndex,
    EmptyPartitions,
    ExchangePartition,
    ModifyColumn,
    NoEffect,
    OtherAction,
    RenameColumn,
    RenameIndex,
    RenameTable,
    Repartition,
    ReplacePartitions,
    ResizePartitions,
    SetCharset,
    SetDefault,
    Statement,
)
from ticdc_encoder.sql.words import SqlWords

_PARTS = ("COLUMN", "INDEX", "KEY")
_KEYS = (
    "CONSTRAINT",
    "PRIMARY",
    "UNIQUE",
    "FULLTEXT",
    "SPATIAL",
    "FOREIGN",
    "CHECK",
    "KEY",
    "INDEX",
)
_PARTITION = ("ADD", "REORGANIZE", "COALESCE", "TRUNCATE", "DROP", "EXCHANGE")
_CHARSET = (("DEFAULT",), ("CHARSET",), ("CHARACTER", "SET"), ("COLLATE",))
_NO_EFFECT = (
    "COMMENT",
    "AUTO_INCREMENT",
    "AUTO_ID_CACHE",
    "AUTO_RANDOM_BASE",
    "SHARD_ROW_ID_BITS",
    "PRE_SPLIT_REGIONS",
    "TTL",
    "TTL_ENABLE",
    "TTL_JOB_INTERVAL",
    "CACHE",
    "NOCACHE",
    "ATTRIBUTES",
    "STATS_BUCKETS",
    "STATS_TOPN",
    "ALGORITHM",
    "LOCK",
)


def alter_table(words: SqlWords, schema: str) -> Statement | None:
    """Parses the text after ALTER TABLE. None if it renames and does something else, too."""
    old = words.qualified(schema)
    if words.at("RENAME") and not any(words.at("RENAME", part) for part in _PARTS):
        words.expect("RENAME")
        _ = words.take("TO") or words.take("AS") or words.take("=")
        new = words.qualified(schema)
        return RenameTable(old, new) if words.done() or words.at(";") else None
    actions: list[Action] = []
    while not (words.done() or words.at(";")):
        actions += _actions(words, schema)
        words.take(",")
    return AlterTable(*old, tuple(actions))


def create_index(words: SqlWords, schema: str) -> Statement:
    """Parses the text after CREATE, up to the end."""
    clauses = Clauses(words)
    unique = words.take("UNIQUE")
    if not unique:
        _ = words.take("FULLTEXT") or words.take("SPATIAL") or words.take("VECTOR")
    words.expect("INDEX")
    missing = words.take("IF", "NOT", "EXISTS")
    name = words.identifier()
    if words.take("USING") or words.take("TYPE"):
        words.identifier()
    words.expect("ON")
    table = words.qualified(schema)
    clauses.index(unique=unique, name=name)
    return AlterTable(*table, (AddIndex(clauses.indexes[0], missing),))


def drop_index(words: SqlWords, schema: str) -> Statement:
    """Parses the text after DROP INDEX."""
    exists = words.take("IF", "EXISTS")
    name = words.identifier()
    words.expect("ON")
    table = words.qualified(schema)
    words.skip_to_semicolon()  # ALGORITHM and LOCK
    return AlterTable(*table, (DropIndex(name, exists),))


def _actions(words: SqlWords, schema: str) -> Iterator[Action]:
    """The next action; several of ADD COLUMN (...)."""
    for first in _PARTITION:
        if words.take(first, "PARTITION"):
            yield _partition(words, first, schema)
            return
    if words.take("PARTITION", "BY"):
        yield Repartition(True, partition_by(words))
    elif words.take("REMOVE", "PARTITIONING"):
        yield Repartition(False)
    elif words.take("ADD"):
        yield from _add(words)
    elif words.take("DROP"):
        yield _drop(words)
    elif words.take("MODIFY"):
        words.take("COLUMN")
        yield _modify(words, changes=False)
    elif words.take("CHANGE"):
        words.take("COLUMN")
        yield _modify(words, changes=True)
    elif words.take("RENAME"):
        yield _rename(words)
    elif words.take("ALTER"):
        yield _alter(words)
    else:
        yield _option(words)


def _partition(words: SqlWords, what: str, schema: str) -> Action:
    """Parses the text after the words `what` and PARTITION."""
    _ = words.take("IF", "EXISTS") or words.take("IF", "NOT", "EXISTS")
    words.take("NO_WRITE_TO_BINLOG")
    match what:
        case "TRUNCATE" | "DROP":
            names: tuple[str, ...] = () if words.take("ALL") else _partition_names(words)
            return EmptyPartitions(names, what == "DROP")
        case "EXCHANGE":
            name = words.identifier()
            words.expect("WITH", "TABLE")
            table = words.qualified(schema)
            validated = not words.take("WITHOUT", "VALIDATION")
            words.take("WITH", "VALIDATION")
            return ExchangePartition(name, table, validated)
        case "COALESCE":
            return ResizePartitions(-words.integer())
    if words.take("PARTITIONS"):
        return ResizePartitions(words.integer())
    try:
        old: tuple[str, ...] = ()
        if what == "REORGANIZE":
            old = _partition_names(words)
            words.expect("INTO")
        return ReplacePartitions(old, definitions(words))
    except DefinitionError:
        words.skip_to_semicolon()
        return Repartition(True)


def _partition_names(words: SqlWords) -> tuple[str, ...]:
    names = [words.identifier()]
    while words.take(","):
        names.append(words.identifier())
    return tuple(names)


def _add(words: SqlWords) -> Iterator[Action]:
    column = words.take("COLUMN")
    if not column and (any(map(words.at, _KEYS)) or words.at("VECTOR", "INDEX")):
        clauses = Clauses(words)
        clauses.element()
        if not (clauses.indexes or clauses.foreign_keys):
            yield NoEffect("ADD CHECK")
        for key in clauses.foreign_keys:
            yield AddForeignKey(key)
        for index in clauses.indexes:
            yield AddIndex(index)
        return
    missing = words.take("IF", "NOT", "EXISTS")
    if not words.take("("):
        yield _added(words, missing)
        return
    while True:
        yield _added(words, missing)
        if not words.take(","):
            break
    words.expect(")")


def _added(words: SqlWords, missing: bool) -> AddColumn:
    clauses = Clauses(words)
    clauses.column()
    after = _after(words)
    (column,) = clauses.columns
    return AddColumn(column, tuple(clauses.column_indexes), after, clauses.computed, missing)


def _after(words: SqlWords) -> str | None:
    if words.take("FIRST"):
        return ""
    return words.identifier() if words.take("AFTER") else None


def _modify(words: SqlWords, *, changes: bool) -> ModifyColumn:
    exists = words.take("IF", "EXISTS")
    name = words.identifier() if changes else ""
    clauses = Clauses(words)
    clauses.column()
    after = _after(words)
    (column,) = clauses.columns
    return ModifyColumn(
        name or column.name,
        column,
        tuple(clauses.column_indexes),
        after,
        clauses.computed,
        exists,
    )


def _drop(words: SqlWords) -> Action:
    if words.take("PRIMARY", "KEY"):
        return DropIndex("PRIMARY")
    if words.take("FOREIGN", "KEY"):
        words.take("IF", "EXISTS")
        return DropForeignKey(words.identifier())
    if words.take("CHECK"):
        words.identifier()
        return NoEffect("DROP CHECK")
    if words.at("CONSTRAINT"):
        words.skip_to_semicolon()
        return OtherAction("DROP CONSTRAINT")
    if words.take("INDEX") or words.take("KEY"):
        exists = words.take("IF", "EXISTS")
        return DropIndex(words.identifier(), exists)
    words.take("COLUMN")
    exists = words.take("IF", "EXISTS")
    dropped = DropColumn(words.identifier(), exists)
    _ = words.take("RESTRICT") or words.take("CASCADE")
    return dropped


def _rename(words: SqlWords) -> Action:
    column = words.take("COLUMN")
    if not column and not (words.take("INDEX") or words.take("KEY")):
        words.skip_to_semicolon()
        return OtherAction("RENAME among other actions")
    name = words.identifier()
    words.expect("TO")
    new = words.identifier()
    return RenameColumn(name, new) if column else RenameIndex(name, new)


def _alter(words: SqlWords) -> Action:
    if words.take("INDEX"):
        words.identifier()
        if not words.take("INVISIBLE"):
            words.expect("VISIBLE")
        return NoEffect("ALTER INDEX")
    if words.take("CHECK") or words.take("CONSTRAINT"):
        words.identifier()
        _ = words.take("NOT", "ENFORCED") or words.take("ENFORCED")
        return NoEffect("ALTER CHECK")
    words.take("COLUMN")
    name = words.identifier()
    if words.take("DROP", "DEFAULT"):
        return SetDefault(name, None)
    words.expect("SET", "DEFAULT")
    null = words.at("NULL")
    default = default_of(words)
    return SetDefault(name, default, computed=default is None and not null)


def _option(words: SqlWords) -> Action:
    if words.take("CONVERT", "TO"):
        charset, collation = _charset(words)
        return SetCharset(charset, collation, convert=True)
    if any(words.at(*first) for first in _CHARSET):
        return SetCharset(*_charset(words))
    if words.take("REMOVE", "TTL"):
        return NoEffect("REMOVE TTL")
    if words.at("SET", "TIFLASH"):
        words.skip_to_semicolon()
        return NoEffect("SET TIFLASH REPLICA")
    if any(words.at("FORCE", name) for name in ("AUTO_INCREMENT", "AUTO_RANDOM_BASE")):
        words.take("FORCE")
    for name in _NO_EFFECT:
        if words.take(name):
            _value(words)
            return NoEffect(name)
    what = words.upcoming()
    words.skip_to_semicolon()
    return OtherAction(what)


def _charset(words: SqlWords) -> tuple[str | None, str | None]:
    charset = collation = None
    while True:
        words.take("DEFAULT")
        if words.take("CHARSET") or words.take("CHARACTER", "SET"):
            charset = words.option().lower()
        elif words.take("COLLATE"):
            collation = words.option().lower()
        else:
            return charset, collation


def _value(words: SqlWords) -> None:
    """An option's value: `= 'text'`, `5`, or TTL's `= ts + INTERVAL 1 DAY`."""
    words.take("=")
    while not (words.done() or words.at(",") or words.at(";") or _at_option(words)):
        words.next()


def _at_option(words: SqlWords) -> bool:
    others = ("CONVERT", "DEFAULT", "CHARSET", "CHARACTER", "COLLATE", "ADD", "DROP", "MODIFY")
    return any(map(words.at, (*_NO_EFFECT, *others)))
