"""Changes that no test can notice, with the reason."""

EQUIVALENT: dict[str, str] = {}
