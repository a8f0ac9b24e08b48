"""Which topics and partitions there are, and where their logs begin and end."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)

from ticdc_consumer.errors import Stop, Unavailable
from ticdc_consumer.source.kafka.client import Failures, admin_settings
from ticdc_consumer.source.listing import Listing
from ticdc_consumer.source.patience import patiently

REQUEST_TIMEOUT = 20.0
NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
"""How librdkafka writes the id, all zeros, of a topic whose broker gives it none."""


class Cluster:
    """The brokers' own word on topics; it lists, and reads no record."""

    def __init__(self, kafka: Mapping[str, str], topics: Sequence[str]) -> None:
        self._where = kafka.get("bootstrap.servers", "")
        self._failures = Failures()
        settings: dict[str, Any] = {**admin_settings(kafka), "error_cb": self._failures}
        self._admin = AdminClient(settings)
        self._plain: set[str] = set()
        self._names = {topic for topic in topics if not topic.startswith("^")}
        self._patterns = [re.compile(topic) for topic in topics if topic.startswith("^")]
        self._has_controller = False

    def close(self) -> None:
        """Lets go of the client, whose threads would go on to look for the brokers."""
        del self._admin

    def partitions(self) -> dict[str, int]:
        """Topic -> its number of partitions, of the topics that are named or match a pattern.

        Raises `Stop` for a named topic that is missing, `Unavailable` where the brokers do not
        answer, or a partition has no leader: such a listing would not be one.
        """
        self._admin.poll(0)
        self._failures.forget()
        try:
            metadata = self._admin.list_topics(timeout=REQUEST_TIMEOUT)
        except KafkaException as error:
            raise self._unavailable("list their topics", error) from error
        self._has_controller = metadata.controller_id in metadata.brokers
        found = {}
        for name, topic in metadata.topics.items():
            if name not in self._names and not any(p.search(name) for p in self._patterns):
                continue
            if topic.error is not None:
                raise Unavailable(f"topic {name}: {topic.error.str()}")
            for number, partition in topic.partitions.items():
                if partition.leader < 0:
                    raise Unavailable(f"{name}[{number}] has no leader")
            if set(topic.partitions) != set(range(len(topic.partitions))):
                raise Unavailable(f"topic {name} is listed with a part of its partitions")
            found[name] = len(topic.partitions)
        if missing := sorted(self._names - set(found)):
            raise Stop(f"topic {', '.join(missing)} does not exist")
        if not found:
            raise Stop("no topic matches [kafka] topics")
        return found

    def ends(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return self._offsets(partitions, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def begins(self, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        return self._offsets(partitions, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    def topic_ids(self, topics: Iterable[str]) -> dict[str, str]:
        """The brokers' ids: a topic that was deleted and created again has another one.

        As of the last `partitions`: the controller answers, and librdkafka waits for one.
        """
        ids = dict.fromkeys(topics, "")
        if not self._has_controller:
            return ids
        try:
            described = self._admin.describe_topics(
                TopicCollection(list(ids)), request_timeout=REQUEST_TIMEOUT
            )
            for name, future in described.items():
                found = str(future.result().topic_id)
                ids[name] = "" if found == NO_ID else found
        except KafkaException as error:
            if error.args[0].code() != KafkaError._UNSUPPORTED_FEATURE:
                raise self._unavailable("describe topics", error) from error
        return ids

    def list(self) -> Listing:
        """Raises as `partitions` does."""
        counts = self.partitions()
        everywhere = [(topic, n) for topic, count in counts.items() for n in range(count)]
        return Listing(self.ends(everywhere), self.topic_ids(counts))

    def list_patiently(self, known: Iterable[tuple[str, int]], patience: float) -> Listing:
        """A listing that has every partition of `known`, tried again for `patience` seconds.

        Raises `Stop` where one stays missing: its topic was deleted, or never had so many; and
        for a topic that is compacted.
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
        """Raises `Stop` for a topic that is compacted: messages of one key are deleted, and what
        is left does not tell. Asked once of each topic; brokers that do not tell are believed."""
        unknown = [topic for topic in topics if topic not in self._plain]
        for topic, settings in topic_settings(self._admin, unknown).items():
            if "compact" in settings.get("cleanup.policy", ""):
                raise Stop(
                    f"topic {topic} is compacted, which deletes changes: set cleanup.policy=delete,"
                    " load a new snapshot and start from it"
                )
        self._plain.update(unknown)

    def _offsets(
        self, partitions: Iterable[tuple[str, int]], spec: OffsetSpec
    ) -> dict[tuple[str, int], int]:
        wanted = {TopicPartition(topic, number): spec for topic, number in partitions}
        try:
            futures = self._admin.list_offsets(wanted, request_timeout=REQUEST_TIMEOUT)
            return {(tp.topic, tp.partition): f.result().offset for tp, f in futures.items()}
        except KafkaException as error:
            raise self._unavailable("list offsets", error) from error

    def _unavailable(self, what: str, error: KafkaException) -> Unavailable:
        self._admin.poll(0)
        reason = self._failures.first or error.args[0].str()
        return Unavailable(f"the brokers at {self._where} do not {what}: {reason}")


def topic_settings(admin: AdminClient, topics: Iterable[str]) -> dict[str, dict[str, str]]:
    """The topics' own settings, none where the brokers do not tell them."""
    wanted = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
    if not wanted:
        return {}
    found: dict[str, dict[str, str]] = {}
    for resource, answer in admin.describe_configs(wanted, request_timeout=REQUEST_TIMEOUT).items():
        try:
            entries = answer.result()
        except KafkaException:
            entries = {}
        found[resource.name] = {name: str(entry.value) for name, entry in entries.items()}
    return found
