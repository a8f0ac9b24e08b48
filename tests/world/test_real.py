"""The model is held to reality: histories end on real parts as they do in it. This is the short
form of `make world ARGS="--real 200"`, which plays on the other targets, too."""

import pytest
from support.brokers import Real
from world.history import Plan
from world.real import can_be_real, play


@pytest.mark.parametrize(("server", "seed"), [("postgresql", 10), ("mysql", 4)])
def test_a_history_ends_on_real_parts_as_in_the_model(
    server: str, seed: int, real_kafka: Real, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(f"{server}_url")
    assert can_be_real(plan := Plan.small(seed))
    assert play(plan, url, real_kafka.bootstrap).different == ""
