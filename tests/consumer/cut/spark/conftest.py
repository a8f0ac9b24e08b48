"""Tests of this folder start JVMs and workers, so all of them are slow."""

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("slow")
