"""Whether UPDATEs tell the key that a row had before."""

from collections.abc import Iterator

from ticdc_consumer.check.context import Finding, Premises, warn
from ticdc_consumer.protocols import protocol_of


def old_rows(premises: Premises) -> Iterator[Finding]:
    """Without their old row, UPDATEs of keys must come as DELETE and INSERT, which no message
    shows; in Open Protocol they look like INSERTs then."""
    sample, protocol = premises.sample, protocol_of(premises.options)
    if sample is None:
        return
    setting = protocol.needs_for_old_rows
    cure = f", or {setting} set" if setting else ""
    if sample.without_before:
        yield warn(
            "old rows",
            "UPDATEs come without their old row, so that one of a key must come as DELETE and "
            "INSERT: nothing tells whether output-raw-change-event=true in the changefeed, which "
            f"it must not be{cure}",
        )
    elif protocol.updates_may_look_like_inserts and sample.rows and not sample.with_before:
        yield warn(
            "old rows",
            "no UPDATE with its old row is among the first messages: unless the changefeed has "
            f"{setting}, UPDATEs look like INSERTs, and one of a key must come as DELETE and "
            "INSERT (no output-raw-change-event=true)",
        )
