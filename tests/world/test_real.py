"""The model is held to reality: histories end on real parts as they do in it."""

import pytest
from support.brokers import Real
from world.history import Plan
from world.real import can_be_real, play

SEEDS = {"sqlite": 1, "postgresql": 2, "mariadb": 3, "mysql": 4, "tidb": 5}
"""A seed for each kind of target."""


@pytest.mark.parametrize("server", SEEDS)
def test_a_history_ends_on_real_parts_as_in_the_model(
    server: str, real_kafka: Real, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    assert can_be_real(plan := Plan.small(SEEDS[server]))
    assert play(plan, url, real_kafka.bootstrap).different == ""
