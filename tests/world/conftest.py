"""Tests of this folder play thousands of random histories, so all of them are slow."""

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker("slow")
