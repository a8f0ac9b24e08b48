"""The classes of the results of `commands`, `Consumer.activity` and `Epoch.ddls`, for
annotations."""

from ticdc_consumer.api import Exported, Imported, Loaded, Repaired, RepairSql
from ticdc_consumer.commands.changefeeds import ChangefeedStatus, Ended
from ticdc_consumer.commands.check.finding import Finding
from ticdc_consumer.commands.inspect import Excerpt, Inspection
from ticdc_consumer.commands.plan import PlannedCut, PlannedDdl, PlannedRows
from ticdc_consumer.commands.repair.verified import RepairStep
from ticdc_consumer.commands.trace.history import Entry, Expected
from ticdc_consumer.commands.trace.row_in_target import RowInTarget
from ticdc_consumer.commands.trace.tracing import LogPart, RowHistory, TraceRequest
from ticdc_consumer.commands.verify.compare import Difference
from ticdc_consumer.commands.verify.report import TableReport
from ticdc_consumer.commands.verify.topics import Watching
from ticdc_consumer.cut.epoch import Goal
from ticdc_consumer.cut.read.row_key import RowKey, Texts
from ticdc_consumer.cut.read.tracing import Observation, TraceReport
from ticdc_consumer.ddl.generated_columns import LeftOutColumn
from ticdc_consumer.state.checkpoint import Position
from ticdc_consumer.state.ledger import LedgerEntry, LedgerState
from ticdc_consumer.state.loading import LoadProgress, TableProgress, TableState
from ticdc_consumer.state.quarantine import SetAside
from ticdc_consumer.state.repairs import RepairRequest, RepairState, TableKeys
from ticdc_consumer.state.reports import Stage
from ticdc_consumer.status.activity.activity import (
    CutActivity,
    ExecutorActivity,
    LastDdl,
    Pace,
    PartitionActivity,
    SetAsideTable,
    StageSeconds,
    Takeover,
    Trouble,
    VerifiedShare,
)
from ticdc_consumer.status.activity.stored import Silent, StoredActivity
from ticdc_consumer.status.causes.situation import Diagnosis, TargetFacts
from ticdc_consumer.status.reading import Status, TableStatus
from ticdc_consumer.targets.blockers import Blocker

__all__ = [
    "Blocker",
    "ChangefeedStatus",
    "CutActivity",
    "Diagnosis",
    "Difference",
    "Ended",
    "Entry",
    "Excerpt",
    "ExecutorActivity",
    "Expected",
    "Exported",
    "Finding",
    "Goal",
    "Imported",
    "Inspection",
    "LastDdl",
    "LedgerEntry",
    "LedgerState",
    "LeftOutColumn",
    "LoadProgress",
    "Loaded",
    "LogPart",
    "Observation",
    "Pace",
    "PartitionActivity",
    "PlannedCut",
    "PlannedDdl",
    "PlannedRows",
    "Position",
    "RepairRequest",
    "RepairSql",
    "RepairState",
    "RepairStep",
    "Repaired",
    "RowHistory",
    "RowInTarget",
    "RowKey",
    "SetAside",
    "SetAsideTable",
    "Silent",
    "Stage",
    "StageSeconds",
    "Status",
    "StoredActivity",
    "TableKeys",
    "TableProgress",
    "TableReport",
    "TableState",
    "TableStatus",
    "Takeover",
    "TargetFacts",
    "Texts",
    "TraceReport",
    "TraceRequest",
    "Trouble",
    "VerifiedShare",
    "Watching",
]
