"""All causes, in the order in which they explain: the first that holds is the answer, since it
makes those after it follow or not matter."""

from collections.abc import Mapping

from ticdc_consumer.status.why import data, operator, pace, process, source, target
from ticdc_consumer.status.why.diagnosis import Cause

CAUSES: Mapping[str, Cause] = {
    "target-away": target.target_away,
    "fenced": process.fenced,
    "ddl-waits": operator.ddl_waits,
    "locked": target.locked,
    "disk-full": data.ERRORS["disk-full"],
    "schema-missing": data.ERRORS["schema-missing"],
    "schema-awaited": data.schema_awaited,
    "registry-away": data.ERRORS["registry-away"],
    "claim-check-away": data.ERRORS["claim-check-away"],
    "executors-lost": data.ERRORS["executors-lost"],
    "authentication-refused": source.refused,
    "target-refuses-user": data.ERRORS["target-refuses-user"],
    "poison-message": data.ERRORS["poison-message"],
    "broker-away": source.broker_away,
    "retention-near": source.retention_near,
    "failed": process.failed,
    "ddl-runs-long": operator.ddl_runs,
    "no-executors": pace.no_executors,
    "clock-skew": source.clock_skew,
    "not-running": process.not_running,
    "upstream-stopped": source.upstream_stopped,
    "silent-topic": source.silent_topic,
    "transaction-incomplete": source.incomplete_transaction,
    "no-resolved-ts": source.partition_without_mark,
    "memory-budget": pace.spills,
    "missing-index": target.missing_index,
    "lag-grows": pace.lag_grows,
    "slow-target": target.slow_target,
    "long-transactions": target.long_work,
    "nothing-to-do": process.nothing_to_do,
}
