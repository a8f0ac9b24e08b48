"""What is said of a changefeed that the target has forgotten."""

import pytest
from support.loading import ACCOUNTS, CHANGEFEED, bank, first, opened, options
from ticdc_consumer.commands.changefeeds import end
from ticdc_consumer.state.store import Store


def test_one_that_stands_at_r_says_where_to_go_on(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        bank(target)
        said = str(end(target, options(sqlite_url)))
    assert said.startswith(
        f"changefeed {CHANGEFEED} is ended; its tables stay as they are, at R = "
    )
    assert "run CONFIG --from-ts 99" in said


@pytest.mark.parametrize(
    ("filled", "said"),
    [
        (False, "it had no R yet, and had filled no table"),
        (
            True,
            'its first load was not complete, so there is no R at which "accounts" equal the '
            "upstream's: start again by: ticdc-consumer load CONFIG --replace",
        ),
    ],
)
def test_one_without_an_r_claims_none(sqlite_url: str, filled: bool, said: str) -> None:
    with opened(sqlite_url) as target:
        store = Store(target, CHANGEFEED)
        first(store, 0)
        if filled:
            target.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY)").close()
            with target.transaction():
                store.ledger.define(ACCOUNTS, "declared")
        assert str(end(target, options(sqlite_url))) == f"changefeed {CHANGEFEED} is ended; {said}"
