"""Causes before the consumer: brokers, TiCDC, and what messages need in addition."""

from collections import Counter
from collections.abc import Iterator, Mapping

from ticdc_encoder.tso import duration, seconds, with_time

from ticdc_consumer.errors import LOAD_ANEW, Denied, Stop, UserRefused
from ticdc_consumer.source.facts import AGED, PartitionFacts, SourceFacts
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.status.activity.activity import Trouble
from ticdc_consumer.status.activity.monitor import FOR_SCHEMA
from ticdc_consumer.status.causes import thresholds
from ticdc_consumer.status.causes.situation import (
    Explanation,
    KnownCause,
    Situation,
    at_stage_for,
    has_kind,
)


def _refused(situation: Situation) -> Explanation | None:
    if isinstance(situation.unreadable, UserRefused):
        return Explanation(f"the target rejects the login: {situation.unreadable}")
    text = _of_source(situation, "UserRefused")
    if not text:
        return None
    if "certificate" in text:
        # librdkafka gives the same text for a certificate that has expired.
        return Explanation(f"TLS with the brokers fails: {text}", (), (_CERTIFICATE,))
    return Explanation(f"the brokers refuse this user: {text}")


_CERTIFICATE = (
    "compare ssl.ca.location of [kafka] with the authority that signed the brokers' certificate, "
    "and check whether the certificate has expired"
)


def _brokers_away(situation: Situation) -> Explanation | None:
    text = _of_source(situation, "SourceAway")
    return Explanation(f"the brokers do not answer: {text}") if text else None


def _of_source(situation: Situation, kind: str) -> str:
    """The error of class `kind` that the source just raised; if it was not asked, the one that the
    consumer has of it."""
    if situation.source is not None:
        return ""
    if situation.source_error is not None:
        named = type(situation.source_error).__name__ == kind
        return str(situation.source_error) if named and _concerns(situation, kind) else ""
    trouble = _trouble_of_source(situation)
    return trouble.text if trouble and has_kind(trouble, kind) else ""


def _concerns(situation: Situation, kind: str) -> bool:
    """Returns whether a run waits for the source, or ended because of it."""
    return situation.running or has_kind(situation.trouble, kind)


def _trouble_of_source(situation: Situation) -> Trouble | None:
    waits = situation.waits_long
    if waits is not None and waits.source is not None:
        return waits.source
    return situation.trouble


def _no_topics(situation: Situation) -> Explanation | None:
    error = situation.source_error
    if not isinstance(error, Stop) or isinstance(error, Denied):
        return None
    return Explanation(f"the topics have changed: {error}")


def _recreated(situation: Situation) -> Explanation | None:
    source = situation.source
    if source is None:
        return None
    do = (LOAD_ANEW.replace("CONFIG", situation.config),)
    for topic, id in sorted(situation.topic_ids.items()):
        if source.topic_ids.get(topic, "") not in ("", id):
            sentence = f"topic {topic} was deleted and recreated, and what was not applied is lost"
            ids = f"its id was {id} and is {source.topic_ids[topic]}"
            return Explanation(sentence, (ids, situation.position), do)
    for name, offset in sorted(situation.restarts.items()):
        facts = source.partitions.get(name)
        if facts is not None and facts.end < offset:
            sentence = f"{_named(name)} was truncated, or its topic was deleted and recreated"
            ends = f"it ends at offset {facts.end:,}, and the next cut begins at {offset:,}"
            return Explanation(sentence, (ends, situation.position), do)
    return None


def _filtered_out(situation: Situation) -> Explanation | None:
    activity, source = situation.at_work, situation.source
    if activity is None or source is None or not source.tables or source.passing:
        return None
    if situation.has_tables or activity.tables:
        return None
    named = ", ".join(".".join(name) for name in sorted(source.tables)[:5])
    return Explanation(
        "[tables] filter lets nothing through: nothing was applied so far, and it leaves out all "
        f"tables of the newest messages: {named}",
        (situation.position, activity.sentence),
    )


def _registry_away(situation: Situation) -> Explanation | None:
    trouble = situation.trouble
    if trouble is None or not has_kind(trouble, "RegistryAway", "RegistryError"):
        return None
    return Explanation(f"the schema registry does not answer, or lacks a schema: {trouble.text}")


def _claim_check_away(situation: Situation) -> Explanation | None:
    trouble = situation.trouble
    if trouble is None or not has_kind(trouble, "ClaimCheckAway"):
        return None
    return Explanation(f"the claim-check storage cannot be read: {trouble.text}")


def _schema_missing(situation: Situation) -> Explanation | None:
    activity, trouble = situation.at_work, situation.trouble
    if trouble is not None and has_kind(trouble, "SchemaMissing"):
        return Explanation(f"a table's schema has not come (Simple protocol): {trouble.text}")
    if activity is None or activity.stage != "waiting":
        return None
    if not activity.detail.startswith(FOR_SCHEMA):
        return None
    return Explanation(
        f"the consumer has been waiting for {duration(at_stage_for(activity))} {activity.detail}",
        (situation.position,),
    )


def _retention_near(situation: Situation) -> Explanation | None:
    source = situation.source
    if source is None:
        return None
    if situation.lag >= thresholds.LAG:
        what = "changes that are not applied yet", "the consumer needs them from"
        near = _soon_deleted(situation, source, situation.restarts, *what)
        if near is not None:
            return near
    for table in situation.set_aside:
        restarts = {name: position.restart_offset for name, position in table.positions.items()}
        name = f"{table.schema}.{table.table}"
        what = f"changes that wait for the release of {name}", "they begin at"
        near = _soon_deleted(situation, source, restarts, *what)
        if near is not None:
            return near
    return None


def _soon_deleted(
    situation: Situation,
    source: SourceFacts,
    restarts: Mapping[TopicPartition, int],
    what: str,
    begins_at: str,
) -> Explanation | None:
    for name, offset in sorted(restarts.items()):
        facts = source.partitions.get(name)
        if facts is None or offset >= facts.end:
            continue
        keeps = source.retention.get(name[0])
        if facts.begin > offset:
            sentence = f"retention has deleted {what}, in {_named(name)}"
        elif facts.aged is not None and offset < facts.aged and keeps is not None:
            sentence = (
                f"retention will soon delete {what}, in {_named(name)}: the oldest has reached "
                f"{AGED:.0%} of the {duration(keeps)} for which topic {name[0]} keeps messages"
            )
        elif _is_next(facts, offset):
            sentence = f"retention will soon delete {what}, in {_named(name)}"
        else:
            continue
        return Explanation(
            sentence,
            (
                f"the log has offsets {facts.begin:,} to {facts.end:,}, and {begins_at} offset "
                f"{offset:,}",
                situation.position,
            ),
        )
    return None


def _is_next(facts: PartitionFacts, offset: int) -> bool:
    """Returns whether messages are being deleted, and most of the remaining ones are not
    applied."""
    left = facts.end - offset
    whole = facts.end - facts.begin
    return facts.begin > 0 and left >= max(thresholds.FEW, thresholds.RETAINED_SHARE * whole)


def _nobody_writes(situation: Situation) -> Explanation | None:
    activity, source = situation.waits_long, situation.source
    if activity is None:
        return None
    if source is None or not source.partitions:
        # If an earlier consumer reached R, this one has read nothing since its start.
        read = activity.newest_message or activity.newest_ts or activity.resolved_ts
        nothing = source is None and not read
    else:
        nothing = all(facts.begin >= facts.end for facts in source.partitions.values())
    if not nothing:
        return None
    topics = sorted({topic for topic, _ in source.partitions}) if source else []
    named = f"topic {topics[0]} is" if len(topics) == 1 else "the topics are"
    return Explanation(f"nothing has been sent: {named} empty", (activity.sentence,))


def _ticdc_stopped(situation: Situation) -> Explanation | None:
    activity, source = situation.waits_long, situation.source
    if activity is None:
        return None
    newest = source.newest if source is not None and source.tails else activity.newest_message
    if newest is None or situation.now - newest < thresholds.QUIET:
        return None
    where = "any partition" if source is not None and source.tails else "partition 0"
    return Explanation(
        f"TiCDC has stopped sending: the newest message in {where} is "
        f"{duration(situation.now - newest)} old",
        _marks(situation),
    )


def _marks(situation: Situation) -> tuple[str, ...]:
    newest = situation.activity.newest_ts if situation.activity else 0
    read = (f"the newest resolved ts is {with_time(newest)}",) if newest else ()
    return (*read, situation.position)


def _partition_without_mark(situation: Situation) -> Explanation | None:
    if situation.waits_long is None:
        return None
    for (topic, number), facts in _tails(situation):
        if number == 0 or facts.resolved_ts <= situation.resolved_ts:
            continue
        first = situation.source.partitions.get((topic, 0)) if situation.source else None
        if first is not None and first.resolved_ts <= situation.resolved_ts:
            return Explanation(
                f"{topic}[0] gets no resolved ts, although {topic}[{number}] has "
                f"{with_time(facts.resolved_ts)}: TiCDC sends each one to every partition",
                _marks(situation),
            )
    return None


def _tails(situation: Situation) -> Iterator[tuple[TopicPartition, PartitionFacts]]:
    if situation.source is not None:
        yield from sorted(situation.source.partitions.items(), key=lambda item: item[0])


def _transaction_open(situation: Situation) -> Explanation | None:
    activity = situation.waits_long
    if activity is None or any(
        facts.resolved_ts > situation.resolved_ts for _, facts in _tails(situation)
    ):
        return None
    rows: Counter[int] = Counter()
    for _, facts in _tails(situation):
        rows.update({ts: n for ts, n in facts.rows.items() if ts >= situation.resolved_ts})
    if len(rows) != 1:
        return None
    ((commit_ts, seen),) = rows.items()
    pending = sum(
        max(0, facts.end - situation.restarts.get(name, facts.end))
        for name, facts in _tails(situation)
    )
    return Explanation(
        "a transaction is not complete yet: no resolved ts has come after it, and the newest of "
        f"{max(seen, pending):,} waiting messages all have commit_ts {with_time(commit_ts)}",
        (f"no resolved ts for {duration(at_stage_for(activity))}", situation.position),
    )


def _no_resolved_ts(situation: Situation) -> Explanation | None:
    activity = situation.waits_long
    if activity is None:
        return None
    comes = () if activity.newest_message is None else ("other messages do arrive",)
    return Explanation(
        f"TiCDC has sent no new resolved ts for {duration(at_stage_for(activity))}",
        (situation.position, *comes),
    )


def _ticdc_lags(situation: Situation) -> Explanation | None:
    activity = situation.waits
    if activity is None or activity.newest_message is None or not activity.newest_ts:
        return None
    behind = activity.newest_message - seconds(activity.newest_ts)
    if behind < thresholds.LAG or activity.newest_ts > activity.resolved_ts:
        return None
    return Explanation(
        f"TiCDC itself is behind: its newest resolved ts was {duration(behind)} old when it sent "
        "it, and everything up to there is applied",
        _marks(situation),
    )


def _named(name: TopicPartition) -> str:
    return f"{name[0]}[{name[1]}]"


REFUSED = KnownCause(
    "refused",
    "brokers or target answer, and reject the user, the password or the certificate, or deny a "
    "topic",
    "correct [target] url and its password, sasl.* and ssl.* of [kafka], or the topic's ACL",
    _refused,
)
BROKERS_AWAY = KnownCause(
    "brokers-unreachable",
    "no broker answers within 2.5 s, while a consumer runs or the last run ended for that reason",
    "check that the brokers run and can be reached from here (bootstrap.servers, and the brokers' "
    "advertised.listeners); a running consumer waits, and reconnects by itself",
    _brokers_away,
)
RECREATED = KnownCause(
    "topic-recreated",
    "a topic has another id than in the checkpoint, or a log ends before the checkpoint's offset",
    LOAD_ANEW.replace("CONFIG", "{config}"),
    _recreated,
)
FILTERED_OUT = KnownCause(
    "filter-leaves-all-out",
    "a consumer runs, no row was ever applied, and the filter leaves out all tables of the newest "
    "messages",
    "compare [tables] filter with the names of the tables (ticdc-consumer check {config}); another "
    "filter needs a new changefeed, or a load",
    _filtered_out,
)
NO_TOPICS = KnownCause(
    "topics-changed",
    "a topic is missing",
    f"find out who deleted it; once it exists again, {LOAD_ANEW.replace('CONFIG', '{config}')}",
    _no_topics,
)
REGISTRY_AWAY = KnownCause(
    "registry-unreachable",
    "Avro's schema registry does not answer, or does not have a schema",
    "check the registry and [registry] url; if the consumer has stopped, start it: "
    "ticdc-consumer run {config}",
    _registry_away,
)
CLAIM_CHECK_AWAY = KnownCause(
    "claim-check-unreachable",
    "the storage that [source] claim_check names cannot be read",
    "check the storage, its credentials and its driver; if the consumer has stopped, start it: "
    "ticdc-consumer run {config}",
    _claim_check_away,
)
SCHEMA_MISSING = KnownCause(
    "schema-missing",
    "a row of the Simple protocol names a schema version that no message has brought",
    "wait a few minutes: the changefeed repeats the current schemas "
    "(send-bootstrap-interval-in-sec); if an older version is missing, "
    f"{LOAD_ANEW}",
    _schema_missing,
)
RETENTION_NEAR = KnownCause(
    "retention-near",
    "changes that are not applied have reached 80 % of their topic's retention.ms, or are 80 % of "
    "what is left of a log whose messages are being deleted",
    "raise retention.ms and retention.bytes of the topic now, then find out why the consumer is "
    "behind; what is deleted can only be replaced by a new snapshot",
    _retention_near,
)
NOBODY_WRITES = KnownCause(
    "nobody-writes",
    "the consumer has waited for 30 s, and the topics are empty",
    "check that TiCDC runs, and compare [kafka] topics with the changefeed's sink URI and its "
    "dispatchers",
    _nobody_writes,
)
TICDC_STOPPED = KnownCause(
    "ticdc-stopped",
    "no message has come to any partition for 30 s",
    "see whether the changefeed is paused or has failed: cdc cli changefeed list",
    _ticdc_stopped,
)
PARTITION_WITHOUT_MARK = KnownCause(
    "partition-without-resolved-ts",
    "another partition of the topic has a resolved ts above R, and partition 0, which is "
    "followed, has none",
    "check the broker that leads partition 0, TiCDC's log, and that no other program writes to the "
    "topic",
    _partition_without_mark,
)
TRANSACTION_OPEN = KnownCause(
    "transaction-open",
    "no resolved ts for 30 s, and the newest messages of all partitions have one commit_ts",
    "wait: TiCDC sends the resolved ts after the last row of the transaction",
    _transaction_open,
)
NO_RESOLVED_TS = KnownCause(
    "no-resolved-ts",
    "messages have come for 30 s, but no resolved ts",
    "see whether TiCDC's own checkpoint advances: cdc cli changefeed list",
    _no_resolved_ts,
)
TICDC_LAGS = KnownCause(
    "ticdc-lags",
    "everything is applied, and the newest resolved ts was a minute old when TiCDC sent it",
    "look at TiCDC: its checkpoint lag, its sink, the upstream's regions",
    _ticdc_lags,
)
