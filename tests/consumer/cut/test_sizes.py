"""Who reads a cut, as far as its size is known."""

from typing import cast

import pytest
from support.quiet_source import OPTIONS, Quiet
from ticdc_consumer.cut.sizes import Sizes
from ticdc_consumer.source import Source


@pytest.mark.parametrize(
    ("offsets", "why"),
    [
        (5_000, "to read 5,000 messages ([spark] from_messages = 5,000)"),
        (4_000, "to read 4,000 large messages"),
    ],
)
def test_what_needs_spark_is_told(offsets: int, why: str) -> None:
    assert Sizes(OPTIONS, cast(Source, Quiet())).why_spark(offsets) == why
