"""The effect of one DDL on a target: its statements, and the rows that forbid them."""

from dataclasses import dataclass

from ticdc_encoder.event import Table

from ticdc_consumer.targets.layout import TargetName


@dataclass(frozen=True, slots=True)
class Alteration:
    """The statements of one DDL. `refusals` are (a query, the reason): a row of its result forbids
    the rest. `rows_only`: they change only rows, so every target can roll them back. `set_aside` is
    the new name of the table that was dropped or emptied. `created` is the upstream's definition of
    a table that is new, as the DDL leaves it. `views_left_out` are the (commit_ts, seq) of the
    CREATE VIEW of each view that is missing afterwards, with the reason.

    The rest is for DDL that commits by itself. `as_after` says what the target already has of it
    and how to undo that; either the consumer did it before a crash, or another client. `evidence`
    are queries with the same results before and after if it was the consumer. `unlike` are (a
    query, the reason): a row of the result shows that it was another client.
    """

    statements: tuple[str, ...] = ()
    refusals: tuple[tuple[str, str], ...] = ()
    rows_only: bool = False
    set_aside: TargetName | None = None
    created: Table | None = None
    views_left_out: tuple[tuple[tuple[int, int], str], ...] = ()
    as_after: str = ""
    evidence: tuple[str, ...] = ()
    unlike: tuple[tuple[str, str], ...] = ()
