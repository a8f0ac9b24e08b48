from contextlib import suppress

import pytest
from support.loading import options
from ticdc_consumer.errors import Retry, Unavailable
from ticdc_consumer.state import opening


class Nothing:
    """Stands for a source that is not reached."""

    def close(self) -> None:
        return


def test_what_passes_by_itself_ends_a_start_that_says_to_start_again(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object) -> None:
        raise Retry("the session was lost")

    monkeypatch.setattr(opening, "open_source", lambda _: Nothing())
    monkeypatch.setattr(opening, "require_loaded", lost)
    start = opening.take_over(options(sqlite_url))
    with pytest.raises(Unavailable, match=r"shop-feed: .*start again \(the session was lost\)"):
        start.__enter__()
    with suppress(StopIteration):
        start.__exit__(None, None, None)
