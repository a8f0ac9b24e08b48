"""The modules of the core, and the tests that may notice a change of them."""

CONSUMER = (
    *("cut.cuts", "cut.planner", "cut.cut_scope", "cut.cut_reader", "config.routing"),
    *("source.log", "source.marks", "source.ddl_filter", "source.kafka.scout"),
    *("cut.read.cut_range", "cut.read.progress", "cut.read.row_key", "cut.read.table_reader"),
    *("cut.read.task", "cut.read.facts", "cut.read.columns"),
    *("cut.reconcile.fold", "cut.reconcile.net_change", "cut.reconcile.chunks"),
    *("cut.reconcile.gathered",),
    *("cut.apply.before_commit", "cut.apply.step", "cut.apply.transaction", "cut.apply.to_target"),
    *("state.store", "state.checkpoint", "state.lease", "state.retry", "targets.sqlite.fence"),
    *("state.ledger", "state.stored_ledger", "cut.shared_cuts"),
    *("ddl.run", "ddl.attempt", "ddl.numbering", "ddl.kinds"),
    *("ddl.policy", "ddl.names", "ddl.renames"),
)
CORE = (*(f"ticdc_consumer.{name}" for name in CONSUMER), "ticdc_encoder.changefeed.split")

TESTS = (
    *(f"consumer/cut/test_{name}.py" for name in ("cuts", "layouts", "shared_cuts")),
    "consumer/test_routed_names.py",
    *("consumer/test_partition_keys.py", "consumer/config/test_routing.py"),
    *("consumer/cut/test_cut_reader.py", "consumer/test_quarantine.py"),
    *(f"consumer/{name}" for name in ("source", "cut/read", "cut/reconcile", "cut/apply", "ddl")),
    *(f"consumer/state/test_{name}.py" for name in ("store", "ledger", "retry")),
    *("consumer/cut/test_opening.py", "consumer/status/test_standby.py"),
    *("encoder/changefeed/test_split.py", "encoder/changefeed/test_route.py"),
)
"""Pure ones, and those with SQLite; what is slow is left to the world."""
