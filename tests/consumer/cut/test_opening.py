from contextlib import closing, suppress

import pytest
from support.loading import options
from ticdc_consumer.cut import opening
from ticdc_consumer.errors import Retry, Unavailable
from ticdc_consumer.state.checkpoint import Checkpoint
from ticdc_consumer.state.scope import scope_hash
from ticdc_consumer.state.store import Store
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.targets import open_target


class Nothing:
    """Stands for a source that is not reached."""

    def close(self) -> None:
        return


def test_a_passing_refusal_at_start_says_to_start_again(
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


def test_a_starting_consumer_is_seen_before_it_asks_the_brokers(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a command that waits for it would take it for ended, while they do not answer."""
    given = options(sqlite_url)
    with closing(open_target(sqlite_url, changefeed=given.changefeed)) as target:
        store = Store(target, given.changefeed)
        store.start(0.0)
        store.begin_first(Checkpoint(given.changefeed, 0, 7, scope_hash(given), 0, {}))
    monitor = Monitor(given.changefeed)
    seen = list[int]()
    monkeypatch.setattr(opening, "open_source", lambda _: Nothing())
    monkeypatch.setattr(opening, "_go_on", lambda *_: seen.append(monitor.look().generation))
    with opening.take_over(given, monitor=monitor) as opened:
        assert seen == [opened.store.lease.generation] != [0]
