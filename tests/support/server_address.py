"""Where the environment says that a server is."""

import os
from typing import NoReturn

import pytest

REQUIRED = os.environ.get("REQUIRE_SERVICES") == "1"


def server_address(variable: str) -> str:
    """The variable's value; without it the test is left out, or fails where servers must be."""
    return os.environ.get(variable) or missing(f"{variable} is not set")


def missing(what: str) -> NoReturn:
    """Leaves the test out, or fails it where servers must be."""
    if REQUIRED:
        pytest.fail(f"{what}, and REQUIRE_SERVICES is")
    pytest.skip(what)
