"""Checks of Kafka."""

from collections.abc import Iterator

from confluent_kafka.admin import AdminClient
from ticdc_encoder.counted import counted
from ticdc_encoder.tso import duration, with_time

from ticdc_consumer.commands.check.context import Premises
from ticdc_consumer.commands.check.finding import Finding, fail, ok, warn
from ticdc_consumer.commands.check.sample import SAMPLE
from ticdc_consumer.errors import LOAD_ANEW
from ticdc_consumer.protocols import protocol_of
from ticdc_consumer.source.kafka.brokers import topic_settings
from ticdc_consumer.source.kafka.client import admin_settings
from ticdc_consumer.source.listing import Listing

SHORT_RETENTION = 86_400.0


def brokers(premises: Premises) -> Iterator[Finding]:
    listing = premises.list_topics()
    yield ok("brokers", f"reached at {premises.options.kafka['bootstrap.servers']}")
    for topic in listing.topics:
        ends = {name: end for name, end in listing.ends.items() if name[0] == topic}
        records = sum(end - premises.begins[name] for name, end in ends.items())
        yield ok(
            f"topic {topic}",
            f"{counted(len(ends), 'partition')}, {counted(records, 'offset')} in the log",
        )


def retention(premises: Premises) -> Iterator[Finding]:
    """Checks the retention: a message deleted before it was read stops the run."""
    if premises.listing is None:
        return
    admin = AdminClient(admin_settings(premises.options.kafka))
    for topic, settings in topic_settings(admin, premises.listing.topics).items():
        subject = f"topic {topic}"
        if settings:
            yield from _retention(subject, settings)
        else:
            yield warn(
                subject, "retention and compaction are not known: the brokers do not report them"
            )


def _retention(subject: str, settings: dict[str, str]) -> Iterator[Finding]:
    policy = settings.get("cleanup.policy", "delete")
    if "compact" in policy:
        yield fail(
            subject,
            "is compacted, which deletes changes: set cleanup.policy=delete there, and "
            f"{LOAD_ANEW}",
        )
    milliseconds = int(settings.get("retention.ms", "-1"))
    size = int(settings.get("retention.bytes", "-1"))
    duration_text = "for ever" if milliseconds < 0 else f"for {duration(milliseconds / 1000)}"
    limit = "" if size < 0 else f", at most {size:,} bytes per partition"
    text = f"keeps messages {duration_text}{limit}"
    short = 0 <= milliseconds < SHORT_RETENTION * 1000 or size >= 0
    yield (
        warn(subject, f"{text}: a consumer that stops for longer loses messages")
        if short
        else ok(subject, text)
    )


def _no_messages(premises: Premises, listing: Listing) -> Finding:
    if premises.checkpoint is not None and any(listing.ends.values()):
        return ok("messages", "none after the checkpoint: everything in the topics is applied")
    return warn("messages", "the topics have none yet: the protocol cannot be checked")


def messages(premises: Premises) -> Iterator[Finding]:
    """Checks that the first messages are of the stated protocol, with a commit_ts."""
    if premises.listing is None:
        return
    sample = premises.take_sample()
    protocol = premises.options.protocol
    for error in sample.errors[:3]:
        yield fail("messages", f"cannot be read as {protocol}: {error}")
    if len(sample.errors) > 3:
        yield fail("messages", f"{len(sample.errors) - 3} more that cannot")
    decoded = sum(sample.messages.values()) - len(sample.errors)
    if decoded:
        yield ok(
            "messages",
            f"read the first messages of each partition, {decoded:,} in total: all are "
            f"{protocol} with a commit_ts",
        )
    elif not sample.errors:
        yield _no_messages(premises, premises.listing)
    if sample.unread:
        yield warn(
            "messages",
            f"{counted(sample.unread, 'row')} without a schema, which these messages do not "
            "contain: a run waits limits.schema_wait for it",
        )
    setting = protocol_of(premises.options).needs_for_marks
    hint = f"; if none comes later: does the changefeed have {setting}?" if setting else ""
    for topic in premises.listing.topics:
        mark = sample.first_mark.get(topic)
        if mark is not None:
            yield ok(f"topic {topic}", f"the first resolved ts read is {with_time(mark)}")
        elif sample.messages.get((topic, 0)):
            yield warn(
                f"topic {topic}", f"no resolved ts among the first {SAMPLE} of partition 0{hint}"
            )
