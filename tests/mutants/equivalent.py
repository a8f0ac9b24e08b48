"""Changes that survive the judge's tests, with the reason."""

EQUIVALENT = {
    "ticdc_consumer.cut.read.row_key:_scaled: 1 -> 2": "`quantize` takes the exponent alone",
    "ticdc_consumer.cut.planner:Planner._read_to_ends: not self._sizes.is_small(lag) -> self._sizes.is_small(lag)": (  # noqa: E501
        "Spark begins earlier or later, and is there once it is needed"
    ),
    "ticdc_consumer.cut.read.columns:Columns.arrays_of: True -> False": (
        "all rows are of `row`, which gives each column a place"
    ),
    "ticdc_consumer.cut.read.facts:Fold.add_many: present is not None and bodies is not None -> "
    "present is not None or bodies is not None": "both are None, or neither",
    "ticdc_consumer.cut.read.facts:Fold._merge: True -> False": "there is a fact for each key",
    "ticdc_consumer.cut.read.facts:Fold.add_change: 64 -> 65": (
        "about the bytes of a key; compared with budgets of megabytes"
    ),
    "ticdc_consumer.cut.read.task:Reading._add_run: min(rows.commit_ts) < begin -> "
    "min(rows.commit_ts) <= begin": (
        "of changes that are all in the cut, each is asked by itself then"
    ),
    "ticdc_consumer.source.kafka.scout:Scout.require_marks: "
    "time.monotonic() - self._last_record < silence -> "
    "time.monotonic() - self._last_record <= silence": (
        "differs only if exactly so many nanoseconds have passed"
    ),
    "ticdc_consumer.source.kafka.scout:Scout._look_far: "
    "time.monotonic() >= self._looks_from -> time.monotonic() > self._looks_from": (
        "differs only if exactly so many nanoseconds have passed"
    ),
    "ticdc_consumer.cut.reconcile.chunks:_parts: part.nbytes > CHUNK_BYTES -> "
    "part.nbytes >= CHUNK_BYTES": "a part of exactly so many bytes is cut to its own length",
    "ticdc_consumer.cut.apply.to_target:ToTarget._report: False -> True": (
        "it is asked only where the outcome of a COMMIT is unknown, and nothing is committed there"
    ),
    "ticdc_consumer.ddl.renames:run: failpoints.hit('ddl-statement-ran') -> pass": (
        "nothing happens there unless a test arms it"
    ),
}
"""By name, why no test can notice it."""

_NOTICED_BY = {
    "consumer/cut/apply/test_to_target.py": (
        "cut.apply.to_target:ToTarget._purge: return one.order not in "
        "[other.order for other in self.le... -> return None",
        "cut.apply.to_target:ToTarget._purge: store.reconnect() -> pass",
    ),
    "integration/test_quarantine.py": (
        "cut.apply.to_target:ToTarget.set_aside: failpoints.hit('quarantine-commit') -> pass",
    ),
    "consumer/ddl/test_renames.py": (
        "ddl.run:run_pending: until_known(store, retries, clean_up, happened=lambda: Fa... -> "
        "pass (2)",
    ),
}
WITH_SERVERS = {
    f"ticdc_consumer.{name}": test for test, names in _NOTICED_BY.items() for name in names
}
"""By name, the test that notices it, which needs servers that the judge has not."""
