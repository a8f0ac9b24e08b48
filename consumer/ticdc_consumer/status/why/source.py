"""Causes on the way from TiCDC to us: brokers, topics, resolved ts, retention, clocks."""

from ticdc_encoder.tso import duration, seconds, with_time

from ticdc_consumer.status.why.diagnosis import Diagnosis
from ticdc_consumer.status.why.evidence import Evidence
from ticdc_consumer.status.why.log import MARK_INTERVAL, Tail

REFUSED = ("uthentication", "SASL", "uthorization", "SSL handshake", "certificate")
SKEW = 10.0
"""Seconds that two clocks may differ."""
NEAR = 0.5
"""Share of the retention after which what was not applied is in danger."""


def broker_away(evidence: Evidence) -> Diagnosis | None:
    error = evidence.log.error
    if error is None:
        return None
    return Diagnosis(
        "broker-away",
        f"the source does not answer: {error}",
        (f"asked at {evidence.options.kafka.get('bootstrap.servers', 'the storage')}",),
        ("start the brokers, or mend the way to them; a consumer that runs waits and goes on",),
    )


def refused(evidence: Evidence) -> Diagnosis | None:
    texts = [str(evidence.log.error or "")]
    if not evidence.running and evidence.error is not None:
        texts.append(evidence.error.text)
    text = next((t for t in texts if any(word in t for word in REFUSED)), None)
    if text is None:
        return None
    return Diagnosis(
        "authentication-refused",
        f"the brokers refuse this user: {text}",
        (),
        ("mend [kafka] sasl.* or ssl.* in CONFIG, or the user's rights on the brokers",),
    )


def silent_topic(evidence: Evidence) -> Diagnosis | None:
    """A topic that has nothing, or nothing new while another has."""
    log = evidence.log
    newest = log.newest_time
    for topic in log.topics:
        tails = [tail for (name, _), tail in log.tails.items() if name == topic]
        if all(tail.end == tail.begin for tail in tails):
            return _silent(topic, "has no message", len(log.topics))
        last = max((tail.time or 0.0 for tail in tails), default=0.0)
        if newest is not None and last and newest - last > MARK_INTERVAL:
            age = duration(evidence.now - last)
            return _silent(topic, f"has got no message for {age}, others have", len(log.topics))
    return None


def _silent(topic: str, text: str, topics: int) -> Diagnosis:
    return Diagnosis(
        "silent-topic",
        f"nobody writes to topic {topic}: it {text}",
        (f"{topics} topics are read",),
        (
            "compare [kafka] topics with the changefeed's sink URI and its topic expressions; "
            "a topic that the changefeed no longer uses may be left out",
        ),
    )


def upstream_stopped(evidence: Evidence) -> Diagnosis | None:
    """Nothing comes at all: not even the resolved ts that come every second."""
    newest = evidence.log.newest_time
    if newest is None or evidence.now - newest <= MARK_INTERVAL:
        return None
    mark = evidence.log.newest_mark
    last = f"the newest resolved ts is {with_time(mark)}" if mark else "none is a resolved ts"
    return Diagnosis(
        "upstream-stopped",
        f"TiCDC sends nothing: the newest message of all partitions is "
        f"{duration(evidence.now - newest)} old",
        (last, _applied(evidence)),
        ("see to the changefeed: cdc cli changefeed query -c ID; resume it if it is paused",),
    )


def _applied(evidence: Evidence) -> str:
    return f"R is {with_time(evidence.resolved_ts)}" if evidence.resolved_ts else "R is not set yet"


def partition_without_mark(evidence: Evidence) -> Diagnosis | None:
    """Messages come, and partition 0 of no topic gets a newer resolved ts: R rises by these."""
    log = evidence.log
    if log.error is not None or not log.tails or log.newest_time is None:
        return None
    heads = {name: tail for name, tail in log.tails.items() if name[1] == 0}
    if any(_has_fresh_mark(tail, evidence) for tail in heads.values()):
        return None
    if evidence.now - log.newest_time > MARK_INTERVAL:
        return None
    name, tail = max(heads.items(), key=lambda item: (item[1].mark, item[0]))
    others = [f"{t}[{n}]" for (t, n), each in log.tails.items() if n and each.mark > tail.mark]
    shown = f"; {', '.join(others[:5])} have newer ones" if others else ""
    what = f"its newest is {with_time(tail.mark)}" if tail.mark else "none is among its last"
    return Diagnosis(
        "no-resolved-ts",
        f"{name[0]}[{name[1]}] gets no resolved ts, although messages come: R cannot rise "
        f"above {evidence.resolved_ts}",
        (f"{what} {tail.messages:,} messages were looked at{shown}",),
        (
            "see whether the changefeed still sends resolved ts (enable-tidb-extension=true, "
            "avro-enable-watermark=true), and whether another producer writes to the topic",
        ),
    )


def _has_fresh_mark(tail: Tail, evidence: Evidence) -> bool:
    """Also if there is no telling: what was looked at is too short."""
    if tail.mark_time is not None:
        fresh = evidence.now - tail.mark_time <= MARK_INTERVAL
        return fresh and tail.mark > evidence.resolved_ts or _is_applied(tail, evidence)
    if tail.whole or tail.since is None:
        return False
    return evidence.now - tail.since < MARK_INTERVAL


def _is_applied(tail: Tail, evidence: Evidence) -> bool:
    return tail.mark_time is not None and evidence.now - tail.mark_time <= MARK_INTERVAL


def incomplete_transaction(evidence: Evidence) -> Diagnosis | None:
    """The last rows of all partitions are of one commit_ts, above every resolved ts."""
    rows = {ts for tail in evidence.log.tails.values() for ts in tail.rows}
    last = {tail.rows[-1] for tail in evidence.log.tails.values() if tail.rows}
    if len(last) != 1:
        return None
    (commit_ts,) = last
    if commit_ts < max(evidence.log.newest_mark, evidence.resolved_ts) or len(rows) > 1:
        return None
    if evidence.log.newest_mark_time is None or not evidence.resolved_ts:
        return None
    sent = sum(_unread(evidence).values())
    return Diagnosis(
        "transaction-incomplete",
        f"the transaction of commit_ts {with_time(commit_ts)} is not complete: no resolved ts "
        f"after it has come, and {sent:,} messages wait",
        (f"the newest resolved ts is {with_time(evidence.log.newest_mark)}",),
        ("wait: it is applied whole, once TiCDC has sent all of it",),
    )


def _unread(evidence: Evidence) -> dict[tuple[str, int], int]:
    """Messages behind the checkpoint's offsets, by partition."""
    if evidence.status is None:
        return {}
    return {
        (p.topic, p.partition): max(0, tail.end - p.restart_offset)
        for p in evidence.status.positions
        if (tail := evidence.log.tails.get((p.topic, p.partition))) is not None
    }


def retention_near(evidence: Evidence) -> Diagnosis | None:
    for (topic, number), count in sorted(_unread(evidence).items()):
        kept = evidence.log.retention.get(topic)
        if not count or not kept or evidence.lag < kept * NEAR:
            continue
        return Diagnosis(
            "retention-near",
            f"{topic}[{number}] keeps messages for {duration(kept)}, and R is "
            f"{duration(evidence.lag)} behind: what is not applied yet will be deleted",
            (f"{count:,} messages of the partition are not applied",),
            (f"raise retention.ms of topic {topic} now, then see why R stays behind",),
        )
    return None


def clock_skew(evidence: Evidence) -> Diagnosis | None:
    ahead = seconds(evidence.log.newest_mark) - evidence.now if evidence.log.newest_mark else 0.0
    clocks = {"TiDB's clock": ahead, "the target's clock": evidence.target.clock_ahead}
    if (newest := evidence.log.newest_time) is not None:
        clocks["the brokers' or TiCDC's clock"] = newest - evidence.now
    for name, difference in clocks.items():
        late = difference < -SKEW and name == "the target's clock"
        if difference > SKEW or late:
            word = "ahead of" if difference > 0 else "behind"
            return Diagnosis(
                "clock-skew",
                f"{name} is {duration(abs(difference))} {word} this machine's: every lag that is "
                "shown is wrong by as much",
                tuple(f"{n}: {d:+.1f} s" for n, d in clocks.items()),
                ("set the clocks by NTP; limits.future_limit bounds what is believed",),
            )
    return None
