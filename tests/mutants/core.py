"""The modules of the core, and the tests that may notice a change of them."""

CONSUMER = (
    *("plan", "reader", "config.routing"),
    *("source.log", "source.marks", "source.ddl_filter", "source.kafka.scout"),
    *("read.cut_range", "read.progress", "read.row_key", "read.table_reader"),
    *("read.task", "read.facts", "read.columns"),
    *("reconcile.fold", "reconcile.net_change", "reconcile.chunks", "reconcile.gathered"),
    *("apply.before_commit", "apply.step", "apply.transaction", "apply.to_target"),
    *("state.store", "state.checkpoint", "state.lease", "state.retry", "targets.sqlite.fence"),
    *("state.ledger", "state.stored_ledger"),
    *("ddl.creation", "ddl.run", "ddl.policy", "ddl.names", "ddl.renames"),
)
CORE = (*(f"ticdc_consumer.{name}" for name in CONSUMER), "ticdc_encoder.changefeed.split")

TESTS = (
    *(f"consumer/{name}" for name in ("test_plan.py", "test_layouts.py", "test_routed_names.py")),
    *("consumer/test_partition_keys.py", "consumer/config/test_routing.py"),
    *("consumer/test_reader.py", "consumer/test_quarantine.py"),
    *(f"consumer/{name}" for name in ("source", "read", "reconcile", "apply", "ddl")),
    *(
        f"consumer/state/test_{name}.py"
        for name in ("store", "ledger", "opening", "standby", "retry")
    ),
    *("encoder/changefeed/test_split.py", "encoder/changefeed/test_route.py"),
)
"""Pure ones, and those with SQLite; what is slow is left to the world."""
