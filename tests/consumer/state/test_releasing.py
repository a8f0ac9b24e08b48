from support.loading import ACCOUNTS, CHANGEFEED, first, opened
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.releasing import TableStore
from ticdc_consumer.state.store import Store


def test_what_a_release_learns_of_tables_is_known_to_the_next(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        store = Store(target, CHANGEFEED)
        state = first(store, 1)
        assert not store.ledger.definitions()
        table = SetAside.of(("bank", "accounts"), state, "a row is refused")
        release = TableStore.of(store, table, state)
        with target.transaction():
            release.ledger.define(ACCOUNTS)
        assert [*store.ledger.definitions()] == [("bank", "accounts")]
