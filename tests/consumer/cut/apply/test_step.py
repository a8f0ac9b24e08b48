from support.loading import CHANGEFEED, bank, opened
from ticdc_consumer.cut.apply.step import Step
from ticdc_consumer.state.store import Store
from ticdc_encoder.sql.parser import parse_create_table

LOANS = parse_create_table("CREATE TABLE loans (id INT PRIMARY KEY)", "bank")


def test_what_rows_show_of_their_tables_is_recorded_with_them(sqlite_url: str) -> None:
    with opened(sqlite_url) as target:
        here = bank(target)
        step = Step(here.old, here.new, seen=[LOANS], newcomers=[("bank", "cards")])
        with target.transaction():
            step.record_tables(here.store.ledger)
        known = Store(target, CHANGEFEED).ledger.known()
        definitions = {name: (one.table, one.basis) for name, one in known.by_name.items()}
        assert definitions == {("bank", "loans"): (LOANS, "seen")}
        assert {("bank", "loans"), ("bank", "cards")} <= {*known.destinations}
