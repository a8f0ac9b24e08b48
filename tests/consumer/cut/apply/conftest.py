"""Tests of this folder crash or kill consumers at every statement, so all of them are slow."""

from collections.abc import Iterator

import pytest
from ticdc_consumer.waiting import at_pace


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("slow")


@pytest.fixture(params=["postgresql", "mariadb", "mysql", "tidb"])
def server_url(request: pytest.FixtureRequest) -> str:
    """Each target whose sessions can be ended by others."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture(autouse=True)
def short_pauses() -> Iterator[None]:
    with at_pace(0.01):
        yield
