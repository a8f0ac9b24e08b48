"""What a run needs of Kafka."""

from collections.abc import Iterator

from confluent_kafka.admin import AdminClient
from ticdc_encoder.tso import duration, physical, shown

from ticdc_consumer.check.context import SAMPLE, Finding, Premises, fail, ok, warn
from ticdc_consumer.protocols import protocol_of
from ticdc_consumer.source.kafka.brokers import admin_settings, topic_settings

SHORT_RETENTION = 86_400.0


def brokers(premises: Premises) -> Iterator[Finding]:
    listing = premises.list_topics()
    yield ok("brokers", f"reached at {premises.options.kafka['bootstrap.servers']}")
    for topic in listing.topics:
        ends = {place: end for place, end in listing.ends.items() if place[0] == topic}
        records = sum(end - premises.begins[place] for place, end in ends.items())
        yield ok(f"topic {topic}", f"{len(ends)} partitions, {records:,} offsets in the log")


def retention(premises: Premises) -> Iterator[Finding]:
    """What is deleted before it was read is lost: the run would stop there."""
    if premises.listing is None:
        return
    admin = AdminClient(admin_settings(premises.options.kafka))
    for topic, settings in topic_settings(admin, premises.listing.topics).items():
        subject = f"topic {topic}"
        if settings:
            yield from _retention(subject, settings)
        else:
            yield warn(subject, "retention and compaction not known: the brokers do not tell")


def _retention(subject: str, settings: dict[str, str]) -> Iterator[Finding]:
    policy = settings.get("cleanup.policy", "delete")
    if "compact" in policy:
        yield fail(
            subject, "is compacted, which deletes changes: set cleanup.policy=delete, start anew"
        )
    milliseconds = int(settings.get("retention.ms", "-1"))
    size = int(settings.get("retention.bytes", "-1"))
    kept = "for ever" if milliseconds < 0 else f"for {duration(milliseconds / 1000)}"
    limit = "" if size < 0 else f", at most {size:,} bytes per partition"
    text = f"keeps messages {kept}{limit}"
    short = 0 <= milliseconds < SHORT_RETENTION * 1000 or size >= 0
    yield (
        warn(subject, f"{text}: a longer standstill would lose them")
        if short
        else ok(subject, text)
    )


def messages(premises: Premises) -> Iterator[Finding]:
    """The first messages must be of the stated protocol, with a commit_ts."""
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
            f"the first of each partition, {decoded:,} in all, are {protocol} with a commit_ts",
        )
    elif not sample.errors:
        yield warn("messages", "none are there yet: nothing tells the protocol")
    if sample.unread:
        yield warn(
            "messages",
            f"{sample.unread:,} rows wait for their schema, which none of these messages tells: "
            "a run waits limits.schema_wait for it",
        )
    setting = protocol_of(premises.options).needs_for_marks
    hint = f": does the changefeed have {setting}?" if setting else ""
    for topic in premises.listing.topics:
        mark = sample.first_mark.get(topic)
        if mark is not None:
            yield ok(f"topic {topic}", f"the first resolved ts met is {shown(mark)}")
        elif sample.messages.get((topic, 0)):
            yield warn(
                f"topic {topic}", f"no resolved ts among the first {SAMPLE} of partition 0{hint}"
            )


def log(premises: Premises) -> Iterator[Finding]:
    """The log must reach back to where a run would begin."""
    if premises.listing is None:
        return
    if premises.checkpoint is not None:
        yield from _log_after_checkpoint(premises)
    elif premises.options.from_ts is not None:
        yield from _log_after_snapshot(premises, premises.options.from_ts)
    else:
        yield from _whole_log(premises)


def _log_after_checkpoint(premises: Premises) -> Iterator[Finding]:
    assert premises.listing is not None
    assert premises.checkpoint is not None
    listing, found = premises.listing, 0
    for place, position in sorted(premises.checkpoint.positions.items()):
        name = f"{place[0]}[{place[1]}]"
        begin, end = premises.begins.get(place), listing.ends.get(place)
        if begin is None or end is None:
            yield fail(name, "is in the checkpoint, but the brokers do not list it")
            continue
        topic_id = listing.topic_ids.get(place[0], "")
        if topic_id and position.topic_id and topic_id != position.topic_id:
            yield fail(name, "belongs to another topic of that name: it was deleted and created")
        elif not begin <= position.restart_offset <= end:
            yield fail(
                name,
                f"holds offsets {begin} to {end}, the checkpoint needs {position.restart_offset}",
            )
        else:
            found += 1
    if found:
        yield ok("log", f"{found} partitions reach back to the checkpoint")
    joining = len(set(listing.ends) - set(premises.checkpoint.positions))
    if joining:
        yield ok("log", f"{joining} partitions are new since the checkpoint")


def _whole_log(premises: Premises) -> Iterator[Finding]:
    cut = [place for place, begin in sorted(premises.begins.items()) if begin > 0]
    for topic, partition in cut:
        yield fail(
            f"{topic}[{partition}]",
            f"begins at offset {premises.begins[topic, partition]}: a first start needs the whole "
            "log, or a loaded snapshot and --from-ts TS",
        )
    if not cut:
        yield ok("log", "complete from offset 0: a first start without a snapshot is possible")


def _log_after_snapshot(premises: Premises, from_ts: int) -> Iterator[Finding]:
    assert premises.listing is not None
    snapshot = physical(from_ts) - premises.options.clock_skew * 1000
    times = premises.sample.first_time if premises.sample else {}
    wrong = 0
    for place, begin in sorted(premises.begins.items()):
        if begin == 0:
            continue
        time = times.get(place)
        if time is None or time >= snapshot:
            wrong += 1
            yield fail(
                f"{place[0]}[{place[1]}]",
                "what it held at the snapshot may be deleted already: "
                + ("nothing is left in it" if time is None else "its first message is younger"),
            )
    if not wrong:
        yield ok("log", f"reaches back to the snapshot of {shown(from_ts)}")
    yield warn(
        "log",
        "cannot tell whether the changefeed began at or before the snapshot: "
        "compare its start-ts, or the first resolved ts above",
    )


def scope(premises: Premises) -> Iterator[Finding]:
    """Topics, filter, routes, protocol and time zone give R its meaning."""
    if premises.checkpoint is None:
        return
    premises.checkpoint.check_scope(premises.options)
    yield ok("scope", "topics, filter, routes, protocol and time zone are the checkpoint's")
