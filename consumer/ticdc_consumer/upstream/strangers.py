"""Tables that the target has and the upstream does not: remains of an earlier copy, dropped or
renamed upstream while nobody applied it."""

import logging
from collections.abc import Iterable

from ticdc_consumer.state.destinations import InTarget
from ticdc_consumer.state.other_changefeeds import OtherChangefeeds
from ticdc_consumer.targets.layout import TableName
from ticdc_consumer.targets.target import Target

logger = logging.getLogger(__name__)

OWN_PREFIX = "ticdc_"
"""Prefix of the consumer's own tables, and of those that it fills or keeps for a time."""


def warn_of_strangers(
    target: Target, changefeed: str, where: InTarget, names: Iterable[TableName]
) -> None:
    """Warns of tables in the schemas to which `names`, all of the upstream, go, if neither these
    nor another changefeed fill them."""
    if strangers := strangers_of(target, changefeed, where, names):
        tables = ", ".join(strangers)
        logger.warning(
            "tables of the target that the upstream does not have, and that no changefeed fills: "
            "%s: if they are left of tables that were dropped or renamed upstream, drop them",
            tables,
            extra={"event": "tables_not_upstream", "tables": tables},
        )


def strangers_of(
    target: Target, changefeed: str, where: InTarget, names: Iterable[TableName]
) -> list[str]:
    """The names of these tables, quoted."""
    located = [destination for name in names if (destination := where.of(name)) is not None]
    known = {where.comparable(destination) for destination in located}
    others = OtherChangefeeds(target, changefeed, where)
    strangers = list[str]()
    for schema in sorted({schema for schema, _ in located}, key=str):
        tables = [name for name in target.tables_of(schema) if not name.startswith(OWN_PREFIX)]
        left = [name for name in tables if where.comparable((schema, name)) not in known]
        strangers += [
            target.quote(schema, name)
            for name in sorted(set(left) - others.names_among(schema, left))
        ]
    return strangers
