"""What was found, as node_exporter reads it."""

from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from ticdc_consumer.commands.verify.compare import Difference
from ticdc_consumer.commands.verify.report import TableReport
from ticdc_consumer.commands.verify.textfile import TextFile
from ticdc_consumer.errors import Usage
from ticdc_encoder.tso import compose

R = compose(1_700_000_000_000)


def report(name: str, resolved_ts: int = R, **found: object) -> TableReport:
    return TableReport(("shop", name), name, resolved_ts, **found)  # type: ignore[arg-type]


def read(path: Path) -> dict[tuple[str, str], float]:
    return {
        (sample.name.removeprefix("ticdc_consumer_verified_"), sample.labels.get("result", "")): (
            sample.value
        )
        for family in text_string_to_metric_families(path.read_text())
        for sample in family.samples
        if sample.labels["changefeed"] == "orders"
    }


def test_tables_are_counted_by_what_was_found(tmp_path: Path) -> None:
    path = tmp_path / "verify.prom"
    file = TextFile(str(path), "orders")
    difference = Difference("missing", (), (), None, None)
    file.replace(
        [report("a"), report("b", R - 5), report("c", differences=(difference,)), report("d")]
    )
    file.replace([report("a"), report("c", differences=(difference,)), report("d", problem="why")])
    assert read(path) == {
        ("tables", "equal"): 1,
        ("tables", "differs"): 1,
        ("tables", "not compared"): 1,
        ("timestamp_seconds", ""): 1_700_000_000,
    }


def test_an_unwritable_file_is_told_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(Usage, match="--metrics-file"):
        TextFile(str(tmp_path / "none" / "verify.prom"), "orders")
