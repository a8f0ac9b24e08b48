"""Keys over the beginnings of texts: they are unique there, so that whole values are, too."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from support.canonical_rows import contents, created, defined, load
from ticdc_consumer.errors import KeyTaken
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target

LONG = "n varchar(1000), s varchar(9) not null, primary key (id, n(255), s)"
BEGIN = "x" * 255
KEYS = [
    (LONG, "PRIMARY", True),
    ("n text not null, s varchar(9) not null, primary key (n(255), id, s)", "PRIMARY", True),
    ("n varchar(1000) not null, s varchar(9), unique key u (id, n(255))", "u", True),
    ("n varchar(300) not null, s varchar(9), primary key (id, n(255))", "PRIMARY", False),
]
"""Columns and key, its name, and whether the server cannot have it over whole values."""


@pytest.fixture(params=["mysql", "mariadb", "tidb"])
def target(request: pytest.FixtureRequest) -> Iterator[Target]:
    with closing(open_target(request.getfixturevalue(f"{request.param}_url"))) as opened:
        yield opened


@pytest.mark.parametrize(("columns", "name", "prefixed"), KEYS)
def test_rows_are_written_by_their_whole_values(
    target: Target, columns: str, name: str, prefixed: bool
) -> None:
    layout = created(target, defined(f"create table t (id int not null, {columns})"))
    whole_is_taken = target.dialect == "mariadb" and name != "PRIMARY"
    assert layout.upsert is (not prefixed or whole_is_taken)

    def key_of(row: list[str]) -> list[str]:
        by_name = dict(zip(("id", "n", "s"), row, strict=True))
        return [by_name[column] for column in layout.key]

    old, new, other = ["1", BEGIN + "a", "s"], ["1", BEGIN + "b", "s"], ["1", "y", "s"]
    load(target, layout, [old, other])
    load(target, layout, [["1", BEGIN + "a", "s"]])
    # What follows the beginning changes: the key before is absent, the one after present.
    load(target, layout, [new], deleted=[key_of(old)])
    assert sorted(contents(target, layout)) == sorted([(1, BEGIN + "b", "s"), (1, "y", "s")])
    assert load(target, layout, deleted=[key_of(old)])[0] == 0
    if prefixed and not whole_is_taken:
        # As in TiDB, no two rows begin alike: a target that has another one has drifted.
        with pytest.raises(KeyTaken, match=name):
            load(target, layout, [old])
    assert load(target, layout, deleted=[key_of(new)])[0] == 1
    assert contents(target, layout) == [(1, "y", "s")]
