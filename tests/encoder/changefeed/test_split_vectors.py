"""Which changes TiCDC makes of a transaction, release by release, as TiCDC's own code made them:
`tests/golden/splits-by-release/README.md`."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from support.golden import GOLDEN
from ticdc_encoder.changefeed import Changefeed
from ticdc_encoder.changefeed.split import SplitMode, mysql_split_mode, split, split_mode
from ticdc_encoder.changefeed.storage import StorageChangefeed
from ticdc_encoder.errors import ConfigError
from ticdc_encoder.event import RowChange, Table
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.version import version_number

_CASES = json.loads((GOLDEN / "splits-by-release" / "cases.json").read_text())
_VECTORS = json.loads((GOLDEN / "splits-by-release" / "vectors.json").read_text())
OUTPUTS = _VECTORS["outputs"]
TABLES = {
    name: parse_create_table(f"create table t ({table['columns']})", "s")
    for name, table in _CASES["tables"].items()
}
# Their functions are those of the release before, character by character: the README says where.
SAME_TEXT = {"7.5.7": "7.5.8", "8.5.7": "8.5.8"}
RULES = [
    (of, rule["repository"] == "pingcap/ticdc", rule["sends"])
    for rule in _VECTORS["rules"]
    for release in rule["releases"]
    for of in (release, SAME_TEXT.get(release))
    if of is not None
]
START = 100
COMMIT_TS = {"commit_ts=start-1": 99, "commit_ts=start": 100, "commit_ts=start+1": 101}

Change = list[list[Any] | None]


def change(table: Table, before: list[Any] | None, after: list[Any] | None) -> RowChange:
    names = [column.name for column in table.columns]
    old, new = (None if of is None else dict(zip(names, of, strict=True)) for of in (before, after))
    return RowChange(table, 5, old, new)


@cache
def sent(mode: SplitMode, form: str) -> list[list[Change]]:
    """Of every case, the changes as they are sent. `form`: as statements, or as TiKV holds them."""
    result = []
    for case in _CASES["cases"]:
        table = TABLES[case["table"]]
        changes = [change(table, *images) for images in case[form]]
        result.append(
            [
                [None if row is None else list(row.values()) for row in (of.before, of.after)]
                for of in split(changes, mode, net=form == "tikv")
            ]
        )
    return result


def mode_of(release: str, new: bool, setting: str) -> SplitMode:
    """The encoder's, of that release with these settings."""
    protocol, *settings = setting.split()
    if protocol == "mysql":
        commit_ts, *safe = settings
        return mysql_split_mode(
            release,
            COMMIT_TS[commit_ts],
            threshold_ts=START,
            safe_mode=safe == ["safe-mode=true"],
            new_architecture=new,
        )
    raw = settings == ["output-raw-change-event=true"]
    return split_mode(release, protocol, raw, new_architecture=new)


def differences(mode: SplitMode, form: str, output: str) -> Iterator[tuple[str, str, Any, Any]]:
    for case, ours, theirs in zip(_CASES["cases"], sent(mode, form), OUTPUTS[output], strict=True):
        if ours != theirs:
            yield case["table"], case["name"], ours, theirs


@pytest.mark.parametrize("form", ["statements", "tikv"])
@pytest.mark.parametrize(("release", "new", "sends"), RULES)
def test_a_release_sends_what_its_own_code_sends(
    release: str, new: bool, sends: dict[str, str], form: str
) -> None:
    wrong = [
        (setting, *difference)
        for setting, output in sends.items()
        if "enable-old-value=false" not in setting
        for difference in differences(mode_of(release, new, setting), form, output)
    ]
    assert not wrong


BETAS = [(release, sends) for release, _, sends in RULES if release.startswith("9.0.0-")]


@pytest.mark.parametrize(("release", "sends"), BETAS)
def test_a_beta_of_9_0_splits_as_it_was_seen_to(release: str, sends: dict[str, str]) -> None:
    assert version_number("8.5.8") < version_number(release) < version_number("9.0.0")
    for setting, output in sends.items():
        assert not list(differences(mode_of(f"v{release}", False, setting), "tikv", output))


def test_both_betas_of_9_0_are_among_them() -> None:
    assert [release for release, _ in BETAS] == ["9.0.0-beta.1", "9.0.0-beta.2.pre"]


OLD_VALUES_OFF = [
    (release, setting.split()[0])
    for release, _, sends in RULES
    for setting, output in sends.items()
    if setting.endswith("enable-old-value=false") and output != sends[setting.split()[0]]
]


@pytest.mark.parametrize(("release", "protocol"), OLD_VALUES_OFF)
def test_old_values_that_matter_cannot_be_turned_off(release: str, protocol: str) -> None:
    with pytest.raises(ConfigError, match="enable-old-value = false is not supported"):
        if protocol == "csv":
            StorageChangefeed("file:///sink?protocol=csv", "enable-old-value = false", release)
        else:
            Changefeed(f"kafka://h/t?protocol={protocol}", "enable-old-value = false", release)


def test_every_rule_is_that_of_a_release() -> None:
    assert set(OUTPUTS) == {output for _, _, sends in RULES for output in sends.values()}
