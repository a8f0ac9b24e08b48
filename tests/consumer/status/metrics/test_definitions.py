"""The document, the alerts and the dashboard name the metrics that exist, and all of them."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from support.server_address import missing
from ticdc_consumer.commands.verify import textfile
from ticdc_consumer.status.metrics.definitions import METRICS

ROOT = Path(__file__).resolve().parents[4]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yml"
ALERTS_TEST = ROOT / "deploy" / "prometheus" / "alerts_test.yml"
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboard.json"
NAME = re.compile(r"\bticdc_consumer_\w+")
SERIES = {
    name if metric.kind != "histogram" else f"{name}{part}"
    for name, metric in METRICS.items()
    for part in (("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",))
} | {textfile.TABLES, textfile.TIME}
"""As queries name them."""
UNITS = (
    "_seconds",
    "_bytes",
    "_total",
    "_info",
    "_offset",
    "_code",
    "_ddls",
    "_changes",
    "_rows",
    "stage",
    "cause",
    "generation",
)


def test_names_follow_the_conventions() -> None:
    assert [name for name in METRICS if not name.endswith(UNITS)] == []
    assert [name for name in METRICS if not re.fullmatch(r"[a-z][a-z_]*", name)] == []
    assert [n for n, m in METRICS.items() if n.endswith("_total") != (m.kind == "counter")] == []
    assert [n for n, m in METRICS.items() if not m.help.endswith(".")] == []


def test_the_document_lists_every_metric_as_it_is() -> None:
    rows = re.findall(
        r"^\| `(ticdc_consumer_\w+)` \| (\w+) \| ([^|]*?) ?\| (.*) \|$",
        (ROOT / "docs" / "reference" / "metrics.md").read_text(),
        re.MULTILINE,
    )
    assert rows == [
        (name, metric.kind, ", ".join(f"`{label}`" for label in metric.labels), metric.help)
        for name, metric in METRICS.items()
    ]


def alert_rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load(ALERTS.read_text())["groups"]
    rules: list[dict[str, Any]] = group["rules"]
    return rules


def test_every_alert_uses_existing_metrics_and_says_what_to_do() -> None:
    for rule in alert_rules():
        names = set(NAME.findall(rule["expr"]))
        assert names <= SERIES and (names or rule["expr"].startswith("up{"))
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert {"summary", "description"} == set(rule["annotations"])
        assert set(NAME.findall(str(rule["annotations"]))) <= SERIES


def test_every_alert_is_seen_to_fire_and_not_to_fire() -> None:
    tests = yaml.safe_load(ALERTS_TEST.read_text())["tests"]
    outcomes = {
        (case["alertname"], bool(case["exp_alerts"]))
        for test in tests
        for case in test["alert_rule_test"]
    }
    names = {rule["alert"] for rule in alert_rules()}
    assert outcomes == {(name, fires) for name in names for fires in (True, False)}
    assert {name for test in tests for name in NAME.findall(str(test["input_series"]))} <= SERIES


def test_the_alerts_fire_as_their_tests_say() -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        missing("promtool is not installed: Debian's package prometheus has it")
    for arguments in (["check", "rules", str(ALERTS)], ["test", "rules", str(ALERTS_TEST)]):
        done = subprocess.run([promtool, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def expressions(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key in ("expr", "query") and isinstance(each, str):
                yield each
            yield from expressions(each)
    elif isinstance(value, list):
        for each in value:
            yield from expressions(each)


def test_the_dashboard_is_made_of_metrics_that_exist() -> None:
    dashboard = json.loads(DASHBOARD.read_text())
    queries = list(expressions(dashboard))
    assert len(queries) > len(dashboard["panels"])
    assert {name for query in queries for name in NAME.findall(query)} - SERIES == set()
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            labels = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            (metric, *_) = [METRICS[base(name)] for name in NAME.findall(target["expr"])]
            assert labels <= {"changefeed", *metric.labels}, panel["title"]


def base(series: str) -> str:
    """The metric of a series."""
    return series if series in METRICS else re.sub(r"_(bucket|sum|count)$", "", series)
