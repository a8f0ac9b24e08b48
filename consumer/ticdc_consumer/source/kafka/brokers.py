"""Listings of the brokers: topics, partitions, ids, and the ends of the logs."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)
from ticdc_encoder.errors import TicdcError

from ticdc_consumer.errors import LOAD_ANEW, SourceAway, Stop, Unavailable, UserRefused
from ticdc_consumer.source.kafka.client import (
    ALLOW_IT,
    Failures,
    admin_settings,
    is_denied,
    refuses,
)
from ticdc_consumer.source.listing import Listing
from ticdc_consumer.source.marks import TopicPartition
from ticdc_consumer.waiting import patiently

REQUEST_TIMEOUT = 20.0
"""Seconds that the brokers may take to answer one request."""
NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""The topic id, all zeros, that librdkafka returns if the broker has none."""


class Cluster:
    """The brokers' knowledge of topics: listings, without reading records."""

    def __init__(
        self, kafka: Mapping[str, str], topics: Sequence[str], patience: float | None = None
    ) -> None:
        """`patience` is for one request; None for REQUEST_TIMEOUT."""
        self._patience = REQUEST_TIMEOUT if patience is None else patience
        self._where = kafka.get("bootstrap.servers", "")
        self._failures = Failures()
        settings: dict[str, Any] = {**admin_settings(kafka), "error_cb": self._failures}
        try:
            self._admin = AdminClient(settings)
        except KafkaException as error:  # such as when `oauth_cb` gives no token
            raise Unavailable(f"Kafka: {error.args[0].str()}") from error
        self._plain: set[str] = set()
        self._names = {topic for topic in topics if not topic.startswith("^")}
        self._patterns = [re.compile(topic) for topic in topics if topic.startswith("^")]
        self._has_controller = False

    def close(self) -> None:
        """Drops the client, whose threads would continue to search for the brokers."""
        del self._admin

    def partitions(self) -> dict[str, int]:
        """Returns the number of partitions of each topic that is named or matches a pattern.

        Raises `Stop` for a named topic that is missing, `UserRefused` if it is denied to this user,
        `Unavailable` if the brokers do not answer or a partition has no leader: the listing would
        be incomplete.
        """
        self._admin.poll(0)
        self._failures.forget()
        try:
            metadata = self._admin.list_topics(timeout=self._patience)
        except KafkaException as error:
            raise self._unavailable("list their topics", error) from error
        self._has_controller = metadata.controller_id in metadata.brokers
        counts = {}
        for name, topic in metadata.topics.items():
            if name not in self._names and not any(p.search(name) for p in self._patterns):
                continue
            if topic.error is not None:
                raise Unavailable(f"topic {name}: {topic.error.str()}")
            for number, partition in topic.partitions.items():
                if partition.leader < 0:
                    raise Unavailable(f"{name}[{number}] has no leader")
            if set(topic.partitions) != set(range(len(topic.partitions))):
                raise Unavailable(f"topic {name} is listed with only some of its partitions")
            counts[name] = len(topic.partitions)
        if missing := sorted(self._names - set(counts)):
            raise self._not_listed(missing)
        if not counts:
            raise Stop("no topic matches [kafka] topics")
        return counts

    def _not_listed(self, topics: Sequence[str]) -> TicdcError:
        """The error for missing topics: a listing silently omits those that this user may not see;
        a request by name is denied."""
        denied = []
        if self._has_controller:
            named = TopicCollection(list(topics))
            described = self._admin.describe_topics(named, request_timeout=self._patience)
            denied = [name for name, future in described.items() if is_denied(future.exception())]
        if denied:
            return UserRefused(f"topic {', '.join(denied)} is not shown to this user{ALLOW_IT}")
        return Stop(f"topic {', '.join(topics)} does not exist")

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def begins(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    def ask_ids(self, topics: Iterable[str]) -> Callable[[], dict[str, str]]:
        """Asks for the brokers' ids, and returns a function that waits for them: a topic that was
        deleted and recreated has another id.

        The controller answers, and librdkafka waits for one: if the last `partitions` found none,
        all ids are "".
        """
        ids = dict.fromkeys(topics, "")
        if not self._has_controller:
            return lambda: ids
        described = self._admin.describe_topics(
            TopicCollection(list(ids)), request_timeout=self._patience
        )

        def answer() -> dict[str, str]:
            try:
                for name, future in described.items():
                    topic_id = str(future.result().topic_id)
                    ids[name] = "" if topic_id == NO_ID else topic_id
            except KafkaException as error:
                if error.args[0].code() != KafkaError._UNSUPPORTED_FEATURE:
                    raise self._unavailable("describe topics", error) from error
            return ids

        return answer

    def list(self) -> Listing:
        """The present listing. Raises as `partitions` does."""
        counts = self.partitions()
        everywhere = [(topic, n) for topic, count in counts.items() for n in range(count)]
        ids = self.ask_ids(counts)  # both are asked before either answers
        return Listing(self.ends(everywhere), ids())

    def list_patiently(self, known: Iterable[TopicPartition], patience: float) -> Listing:
        """A listing that has every partition of `known`, retried for `patience` seconds.

        Raises `Stop` if one stays missing (its topic was deleted, or never had so many), and for a
        compacted topic.
        """
        known = set(known)

        def complete() -> Listing:
            listing = self.list()
            if missing := sorted(known - set(listing.ends)):
                topic, partition = missing[0]
                raise Stop(
                    f"{topic}[{partition}] is in the checkpoint, but the brokers do not list it: "
                    "was the topic deleted?"
                )
            return listing

        listing = patiently(complete, patience, (Stop, Unavailable))
        self._refuse_compacted(listing.topics)
        return listing

    def _refuse_compacted(self, topics: Iterable[str]) -> None:
        """Raises `Stop` for a compacted topic: messages of one key are deleted, and the others do
        not show it. Each topic is asked for once; if the brokers do not answer, it counts as not
        compacted."""
        unknown = [topic for topic in topics if topic not in self._plain]
        for topic, settings in self.settings(unknown).items():
            if "compact" in settings.get("cleanup.policy", ""):
                raise Stop(
                    f"topic {topic} is compacted, which deletes changes: set cleanup.policy=delete "
                    f"there, and {LOAD_ANEW}"
                )
        self._plain.update(unknown)

    def since(self, times: Mapping[TopicPartition, float]) -> dict[TopicPartition, int]:
        """The first offset of each whose record is not older than that time, in seconds since 1970;
        -1 if none is that new."""
        specs = {
            KafkaTopicPartition(*name): OffsetSpec.for_timestamp(round(at * 1000))
            for name, at in times.items()
        }
        return self._answered(specs)

    def settings(self, topics: Iterable[str]) -> dict[str, dict[str, str]]:
        """The topics' own settings; empty where the brokers do not give them."""
        return topic_settings(self._admin, topics, self._patience)

    def _offsets(
        self, partitions: Iterable[TopicPartition], spec: OffsetSpec
    ) -> dict[TopicPartition, int]:
        """The requested offsets. Raises `Unavailable` also if an answer has no offset, as from a
        loaded broker that does not know the leader now."""
        offsets = self._answered({KafkaTopicPartition(*name): spec for name in partitions})
        for (topic, number), offset in offsets.items():
            if offset < 0:
                raise SourceAway(
                    f"the brokers at {self._where} name no offset of {topic}[{number}]"
                )
        return offsets

    def _answered(
        self, specs: Mapping[KafkaTopicPartition, OffsetSpec]
    ) -> dict[TopicPartition, int]:
        try:
            futures = self._admin.list_offsets(dict(specs), request_timeout=self._patience)
            return {(tp.topic, tp.partition): f.result().offset for tp, f in futures.items()}
        except KafkaException as error:
            raise self._unavailable("list offsets", error) from error

    def _unavailable(self, what: str, error: KafkaException) -> Unavailable:
        self._admin.poll(0)
        reason = self._failures.first or error.args[0].str()
        is_refused = self._failures.refused or refuses(error.args[0])
        kind = UserRefused if is_refused else SourceAway
        return kind(f"the brokers at {self._where} do not {what}: {reason}")


def topic_settings(
    admin: AdminClient, topics: Iterable[str], patience: float = REQUEST_TIMEOUT
) -> dict[str, dict[str, str]]:
    """The topics' own settings; empty where the brokers do not give them."""
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    if not resources:
        return {}
    settings: dict[str, dict[str, str]] = {}
    answers = admin.describe_configs(resources, request_timeout=patience)
    for resource, answer in answers.items():
        try:
            entries = answer.result()
        except KafkaException:
            entries = {}
        settings[resource.name] = {name: str(entry.value) for name, entry in entries.items()}
    return settings
