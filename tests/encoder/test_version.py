"""TiCDC's versions, in the order of its tags, some of which are here."""

from itertools import pairwise

import pytest
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.version import Version, last_of, version_number

IN_ORDER = [
    "6.5.9",
    "6.5.10",
    "7.5.7",
    "7.5.8",
    "8.5.0-alpha",
    "8.5.0-beta",
    "8.5.0-beta.2",
    "8.5.0-beta.11",
    "8.5.0-nightly",
    "8.5.0",
    "8.5.4-nightly",
    "8.5.4-pre",
    "8.5.4-release.1",
    "8.5.4-release.2",
    "8.5.4-release.10",
    "8.5.4",
    "8.5.5-release.3",
    "8.5.5-release.3-hotfix-0101",
    "8.5.5",
    "8.5.7",
    "8.5.8",
    "9.0.0-alpha-nightly-20251101",
    "9.0.0-beta.1",
    "9.0.0-beta.2.pre",
    "9.0.0",
    "26.3.1",
    "26.3.4",
]


@pytest.mark.parametrize(("earlier", "later"), list(pairwise(IN_ORDER)))
def test_versions_are_ordered_as_they_came(earlier: str, later: str) -> None:
    assert version_number(earlier) < version_number(later)
    assert not version_number(later) <= version_number(earlier)
    assert version_number(f"v{later}") == version_number(later)


FORMS = [
    ("8.5.7", Version(8, 5, 7), "8.5.7"),
    ("v8.5.7", Version(8, 5, 7), "8.5.7"),
    ("v9.0.0-beta.2.pre", Version(9, 0, 0, "beta.2.pre"), "9.0.0-beta.2.pre"),
    ("v8.5.4-release.1", Version(8, 5, 4, "release.1"), "8.5.4-release.1"),
    ("8.5.7-20260728-c8d4d68", Version(8, 5, 7), "8.5.7"),  # a hotfix of it
    ("v8.5.3-20251013-2c9a781", Version(8, 5, 3), "8.5.3"),
]


@pytest.mark.parametrize(("text", "version", "shown"), FORMS)
def test_a_version_is_read_with_or_without_its_v(text: str, version: Version, shown: str) -> None:
    assert version_number(text) == version
    assert str(version) == shown


@pytest.mark.parametrize(
    "text", ["", "8.5", "nightly", "8.5.x", "8.5.4-", "8.5.4 new", "8.5.4+1", "vv8.5.4", "8.5.٤"]
)
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not a TiCDC version"):
        version_number(text)


def test_a_line_of_releases_ends_before_the_next_one_begins() -> None:
    assert version_number("6.5.999999") < last_of("6.5.x") < version_number("6.6.0-alpha")
    assert last_of("7.5.2") == version_number("7.5.2")
