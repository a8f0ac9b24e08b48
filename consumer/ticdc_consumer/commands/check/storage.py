"""Checks of a storage, which takes the place of brokers."""

from collections.abc import Iterator
from itertools import islice

from ticdc_encoder.counted import counted
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.filters.table import TableFilter
from ticdc_encoder.storage.layout import METADATA
from ticdc_encoder.tso import with_time

from ticdc_consumer.commands.check.context import Premises
from ticdc_consumer.commands.check.finding import Finding, fail, ok, warn
from ticdc_consumer.commands.check.sample import Sample
from ticdc_consumer.protocols.protocol import located
from ticdc_consumer.source.storage.records import FileDecoder, left_out, records

SAMPLE = 50
"""Directories whose next file is decoded."""
PATIENCE = 2.0
"""Seconds that the storage may take: an operator is waiting."""


def storage(premises: Premises) -> Iterator[Finding]:
    """Checks for a checkpoint, and a listing without a gap."""
    source = premises.open_source()
    if premises.checkpoint is not None:
        source.forget(premises.checkpoint.resolved_ts)
    source.read_to(1 << 64, {}, PATIENCE)
    for mark in source.marks:
        yield ok("storage", f"{METADATA} says {with_time(mark.resolved_ts)}")
    if not source.marks:
        yield warn("storage", f"nothing new: no {METADATA} yet, or one that is applied already")
    known = premises.checkpoint.positions if premises.checkpoint else {}
    premises.listing = listing = source.list_patiently(known, PATIENCE)
    files = sum(listing.ends.values())
    yield ok("storage", f"{counted(files, 'file')}, numbered without a gap")


def files(premises: Premises) -> Iterator[Finding]:
    """Checks that the next files are of the stated protocol and settings, with a commit_ts."""
    if premises.source is None or premises.listing is None:
        return
    sample = premises.sample = Sample()
    for seen in premises.source.ddls():
        sample.add((seen.topic, 0), seen.ddl)
    known = premises.checkpoint.positions if premises.checkpoint else {}
    decoder = FileDecoder(premises.options, sample.created)
    options = premises.options
    tables = TableFilter(options.filter, case_sensitive=options.case_sensitive)
    unread = (
        (name, known[name].restart_offset if name in known else 0, end)
        for name, end in sorted(premises.listing.ends.items())
        if not left_out(options, name, lambda table: tables.matches(*table))
    )
    for name, start, _ in islice((one for one in unread if one[1] < one[2]), SAMPLE):
        for record in records(premises.options, name, start, start + 1):
            sample.messages[name] = 1
            try:
                for change in decoder.changes(record):
                    sample.add(name, change)
            except TicdcError as error:
                sample.errors.append(located(error, *name, start))
    for wrong in sample.errors[:3]:
        yield fail("files", str(wrong))
    if good := len(sample.messages) - len(sample.errors):
        yield ok("files", f"{good:,} were decoded, one per directory")
