"""Changes that survive the judge's tests, with the reason."""

EQUIVALENT = {
    "ticdc_consumer.read.row_key:_scaled: 1 -> 2": "`quantize` takes the exponent alone",
    "ticdc_consumer.reader:Reader.__init__: False -> True": "`plan` sets it before it is asked",
    "ticdc_consumer.reader:Reader.greatest_mark: not self._is_small(lag) -> self._is_small(lag)": (
        "Spark begins earlier or later, and is there once it is needed"
    ),
    "ticdc_consumer.read.columns:Columns.arrays_of: True -> False": (
        "all rows are of `row`, which gives each column a place"
    ),
    "ticdc_consumer.read.facts:Fold.add_change: 64 -> 65": (
        "about the bytes of a key; compared with budgets of megabytes"
    ),
    "ticdc_consumer.source.kafka.scout:Scout.require_marks: "
    "time.monotonic() - self._last_record < silence -> "
    "time.monotonic() - self._last_record <= silence": (
        "differs only if exactly so many nanoseconds have passed"
    ),
}
"""By name, why no test can notice it."""

_APPLY = "ticdc_consumer.apply:"
_STAGING = "integration/test_staging.py"
WITH_SERVERS = {
    f"{_APPLY}_apply: _complete(target, change) -> pass": _STAGING,
    f"{_APPLY}_complete: staged.name in missing or target.trim(layout, staged.name... -> "
    "staged.name in missing and target.trim(layout, staged.nam...": _STAGING,
    f"{_APPLY}_complete: set(names) - set(target.staging_tables(STAGING_TABLE)) -> "
    "set(names) + set(target.staging_tables(STAGING_TABLE))": _STAGING,
    f"{_APPLY}ToTarget._repair: not store.monitor.repair_waits -> store.monitor.repair_waits": (
        "integration/test_repair.py"
    ),
}
"""By name, the test that notices it, which needs servers that the judge has not."""
