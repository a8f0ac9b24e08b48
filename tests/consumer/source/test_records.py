from confluent_kafka import Message
from ticdc_consumer.source.records import Records


def test_records_are_given_a_column_at_a_time() -> None:
    messages = [
        Message(topic="t", partition=0, offset=at, key=key, value=value, timestamp=(1, 100 + at))
        for at, key, value in ((3, b"k", b"v"), (5, None, None), (6, b"l", b"w"))
    ]
    records = Records(messages, 6)
    assert (len(records), records.offsets) == (2, [3, 5])
    assert (records.keys, records.values) == ([b"k", None], [b"v", None])
    assert [*records] == [(b"k", b"v", 3, 103), (None, None, 5, 105)]
