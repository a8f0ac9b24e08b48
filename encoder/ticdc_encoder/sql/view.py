"""CREATE VIEW and DROP VIEW."""

from ticdc_encoder.sql.statements import CreateView, DropView, Statement
from ticdc_encoder.sql.words import SqlWords


def create_view(words: SqlWords, schema: str) -> Statement | None:
    """Parses the text after CREATE. None if it creates something else."""
    or_replace = words.take("OR", "REPLACE")
    if words.take("ALGORITHM"):
        words.option()
    other_definer = False
    if words.take("DEFINER"):
        words.take("=")
        own = words.take("CURRENT_USER")
        if own and words.at("("):
            words.parenthesised()
        while not (words.done() or words.at("SQL") or words.at("VIEW")):
            words.next()
            own = False
        other_definer = not own
    if words.take("SQL", "SECURITY"):
        words.identifier()
    if not words.take("VIEW"):
        return None
    view_schema, view = words.qualified("")
    columns = []
    if words.take("("):
        columns.append(words.identifier())
        while words.take(","):
            columns.append(words.identifier())
        words.expect(")")
    words.expect("AS")
    return CreateView(
        view_schema or schema,
        view,
        tuple(columns),
        words.rest(),
        "" if view_schema else schema,
        or_replace,
        other_definer,
    )


def drop_view(words: SqlWords, schema: str) -> Statement | None:
    """Parses the text after DROP VIEW. None for several."""
    words.take("IF", "EXISTS")
    dropped = DropView(*words.qualified(schema))
    _ = words.take("RESTRICT") or words.take("CASCADE")
    return None if words.at(",") else dropped
