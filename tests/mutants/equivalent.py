"""Changes that no test can notice, with the reason."""

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
