"""How the real TiDB's tables are understood."""

import pytest
from support.upstream_tidb import Upstream
from ticdc_consumer.errors import Stop
from ticdc_consumer.upstream.session import reading
from ticdc_consumer.upstream.tables import defined

LABELS = ("a\\b", "c\\\\d", "z\\", "t\t", "\\'", 'q"', "n")
"""Each as it is."""


def test_labels_with_a_backslash_are_those_of_the_upstream(tidb: Upstream) -> None:
    written = ", ".join(
        "'" + each.replace("\\", "\\\\").replace("'", "''") + "'" for each in LABELS
    )
    tidb.execute(
        f"CREATE TABLE t (e enum({written}) DEFAULT 'a\\\\b', s set({written}) COMMENT 'a\\\\b')"
    )
    with reading(tidb.url) as session:
        e, s = defined(session, tidb.schema, "t").table.columns
    assert e.type.elements == s.type.elements == LABELS
    assert (e.default, s.comment) == ("a\\b", "a\\b")


@pytest.mark.parametrize("label", [r"a\nb", r"a\\nb", r"\0", r"\\r"])
def test_labels_that_tidb_shows_alike_are_refused(label: str, tidb: Upstream) -> None:
    tidb.execute(f"CREATE TABLE t (e enum('{label}'))")
    with reading(tidb.url) as session, pytest.raises(Stop, match=r"t: TiDB shows .* not certain"):
        defined(session, tidb.schema, "t")
