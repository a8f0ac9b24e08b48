"""A Kafka cluster inside this process: librdkafka's mock, for the demo and the tests.

It listens on loopback and keeps 5 MiB per partition, as stored, in memory; older batches are
trimmed. It knows no transactions, no topic configuration and no topic administration over the
wire, which is why topics are created here, through librdkafka's C interface (`rdkafka_mock.h`).
"""

import ctypes
from collections.abc import Sequence
from ctypes import c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p
from typing import Self

from confluent_kafka import KafkaError, KafkaException, cimpl

PRODUCER = 0

SIGNATURES: dict[str, tuple[type | None, Sequence[type]]] = {
    "rd_kafka_conf_new": (c_void_p, ()),
    "rd_kafka_conf_set": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p, c_size_t)),
    "rd_kafka_new": (c_void_p, (c_int, c_void_p, c_char_p, c_size_t)),
    "rd_kafka_destroy": (None, (c_void_p,)),
    "rd_kafka_mock_cluster_new": (c_void_p, (c_void_p, c_int)),
    "rd_kafka_mock_cluster_destroy": (None, (c_void_p,)),
    "rd_kafka_mock_cluster_bootstraps": (c_char_p, (c_void_p,)),
    "rd_kafka_mock_group_initial_rebalance_delay_ms": (None, (c_void_p, c_int)),
    "rd_kafka_mock_set_controller_id": (None, (c_void_p, c_int32)),
    "rd_kafka_mock_topic_create": (c_int, (c_void_p, c_char_p, c_int, c_int)),
    "rd_kafka_mock_topic_delete": (c_int, (c_void_p, c_char_p)),
    "rd_kafka_mock_broker_set_down": (c_int, (c_void_p, c_int32)),
    "rd_kafka_mock_broker_set_up": (c_int, (c_void_p, c_int32)),
    "rd_kafka_mock_partition_delete_records": (c_int, (c_void_p, c_char_p, c_int, c_int64)),
}


def _librdkafka() -> ctypes.CDLL:
    # Looking symbols up in the extension module finds them in the librdkafka it is linked with,
    # wherever a wheel or a distribution keeps that.
    library = ctypes.CDLL(cimpl.__file__)
    for name, (result, arguments) in SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class MockKafka:
    """A cluster that lives until `close`, or the end of the `with` block.

    A topic that a client asks for and nobody created is created with 4 partitions.
    """

    def __init__(self, brokers: int = 1) -> None:
        self._library = _librdkafka()
        reason = ctypes.create_string_buffer(512)
        conf = self._library.rd_kafka_conf_new()
        # The client that carries the cluster connects to nothing, and should not log that.
        self._library.rd_kafka_conf_set(conf, b"log_level", b"3", reason, len(reason))
        self._client = self._library.rd_kafka_new(PRODUCER, conf, reason, len(reason))
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._client, brokers)
        # Without a controller, clients wait for one before they describe topics (with their ids)
        # or hear that this cluster knows no configuration.
        self._library.rd_kafka_mock_set_controller_id(self._cluster, 1)
        # A real broker is configured to wait for more members; here no other member joins.
        self._library.rd_kafka_mock_group_initial_rebalance_delay_ms(self._cluster, 0)
        self.bootstrap: str = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops the cluster and drops its contents."""
        if self._cluster:
            self._library.rd_kafka_mock_cluster_destroy(self._cluster)
            self._library.rd_kafka_destroy(self._client)
            self._cluster = None

    def create_topic(self, name: str, partitions: int = 1) -> None:
        """Creates a topic. Raises KafkaException if it exists."""
        self._call("rd_kafka_mock_topic_create", name.encode(), partitions, 1)

    def delete_topic(self, name: str) -> None:
        """Deletes a topic and its contents."""
        self._call("rd_kafka_mock_topic_delete", name.encode())

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Drops records below an offset, as retention would."""
        self._call("rd_kafka_mock_partition_delete_records", topic.encode(), partition, before)

    def down(self) -> None:
        """Closes the broker's connections and refuses others, until `up`."""
        self._call("rd_kafka_mock_broker_set_down", 1)

    def up(self) -> None:
        """Brings the broker back, with everything that it held."""
        self._call("rd_kafka_mock_broker_set_up", 1)

    def _call(self, function: str, *arguments: bytes | int) -> None:
        code = getattr(self._library, function)(self._cluster, *arguments)
        if code:
            raise KafkaException(KafkaError(code))
