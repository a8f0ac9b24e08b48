"""Which timestamps are believed."""

import pytest
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols.protocol import check_ts
from ticdc_encoder.event import Ddl, Event, Resolved

LATEST = 1000


@pytest.mark.parametrize("event", [Resolved(1), Resolved(LATEST), Ddl("s", "t", "", LATEST)])
def test_a_timestamp_up_to_the_latest_is_believed(event: Event) -> None:
    check_ts(event, LATEST)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Resolved(0), "resolved ts 0 is not positive"),
        (Ddl("s", "t", "", -1), "commit_ts -1 is not positive"),
        (Resolved(LATEST + 1), "resolved ts 1001 lies too far in the future"),
        (Ddl("s", "t", "", LATEST + 1), "commit_ts 1001 lies too far in the future"),
    ],
)
def test_a_timestamp_is_above_zero_and_not_of_the_future(event: Event, words: str) -> None:
    with pytest.raises(Stop, match=words):
        check_ts(event, LATEST)
