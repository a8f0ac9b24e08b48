"""The reports of a cut's tasks, as one."""

import pytest
from ticdc_consumer.errors import Denied, Full, Locked, Stop
from ticdc_consumer.read.report import Report
from ticdc_consumer.reconcile.gathered import merge
from ticdc_encoder.errors import TicdcError

REPORTED = [("Locked", Locked), ("Full", Full), ("Denied", Denied), ("WireError", Stop)]


@pytest.mark.parametrize(("name", "kind"), REPORTED)
def test_what_a_task_reports_is_raised_as_what_it_was(name: str, kind: type[TicdcError]) -> None:
    reports = [Report(), Report(error=(name, "why"), error_table=("shop", "t"))]
    with pytest.raises(kind, match="why") as raised:
        merge(reports)
    assert type(raised.value) is kind
    assert raised.value.table == ("shop", "t")
