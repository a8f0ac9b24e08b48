"""Differences between TiCDC's versions in reading a configuration."""

from ticdc_encoder.changefeed.protocols import PROTOCOLS
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.version import Version, last_of, version_number

NEW_ARCHITECTURE = version_number("8.5.4-release.1")
"""First version with the new architecture. It is off by default (`newarch` in
`pkg/config/server.go`, from v8.5.4-release.1 to v9.0.0-beta.2), so that no version tells which of
the two ran."""
TABLE_ROUTES = Version(8, 5, 7)
"""First version with `target-schema` and `target-table`; v8.5.7-release.1 has neither."""
UNRELEASED = Version(9, 0, 0)
"""Stands for features of TiCDC's master (pingcap/ticdc, commit b813e76 of August 2026) that no
release up to 8.5.8 or beta of 9.0 has."""
_FILTERS_WHOLE_UPDATES = Version(8, 5, 8)
_TIDB_X = Version(26, 0, 0)
"""First of TiDB X's numbers: v26.3.1 to v26.3.4 of pingcap/ticdc are tags of its branch
release-nextgen-202603. It left master in spring 2026, and has nothing of `UNRELEASED`, nor
`target-schema` (no `pkg/routing`)."""
_STORAGE_SELECTORS = Version(26, 3, 4)
_PROTOCOLS_OF_MASTER = {"debezium-avro": Version(26, 3, 3)}
"""Protocols of the new architecture that no release up to 8.5.8 has, with TiDB X's first version:
pingcap/ticdc#5475."""
_FOLDS_CASE = (("6.5.6", "6.5.x"), ("7.1.3", "7.1.x"), ("7.5.0", "x.x.x"))
"""First and last versions of the ranges in which `case-sensitive` is false by default."""


def check_architecture(version: Version, *, new: bool) -> None:
    """Raises ConfigError for a version that does not have the new architecture, or one that is not
    known here: v9.0.0-beta.1 and v9.0.0-beta.2.pre of pingcap/ticdc, of March and June 2025, are
    older than v8.5.4-release.1. The first splits no UPDATE, and the other does so whatever
    `output-raw-change-event` says (`pkg/eventservice`)."""
    if new and version < NEW_ARCHITECTURE:
        raise ConfigError(
            f"TiCDC {version} has no new architecture: {NEW_ARCHITECTURE} is the first that has"
        )
    if new and version.pre_release and UNRELEASED.numbers <= version.numbers < _TIDB_X.numbers:
        raise ConfigError(
            f"the new architecture of TiCDC {version} is not known: 8.5.4 to 8.5.8 are, and "
            f"{UNRELEASED}, which stands for TiCDC's master"
        )


def check_has(setting: str, since: Version, version: Version, *, new: bool) -> None:
    """Raises ConfigError except for the new architecture from `since` on, and for TiDB X."""
    if version >= _TIDB_X:
        raise ConfigError(f"TiCDC {version}, which is TiDB X's, has no {setting}")
    if not new or version < since:
        raise ConfigError(
            f"{setting} needs TiCDC's new architecture, of {since} or later: this is the "
            f"{'new' if new else 'old'} one of {version}"
        )


def selects_in_storage(version: Version, *, new: bool) -> bool:
    """Returns whether cloud storage heeds `column-selectors`, and leaves virtual columns out of a
    CSV header. Where it does not, TiCDC accepts selectors, and its header names columns that no row
    has. Source: pingcap/ticdc#5595, in master and v26.3.4; `setHeader` of
    `pkg/sink/codec/csv/csv_encoder.go` at v8.5.4 and at release-8.5, 799216b."""
    return new and _has_of_master(version, _STORAGE_SELECTORS)


def _has_of_master(version: Version, of_tidb_x: Version) -> bool:
    return UNRELEASED <= version < _TIDB_X or version >= of_tidb_x


def check_protocol(protocol: str, version: Version, *, new: bool) -> None:
    """Raises ConfigError for a protocol that this TiCDC does not have."""
    since, of_tidb_x = PROTOCOLS[protocol].since, _PROTOCOLS_OF_MASTER.get(protocol)
    if since is not None and version < since:
        raise ConfigError(f"TiCDC {version} has no protocol {protocol}")
    if of_tidb_x is not None and not (new and _has_of_master(version, of_tidb_x)):
        raise ConfigError(
            f"protocol {protocol} needs the new architecture of TiCDC's master, for which "
            f"{UNRELEASED} stands, or of TiDB X {of_tidb_x}: this is the "
            f"{'new' if new else 'old'} one of {version}"
        )


def filters_whole_updates(version: Version, *, new: bool) -> bool:
    """Returns whether event filters see the kind of an UPDATE before it is split, and then its
    halves: with `ignore-event = ["update"]` the halves are not sent either. Source: `appendRow` of
    `pkg/eventservice/event_scanner.go`, which calls `ShouldIgnoreDMLByEventType` since
    pingcap/ticdc#5767, in 8.5.8 and master; v8.5.7 and v26.3.4 do not have it."""
    return new and _FILTERS_WHOLE_UPDATES <= version < _TIDB_X


def _is_within(version: Version, ranges: tuple[tuple[str, str], ...]) -> bool:
    return any(version_number(first) <= version <= last_of(last) for first, last in ranges)


def case_sensitive_by_default(version: Version) -> bool:
    """Returns whether filters and matchers are case-sensitive by default. Source: TiCDC's
    "changefeed configurations" page."""
    return not _is_within(version, _FOLDS_CASE)


def default_goes_by_index(version: Version, protocol: str) -> bool:
    """Returns whether the partition rule `default` is `index-value` for tables of one unique key:
    where old values are off. Source: `default.go` of `mq/dispatcher/partition`, and
    `ForceDisableOldValueProtocols` of `pkg/config/sink.go`."""
    return _is_within(version, PROTOCOLS[protocol].without_old_values)
