"""TiCDC's versions, and what they change in how a configuration is read."""

from ticdc_encoder.errors import ConfigError

Version = tuple[int, int, int]

NEW_ARCHITECTURE: Version = (8, 5, 4)
"""The first version that has it. It is off by default (`newarch` in `pkg/config/server.go`, from
v8.5.4-release.1 to v9.0.0-beta.2), so that no version tells which of the two ran."""
TABLE_ROUTES: Version = (8, 5, 7)
"""The first version with `target-schema` and `target-table`."""
UNRELEASED: Version = (9, 0, 0)
"""What TiCDC's master has (pingcap/ticdc, commit b813e76 of August 2026), and no release up to
8.5.7 or beta of 9.0. Here 9.0.0 stands for it."""
_FOLDS_CASE: tuple[tuple[Version, Version], ...] = (
    ((6, 5, 6), (6, 6, 0)),
    ((7, 1, 3), (7, 2, 0)),
    ((7, 5, 0), (1 << 30, 0, 0)),
)
"""From the first version up to, but not including, the second, `case-sensitive` is false by
default."""
_AVRO_WITHOUT_OLD_VALUES: tuple[tuple[Version, Version], ...] = (
    ((6, 5, 3), (6, 6, 0)),
    ((7, 1, 1), (7, 1, 4)),
    ((7, 2, 0), (7, 4, 0)),
)
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


def check_has(setting: str, since: Version, version: Version, *, new: bool) -> None:
    """Raises ConfigError unless it is the new architecture, and not before `since`."""
    if not new or version < since:
        raise ConfigError(
            f"{setting} needs TiCDC's new architecture, of {_text(since)} or later: this is the "
            f"{'new' if new else 'old'} one of {_text(version)}"
        )


def _text(version: Version) -> str:
    return ".".join(map(str, version))


def case_sensitive_by_default(version: Version) -> bool:
    """Whether filters and matchers are case-sensitive by default. Source: TiCDC's "changefeed
    configurations" page."""
    return not any(first <= version < end for first, end in _FOLDS_CASE)


def default_goes_by_index(version: Version, protocol: str) -> bool:
    """Whether the partition rule `default` is `index-value` for tables of one unique key: where
    old values are off. Source: `default.go` of `mq/dispatcher/partition`, and
    `ForceDisableOldValueProtocols` of `pkg/config/sink.go`."""
    return protocol == "avro" and any(
        first <= version < end for first, end in _AVRO_WITHOUT_OLD_VALUES
    )
