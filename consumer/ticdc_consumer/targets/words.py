"""The words in which PostgreSQL and SQLite differ, by dialect."""

from ticdc_consumer.targets.schema.create import Words


def words(dialect: str) -> Words:
    """Imported when first asked for."""
    if dialect == "postgresql":
        from ticdc_consumer.targets.postgresql.session import WORDS as POSTGRESQL

        return POSTGRESQL
    from ticdc_consumer.targets.sqlite.session import WORDS as SQLITE

    return SQLITE
