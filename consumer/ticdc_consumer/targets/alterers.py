"""ALTER TABLE and RENAME TABLE by dialect."""

from collections.abc import Callable

from ticdc_encoder.event import Table
from ticdc_encoder.sql.evolution import Evolved

from ticdc_consumer.targets.layout import ReferenceChanges
from ticdc_consumer.targets.schema.alter import Alteration
from ticdc_consumer.targets.target import Target

Place = tuple[str | None, str]
AlterTable = Callable[[Target, str | None, str, Evolved, int, ReferenceChanges], Alteration]
"""(target, schema, name, the definition before and after, commit_ts, foreign keys)."""
RenameTable = Callable[[Target, Place, Place, Table | None], list[str]]
"""(target, old place, new place, the definition where it is known)."""


def alterers(dialect: str) -> tuple[AlterTable, RenameTable]:
    """Imported when first asked for."""
    if dialect == "postgresql":
        from ticdc_consumer.targets.postgresql import alter as postgresql

        return postgresql.alter_table, postgresql.rename_table
    if dialect == "sqlite":
        from ticdc_consumer.targets.sqlite import alter as sqlite

        return sqlite.alter_table, sqlite.rename_table
    from ticdc_consumer.targets.mysql import alter as mysql

    return mysql.alter_table, mysql.rename_table
