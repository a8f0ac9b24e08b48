"""What a run needs for rows that TiCDC made smaller than they are."""

from collections.abc import Iterator
from contextlib import closing

from ticdc_consumer.check.context import Finding, Premises, ok
from ticdc_consumer.protocols import decoder
from ticdc_consumer.read.large_rows import LargeRows


def large_rows(premises: Premises) -> Iterator[Finding]:
    """The first of either kind is made whole, as a run would."""
    sample = premises.sample
    if sample is None:
        return
    rows: LargeRows[None] = LargeRows(premises.options, decoder(premises.options, sample.schemas))
    with closing(rows):
        if sample.claim_check is not None:
            rows.redeem(sample.claim_check)
            yield ok("large rows", "the first claim check met is there")
        if sample.handle_key_only is not None:
            rows.hold(sample.handle_key_only, None)
            for _ in rows.completed():
                yield ok("large rows", "the upstream has the first of which the key alone was sent")
