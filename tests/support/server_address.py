"""Where the environment says that a server is."""

import os

import pytest

REQUIRED = os.environ.get("REQUIRE_SERVICES") == "1"


def server_address(variable: str) -> str:
    """The variable's value; without it the test is left out, or fails where servers must be."""
    address = os.environ.get(variable)
    if not address:
        if REQUIRED:
            pytest.fail(f"{variable} is not set, and REQUIRE_SERVICES is")
        pytest.skip(f"{variable} is not set")
    return address
