"""TiCDC's versions, and what they change in how a configuration is read."""

from ticdc_encoder.errors import ConfigError

Version = tuple[int, int, int]

NEW_ARCHITECTURE: Version = (8, 5, 4)
"""The first version that has it. It is off by default (`newarch` in `pkg/config/server.go`, from
v8.5.4-release.1 to v9.0.0-beta.2), so that no version tells which of the two ran."""
_FOLDS_CASE: tuple[tuple[Version, Version], ...] = (
    ((6, 5, 6), (6, 6, 0)),
    ((7, 1, 3), (7, 2, 0)),
    ((7, 5, 0), (1 << 30, 0, 0)),
)
"""From the first version up to, but not including, the second, `case-sensitive` is false by
default."""
_LONGEST = 9


def version_number(version: str) -> Version:
    """`v8.5.4-pre` -> (8, 5, 4). Raises ConfigError."""
    parts = version.removeprefix("v").partition("-")[0].split(".")
    if len(parts) != 3 or not all(part.isdecimal() and len(part) <= _LONGEST for part in parts):
        raise ConfigError(f"not a TiCDC version: {version!r}")
    major, minor, patch = map(int, parts)
    return major, minor, patch


def check_architecture(version: Version, *, new: bool) -> None:
    """Raises ConfigError for a version that does not have the new architecture."""
    if new and version < NEW_ARCHITECTURE:
        raise ConfigError(
            f"TiCDC {_text(version)} has no new architecture: {_text(NEW_ARCHITECTURE)} is the "
            "first that has"
        )


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def case_sensitive_by_default(version: Version) -> bool:
    """Whether filters and matchers are case-sensitive by default. Source: TiCDC's "changefeed
    configurations" page."""
    return not any(first <= version < end for first, end in _FOLDS_CASE)
