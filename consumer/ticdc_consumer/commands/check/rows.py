"""Checks of rows: those that TiCDC sent in part, and the old rows of UPDATEs."""

from collections.abc import Iterator
from contextlib import closing

from ticdc_consumer.commands.check.context import Premises
from ticdc_consumer.commands.check.finding import Finding, ok, warn
from ticdc_consumer.cut.read.large_rows import LargeRows
from ticdc_consumer.protocols import decoder, protocol_of


def large_rows(premises: Premises) -> Iterator[Finding]:
    """Completes the first row of either kind, as a run would."""
    sample = premises.sample
    if sample is None:
        return
    rows: LargeRows[None] = LargeRows(premises.options, decoder(premises.options, sample.schemas))
    with closing(rows):
        if sample.claim_check is not None:
            rows.redeem(sample.claim_check)
            yield ok("large rows", "the storage has the first claim check that was read")
        if sample.handle_key_only is not None:
            rows.hold(sample.handle_key_only, None)
            for _ in rows.completed():
                yield ok(
                    "large rows", "the upstream has the first row of which TiCDC sent only the key"
                )


def old_rows(premises: Premises) -> Iterator[Finding]:
    """Checks for old rows. Without them, UPDATEs of keys must come as DELETE and INSERT, which no
    message shows; in Open Protocol they then look like INSERTs."""
    sample, protocol = premises.sample, protocol_of(premises.options)
    if sample is None:
        return
    setting = protocol.needs_for_old_rows
    cure = f", or set {setting}" if setting else ""
    if sample.without_before:
        yield warn(
            "old rows",
            "UPDATEs come without their old row, so TiCDC must split an UPDATE of a key into "
            "DELETE and INSERT. No message shows whether the changefeed has "
            f"output-raw-change-event = true: make sure that it does not{cure}",
        )
    elif protocol.updates_may_look_like_inserts and sample.rows and not sample.with_before:
        yield warn(
            "old rows",
            "none of the first messages is an UPDATE with its old row. Unless the changefeed "
            f"has {setting}, UPDATEs look like INSERTs, and TiCDC must split an UPDATE of a key "
            "into DELETE and INSERT (output-raw-change-event must not be true)",
        )
