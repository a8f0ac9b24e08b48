"""What CSV's rows need to be read exactly."""

from dataclasses import replace

import pytest
from ticdc_consumer.errors import Stop
from ticdc_consumer.protocols.csv import PROTOCOL
from ticdc_consumer.targets.layout import TargetTable
from ticdc_encoder.event import Table
from ticdc_encoder.sql.parser import parse_create_table

LISTED = parse_create_table("CREATE TABLE t (id INT PRIMARY KEY, e ENUM('2','1'))", "shop")
UNLISTED = replace(
    LISTED, columns=tuple(replace(c, type=replace(c.type, elements=())) for c in LISTED.columns)
)
"""As the schema files of TiCDC's old architecture have it."""
HERE = TargetTable(None, "t", ())


@pytest.mark.parametrize("definition", [None, UNLISTED])
def test_labels_that_nothing_lists_are_not_taken_for_numbers(definition: Table | None) -> None:
    with pytest.raises(Stop, match=r"shop\.t\.e: the labels of this enum are not known"):
        PROTOCOL.exactness.complete(UNLISTED, definition, HERE)


@pytest.mark.parametrize(("stored", "definition"), [(LISTED, None), (UNLISTED, LISTED)])
def test_labels_that_are_listed_are_known(stored: Table, definition: Table | None) -> None:
    assert PROTOCOL.exactness.complete(stored, definition, HERE) is stored
