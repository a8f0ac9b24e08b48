"""Which errors a program may answer by trying again."""

import pytest
from ticdc_consumer.errors import (
    Away,
    Fenced,
    Full,
    SourceAway,
    Stop,
    Unavailable,
    Usage,
    UserRefused,
)

Kind = type[Unavailable | Fenced | Usage | Stop]

CODES: list[tuple[Kind, int, bool]] = [
    (Unavailable, 1, True),
    (Away, 1, True),
    (SourceAway, 1, True),
    (UserRefused, 1, True),
    (Full, 1, True),
    (Fenced, 4, False),
    (Usage, 2, False),
    (Stop, 3, False),
]


@pytest.mark.parametrize(("kind", "exit_code", "may_try_again"), CODES)
def test_what_may_be_tried_again_has_exit_code_1(
    kind: Kind, exit_code: int, may_try_again: bool
) -> None:
    assert (kind.exit_code, issubclass(kind, Unavailable)) == (exit_code, may_try_again)
