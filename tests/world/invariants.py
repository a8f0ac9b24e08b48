"""The promise as sentences, and for each rule behind them a mutant that breaks it."""

from dataclasses import dataclass

from world.mutants import Mutant, mutant

PLAN = "tests/consumer/cut/test_cuts.py"
FOLD = "tests/consumer/cut/reconcile/test_fold.py"
STORE = "tests/consumer/state/test_store.py"
APPLY = "tests/consumer/cut/apply/test_transaction.py"
TO_TARGET = "tests/consumer/cut/apply/test_to_target.py"
LOG = "tests/consumer/source/test_log.py"
ASIDE = "tests/integration/test_quarantine.py"
FILES = "tests/integration/test_storage_source.py"
PLANNER = "tests/consumer/cut/test_planner.py"
SCOPE = "tests/consumer/cut/test_cut_scope.py"
FACTS = "tests/consumer/cut/read/test_facts.py"
TASK = "tests/consumer/cut/read/test_task.py"
ROW = "tests/consumer/cut/read/test_table_reader.py"
RANGE = "tests/consumer/cut/read/test_cut_range.py"
KEYLESS = "tests/consumer/cut/read/test_keyless.py"
LAYOUTS = "tests/consumer/cut/test_layouts.py"
REFUSED = f"{LAYOUTS}::test_a_table_whose_rows_cannot_be_applied_exactly_is_refused"
EPOCH = "tests/consumer/cut/test_epoch.py"
GROWTH = "tests/world/test_world.py::test_a_filter_grows_while_rows_of_its_tables_come[71]"
TIMESTAMPS = "tests/consumer/protocols/test_timestamps.py"


@dataclass(frozen=True)
class Invariant:
    sentence: str
    why: str
    mutants: tuple[Mutant, ...]


CUTS = (
    Invariant(
        "A cut is the half-open range [R0, R) of commit_ts: each change is in exactly one cut.",
        "TiCDC's documents and code disagree about `<` and `<=`, and its older architecture may "
        "send resolved ts R before the DDL of R. `commit_ts < R` is true in all cases.",
        (
            mutant(
                "closed-cut",
                "a cut includes rows with commit_ts R",
                "cut.read.cut_range:CutRange.holds",
                "commit_ts >= self.end",
                "commit_ts > self.end",
            ),
            mutant(
                "open-cut",
                "rows with commit_ts R0 are dropped as replays",
                "cut.read.cut_range:CutRange.holds",
                "commit_ts < self.begin",
                "commit_ts <= self.begin",
            ),
            mutant(
                "replays-count",
                "rows below R0 are applied again",
                "cut.read.cut_range:CutRange.holds",
                "        return False\n    return True",
                "        return True\n    return True",
            ),
        ),
    ),
    Invariant(
        "When a cut ends at R, the log held everything below R, and all of it was read.",
        "TiCDC produces a resolved ts only after the brokers acknowledged every change below it. "
        "One mark proves this for all partitions. Their ends are listed after the mark was seen, "
        "and each partition is read to a mark at or above R, or to its listed end.",
        (
            mutant(
                "mark-at-r",
                "a mark at R0 proves a cut",
                "cut.cuts:choose",
                "mark.resolved_ts > applied",
                "mark.resolved_ts >= applied",
                f"{PLAN}::test_the_proof_of_a_cut",
            ),
            Mutant(
                "listed-before-the-mark",
                "ends are listed before the mark is seen",
                (
                    (
                        "cut.planner:Planner.plan",
                        "    self._drain(base, committed_ts, wait)",
                        "    self.listed = self.source.list_patiently(base.positions, PATIENCE)\n"
                        "    self._drain(base, committed_ts, wait)",
                    ),
                    (
                        "cut.planner:Planner._planned",
                        "self.source.list_patiently(base.positions, PATIENCE)",
                        "self.listed",
                    ),
                ),
            ),
            mutant(
                "ends-at-any-mark",
                "any mark ends the reading of a partition",
                "cut.read.task:Reading._read_event",
                "resolved_ts >= self._job.end",
                "resolved_ts > self._job.begin",
            ),
            mutant(
                "new-partition-from-its-end",
                "a new partition is read from its end",
                "cut.planner:Planner._starts",
                "starts.update(dict.fromkeys(new, 0))",
                "starts.update({name: listing.ends[name] for name in new})",
            ),
            mutant(
                "remembered-is-whole",
                "remembered messages of a partition are taken for all of it",
                "source.kafka.recent:Recent.covers",
                "begin is not None and begin <= offset <= self._ends[topic_partition]",
                "begin is not None",
                "tests/consumer/source/kafka/test_recent.py::"
                "test_only_what_came_without_a_gap_is_covered",
            ),
        ),
    ),
    Invariant(
        "The next cut reads each partition from an offset at or before everything that it needs.",
        "The restart offset is the lowest of: the first row or DDL of a later cut; the mark that "
        "ended the read, if it is above R; the listed end.",
        (
            mutant(
                "later-rows-not-kept",
                "a row of a later cut does not hold the restart offset",
                "cut.read.cut_range:CutRange.holds",
                "progress.keep(offset)",
                "pass",
            ),
            mutant(
                "past-the-mark",
                "the restart offset passes a mark above R, so a restart does not see it",
                "cut.read.progress:restart_offset",
                "stopped_at if stopped_above else stopped_at + 1",
                "stopped_at + 1",
                "tests/consumer/cut/read/test_progress.py::test_where_a_partition_goes_on",
            ),
        ),
    ),
    Invariant(
        "If the log has lost a part of a cut, the run stops; nothing is skipped.",
        "Before each cut the listing is compared with the checkpoint: begins, ends, topic ids.",
        (
            mutant(
                "retention-is-not-seen",
                "a log that begins after the restart offset is read from its beginning",
                "source.log:_gaps_of",
                "elif begin > offset:",
                "elif False:",
                f"{LOG}::test_run_plan_and_check_agree_after_a_checkpoint",
            ),
            mutant(
                "gaps-are-passed",
                "a cut is planned although the log has a gap",
                "cut.planner:Planner._starts",
                "require(gaps_since(base.positions, base.resolved_ts, log, expected))",
                "pass",
                f"{PLANNER}::test_no_cut_is_planned_over_a_gap_of_the_log",
            ),
            mutant(
                "truncated-log",
                "a log that ends before the restart offset is read from its end",
                "source.log:_gaps_of",
                "elif end < offset:",
                "elif False:",
                f"{PLANNER}::test_no_cut_is_planned_over_a_gap_of_the_log",
            ),
            mutant(
                "deleted-partition",
                "a partition of the checkpoint that is no longer listed is ignored",
                "source.log:gaps_since",
                "elif topic_partition in expected:",
                "elif False:",
                f"{PLANNER}::test_no_cut_is_planned_over_a_gap_of_the_log",
            ),
            mutant(
                "joins-too-late",
                "a new partition is read although its log does not begin at 0",
                "source.log:gaps_since",
                "if (begin := log.begins.get(topic_partition, 0)) > 0:",
                "if False:",
                f"{PLANNER}::test_no_cut_is_planned_over_a_gap_of_the_log",
            ),
            mutant(
                "missed-partition",
                "rows below R0 in a new partition count as replays, whenever they were sent",
                "cut.read.cut_range:CutRange._require_later",
                "if not self.begin or time > self._latest_replay:",
                "if True:",
                f"{RANGE}::test_a_replay_in_a_new_partition_is_sent_after_the_proof",
            ),
            mutant(
                "recreated-is-not-seen",
                "a recreated topic is taken for the old one",
                "source.log:_gaps_of",
                "restart.topic_id != topic_id",
                "False",
                f"{LOG}::test_a_topic_with_an_id_is_identified_by_it",
            ),
        ),
    ),
)
DDL = (
    Invariant(
        "A cut ends just after the lowest commit_ts T of its DDL: rows at T have the schema "
        "before it, rows after T the schema after it.",
        "TiCDC sends rows and DDL of one T in any order across partitions. TiDB commits a row of "
        "T before the DDL of T.",
        (
            mutant(
                "end-before-ddl",
                "the cut ends at T",
                "cut.cuts:end_of_cut",
                "commit_ts + 1, selected",
                "commit_ts, selected",
            ),
            mutant(
                "ddl-at-r",
                "a DDL with commit_ts R0 is dropped as a replay",
                "cut.cuts:end_of_cut",
                "applied <= seen",
                "applied < seen",
            ),
            mutant(
                "ddl-at-reach",
                "a DDL at the proven timestamp is part of the cut",
                "cut.cuts:end_of_cut",
                "commit_ts < reach",
                "commit_ts <= reach",
                f"{PLAN}::test_the_end_of_a_cut",
            ),
            mutant(
                "any-ddl-share-a-cut",
                "DDL with several commit_ts share a cut",
                "cut.cuts:end_of_cut",
                "if most == 1 or not all(map(may_share, of_one_ts)):",
                "if False:",
                f"{PLAN}::test_ddl_that_may_share_a_cut_do",
            ),
            Mutant(
                "unseen-ddl",
                "a cut is planned before partition 0 of every topic was read up to the mark, and "
                "a task continues after an unplanned DDL",
                (
                    (
                        "cut.planner:Planner._planned",
                        "self.source.read_to(reach, heads, PATIENCE)",
                        "pass",
                    ),
                    (
                        "cut.read.task:Reading.read_ddl",
                        "if identity not in job.known_ddls:",
                        "if False:",
                    ),
                ),
            ),
            mutant(
                "scout-stays",
                "after a release, the same consumer does not search again for DDL that the "
                "release did not need",
                "source.kafka.scout:Scout.follow",
                "begun is None or offset < begun",
                "begun is None",
                "tests/consumer/source/kafka/test_scout.py::"
                "test_a_topic_needed_from_further_back_is_read_from_there",
            ),
            mutant(
                "forms-stay",
                "a process uses a fast reader's patterns for other layouts",
                "cut.read.fast.reader:fast_reader",
                "premises == (options, layouts, shapes)",
                "premises is not None",
                "tests/consumer/cut/read/fast/test_reader.py::"
                "test_it_is_forgotten_once_anything_it_depends_on_changes",
            ),
            mutant(
                "layouts-stay",
                "a table keeps its layout after a DDL",
                "cut.layouts:TableLayouts._forget",
                "self.shapes.pop(name, (None, None))",
                "(None, None)",
            ),
            mutant(
                "rows-of-created-tables",
                "a cut that creates tables contains rows of them from before their CREATE TABLE",
                "cut.shared_cuts:early",
                "if begun else 0",
                "if False else 0",
                "tests/consumer/cut/test_shared_cuts.py::"
                "test_rows_of_a_created_table_end_the_cut_at_its_own_ddl",
            ),
        ),
    ),
)
ROWS = (
    Invariant(
        "Of all facts about a key, the greatest by (commit_ts, present) wins.",
        "This one rule is deduplication, the order of transactions, and DELETE before INSERT. A "
        "maximum does not change if a fact comes twice, in another order, or through another task.",
        (
            mutant(
                "earlier-fact",
                "the fact with the lowest commit_ts wins",
                "cut.read.facts:Fold._merge",
                "known[:2] < fact[:2]",
                "known[:2] > fact[:2]",
            ),
            mutant(
                "delete-wins",
                "at one commit_ts, the fact that arrives last wins",
                "cut.reconcile.fold:_fold_table",
                '"commit_ts", "present")',
                '"commit_ts", "offset")',
                f"{FOLD}::test_driver_and_spark_fold_to_the_greatest_fact_of_each_key",
            ),
            mutant(
                "clash-is-passed",
                "two different rows for one key and commit_ts do not stop the run",
                "cut.reconcile.fold:fold_sorted",
                "if pc.any(differs).as_py():",
                "if False:",
                f"{FOLD}::test_both_folds_find_different_rows_of_one_key_and_commit_ts",
            ),
            mutant(
                "conflict-is-not-looked-for",
                "a task takes the second row for one key and commit_ts for a copy",
                "cut.read.facts:Fold._merge",
                "if fact[1] and fact[4] != known[4]:",
                "if False:",
                f"{FACTS}::test_two_different_rows_of_one_key_and_ts_are_a_conflict",
            ),
            mutant(
                "conflict-is-passed",
                "differing columns do not stop the task",
                "cut.read.facts:Fold._compare",
                "if differing:",
                "if False:",
                f"{FACTS}::test_two_different_rows_of_one_key_and_ts_are_a_conflict",
            ),
        ),
    ),
    Invariant(
        "All deletes of a cut precede its rows; in a table with more unique keys, they include "
        "the keys of its rows.",
        "The final rows satisfy every unique key among themselves, so only a row that the same "
        "cut deletes can be in their way. An upsert would overwrite whichever row holds the other "
        "value.",
        (
            mutant(
                "present-keys-stay",
                "the keys of written rows are not deleted first",
                "cut.reconcile.net_change:keys_to_delete",
                "if replaces:",
                "if False:",
            ),
            Mutant(
                "rows-first",
                "rows are written before the deletes",
                (
                    (
                        "cut.apply.transaction:_write",
                        "    for table, keys in change.deletes():\n",
                        "    def deletes():\n      for table, keys in change.deletes():\n",
                    ),
                    (
                        "cut.apply.transaction:_write",
                        "    for staged in change.staged:\n",
                        "    deletes()\n    for staged in change.staged:\n",
                    ),
                ),
                (f"{APPLY}::test_a_value_that_a_deleted_row_had_goes_to_another_row",),
            ),
        ),
    ),
)
COMMITS = (
    Invariant(
        "Rows, R and offsets move in one transaction.",
        "A crash before its COMMIT leaves all of them as they were; a crash after it loses none.",
        (
            mutant(
                "offsets-not-written",
                "R moves without the offsets",
                "state.store:Store.write",
                "self._write_positions(old.positions, new.positions)",
                "pass",
            ),
        ),
    ),
    Invariant(
        "Of two consumers of a changefeed, the older one cannot commit any more.",
        "A start raises the generation. Each transaction first locks the checkpoint. It continues "
        "only if generation and R are what this consumer last read or wrote, and if no DDL below "
        "R is pending again: a restored backup may be older than a DDL.",
        (
            Mutant(
                "no-fence",
                "neither the lock nor the write of the checkpoint compares generation and R",
                (
                    ("state.store:Store.lock", "self.lease.own(self.lease.locked_row())", "old"),
                    (
                        "state.store:Store.write",
                        "_MOVE, left | ",
                        "sa.update(CHECKPOINT).where(CHECKPOINT.c.changefeed == self.changefeed), ",
                    ),
                ),
                (f"{STORE}::test_a_later_start_refuses_the_earlier_one[sqlite]",),
            ),
            mutant(
                "pending-again",
                "a cut goes past a DDL that is pending again, as in a target that was restored",
                "state.store:Store.write",
                '"last_ddl": last_ddl,',
                '"last_ddl": 0,',
                f"{STORE}::test_no_cut_passes_a_ddl_that_a_restore_made_pending_again[sqlite]",
            ),
            mutant(
                "same-generation",
                "a start does not raise the generation",
                "state.lease:Lease.take",
                "row.generation + 1",
                "row.generation",
                f"{STORE}::test_a_later_start_refuses_the_earlier_one[sqlite]",
            ),
        ),
    ),
    Invariant(
        "A COMMIT of unknown outcome is neither repeated blindly nor assumed done.",
        "A new session reads the checkpoint with a locking read, which waits for the old "
        "transaction. R then shows the outcome.",
        (
            mutant(
                "blind-retry",
                "the transaction is repeated without looking",
                "state.retry:until_known",
                "if unknown and happened():",
                "if False:",
            ),
            mutant(
                "unknown-is-done",
                "it is taken for committed",
                "state.retry:until_known",
                "if unknown and happened():",
                "if unknown:",
            ),
        ),
    ),
    Invariant(
        'With `apply = "transactions"`, each commit_ts is one transaction, and the offsets stay '
        "those of the cut's start until its last transaction.",
        "After a crash between two of them, the cut is read again; everything below R is dropped.",
        (
            mutant(
                "groups-together",
                "several commit_ts are one transaction",
                "cut.apply.transaction:apply_groups",
                "if end > old.resolved_ts:",
                "if False:",
            ),
            mutant(
                "groups-move-offsets",
                "the first of them moves the offsets",
                "cut.apply.transaction:apply_groups",
                "replace(started, resolved_ts=end)",
                "replace(new, resolved_ts=end)",
                f"{APPLY}::test_each_group_is_committed_with_the_cuts_start_offsets[sqlite]",
            ),
        ),
    ),
)
REFUSALS = (
    Invariant(
        "A run continues from a checkpoint only with the settings that give R its meaning.",
        "Topics, filter, routes, merged tables, protocol and time zone decide which changes are "
        "below R. With others, R would cover rows that were never read.",
        (
            mutant(
                "any-scope",
                "other settings than the checkpoint's are taken",
                "state.scope:check_scope",
                "if stored == scope_hash(options):",
                "if True:",
                f"{STORE}::test_a_change_of_scope_is_refused_with_what_changed",
            ),
            mutant(
                "protocol-not-in-scope",
                "the protocol is no part of them",
                "state.scope:scope_text",
                '"protocol": options.protocol,',
                "",
                f"{STORE}::test_a_change_of_scope_is_refused_with_what_changed",
            ),
        ),
    ),
    Invariant(
        "What cannot be applied correctly stops the run; nothing of its cut is committed.",
        "Otherwise R would cover a row that was left out, and nothing would bring it again.",
        (
            mutant(
                "any-timestamp",
                "a timestamp of the far future, or of none, is believed",
                "protocols.protocol:check_ts",
                "if not 0 < ts <= latest:",
                "if False:",
                f"{TIMESTAMPS}::test_a_timestamp_is_above_zero_and_not_of_the_future",
            ),
            mutant(
                "two-shapes",
                "rows of two shapes are one table's in one cut",
                "cut.read.table_reader:TableReader._require_shape",
                "if sent != expected:",
                "if False:",
                f"{ROW}::test_a_change_that_is_not_one_of_the_layouts_rows_stops",
            ),
            mutant(
                "delete-of-two-shapes",
                "a DELETE's key columns are of other types than those of the cut's rows",
                "cut.read.table_reader:TableReader._require_key_columns",
                "self._require_shape(table, key)",
                "pass",
                f"{ROW}::test_a_change_that_is_not_one_of_the_layouts_rows_stops",
            ),
            mutant(
                "two-values",
                "a time that would be two rows is written without escapes",
                "targets.kernels:well_formed",
                "refuse_where(pc.invert(looks)",
                "refuse_where(pc.and_(looks, pc.invert(looks))",
                "tests/integration/test_bad_tables.py::test_a_time_that_would_be_two_rows_is_refused",
            ),
            mutant(
                "another-key",
                "rows are found by another key than the stream's",
                "cut.read.table_reader:TableReader._require_key",
                "if handle and set(handle) != set(key):",
                "if False:",
                f"{ROW}::test_a_change_that_is_not_one_of_the_layouts_rows_stops",
            ),
            mutant(
                "delete-without-key",
                "a DELETE may lack a column of the key",
                "cut.read.table_reader:TableReader._require_key_columns",
                "if missing:",
                "if False:",
                f"{ROW}::test_a_change_that_is_not_one_of_the_layouts_rows_stops",
            ),
            mutant(
                "large-row-is-passed",
                "a row of which only the key was sent waits for an upstream that is not configured",
                "cut.read.large_rows:LargeRows.hold",
                "if self._options.upstream_url is None:",
                "if False:",
                f"{TASK}::test_a_row_of_which_only_the_key_was_sent_is_not_passed_over",
            ),
            mutant(
                "trigger-sees-net-changes",
                "a trigger of the target sees net changes although no setting allows it",
                "cut.layouts:TableLayouts._refuse",
                "described.triggers if not allowed else ()",
                "()",
                REFUSED,
            ),
            mutant(
                "strict-foreign-key",
                "rows are written under a foreign key that cannot be deferred",
                "cut.layouts:TableLayouts._refuse",
                "in described.strict_foreign_keys",
                "in ()",
                f"{LAYOUTS}::test_a_foreign_key_that_no_session_can_defer_is_refused",
            ),
            mutant(
                "no-valid-key",
                "a table without a key is accepted although no setting names it",
                "cut.layouts:TableLayouts._key",
                "if source.columns and self._accepts_keyless(source):",
                "if source.columns:",
                REFUSED,
            ),
            mutant(
                "not-the-targets-key",
                "rows are found by a key of the target that is not the stream's",
                "cut.layouts:TableLayouts._key",
                "if {c.lower() for c in columns} == {i.lower() for i in identifying}:",
                "if True:",
                REFUSED,
            ),
            mutant(
                "any-key-of-the-target",
                "a key of the target is taken for upstream's although nothing names it",
                "cut.layouts:TableLayouts._key",
                "or self._options.keys.get(label, ())",
                "or self._options.keys.get(label, ()) or next(iter(candidates), ())",
                REFUSED,
            ),
            mutant(
                "any-labels-of-the-target",
                "the labels of the target's column are taken for upstream's",
                "targets.column_mapping:require_labels",
                "if not type_.elements:",
                "if False:",
                "tests/targets/mysql/test_types.py"
                "::test_labels_of_the_target_are_not_taken_for_upstreams",
            ),
            mutant(
                "generated-here-alone",
                "a column that the target generates is skipped, whatever upstream has in it",
                "targets.column_mapping:_require_generated",
                "if declared.generated is not None:",
                "if True:",
                REFUSED,
            ),
            mutant(
                "rows-of-before",
                "a table is written to for the first time although it has rows of other origin",
                "cut.layouts:TableLayouts._require_empty",
                "if not has_rows:",
                "if True:",
                f"{LAYOUTS}::test_a_table_of_which_nothing_is_known_must_have_no_rows",
            ),
            mutant(
                "believes",
                "`--ddl-done` does not check the target",
                "ddl.by_operator.manual:done_by_operator",
                'require_done(context, entry, f"--ddl-done {entry.id}")',
                "pass",
                "tests/consumer/ddl/by_operator/test_manual.py::test_ddl_done_looks_before_it_believes",
            ),
            mutant(
                "stale-ddl",
                "a DDL below R in a new topic counts as a replay although it never ran",
                "cut.epoch:require_executed",
                "if not stale:",
                "if True:",
                f"{EPOCH}::test_a_ddl_below_r_of_a_new_topic_must_have_been_executed",
            ),
            mutant(
                "drift-is-cleared",
                "a row that no cut wrote is deleted because it holds a unique value, although no "
                "setting allows it",
                "targets.sqlite.bulk:SqliteBulk.insert",
                'self._clashing(layout, written) if on_drift == "overwrite" else []',
                "self._clashing(layout, written)",
                f"{APPLY}::test_a_strange_row_with_a_unique_value_of_the_cut_is_drift",
            ),
            mutant(
                "rows-that-are-not-there",
                "missing rows of a table without a key do not stop a DELETE",
                "cut.apply.transaction:_delete_rows",
                'if missing and options.on_drift == "stop":',
                "if False:",
                f"{KEYLESS}::test_rows_that_are_not_there_stop_the_load_or_are_counted[sqlite]",
            ),
        ),
    ),
    Invariant(
        "A table that is loaded again replaces the table in use completely, at one commit.",
        "While it is filled, each cut changes both, and no DDL of the table runs. A cut that was "
        "read ahead is read again once rows go elsewhere.",
        (
            mutant(
                "read-ahead-is-kept",
                "a cut that was read ahead is applied to the former table",
                "cut.apply.to_target:ToTarget.tend",
                "return changed",
                "return False",
                f"{TO_TARGET}::test_a_table_that_is_refilled_says_once_where_its_rows_go",
            ),
            mutant(
                "ddl-while-loaded",
                "a DDL of the table does not wait",
                "cut.cut_scope:CutScope.before_held",
                "if self.holds(ddl)",
                "if False",
                f"{SCOPE}::test_no_cut_goes_past_a_ddl_that_has_to_wait",
            ),
        ),
    ),
    Invariant(
        "A filter may grow: the new tables have all changes since their load.",
        "Before the load, a cut brings R to now + 1 and keeps the new tables' changes at and "
        "above R ahead of the positions. All earlier changes were committed before now, the "
        "timestamp of the load.",
        (
            mutant(
                "growth-passes",
                "the cut before the load does not know the new tables",
                "commands.load.growing:Growth.grow",
                "joining = self.options.filter",
                "joining = ()",
                GROWTH,
            ),
            mutant(
                "growth-holds-nothing",
                "a row of a new table does not hold the restart offset",
                "cut.read.task:Reading._keep_later",
                "if commit_ts >= self._job.end:",
                "if False:",
                GROWTH,
            ),
        ),
    ),
)
QUARANTINE = (
    Invariant(
        "A table in quarantine equals the upstream at an R of its own; after its release all "
        "tables equal the upstream at one R.",
        "No cut after its R reads it, and a DDL of it and of another table ends the cut. A "
        "release reads its part of the log in cuts up to R. Its changes at and above R stay ahead "
        "of the changefeed's positions.",
        (
            mutant(
                "aside-is-passed",
                "its rows in later cuts do not hold the restart offset",
                "cut.read.task:Reading._leave_waiting",
                "if self._range.holds(",
                "if commit_ts < self._job.end and self._range.holds(",
                f"{ASIDE}::test_a_row_before_its_resolved_ts_is_applied_after_release[canal-json]",
            ),
            mutant(
                "files-are-passed",
                "the changefeed's positions pass its files in a storage",
                "source.storage.tasks:StorageTasks.read",
                "if progress.done or left_out(self.options, partition, receiver.wants):",
                "if progress.done or left_out(self.options, partition, receiver.reads):",
                f"{FILES}::test_files_of_a_quarantined_table_are_read_after_its_release[csv]",
            ),
            mutant(
                "released-without-ddl",
                "a release also leaves out its DDL",
                "cut.cut_scope:CutScope.is_of_another_run",
                'return relation(ddl, {self.released}) == "apart"',
                "return True",
                f"{ASIDE}::test_a_release_does_the_ddl_that_came_meanwhile[sqlite]",
            ),
            mutant(
                "joined-ddl",
                "a DDL of it and of another table runs",
                "cut.cut_scope:CutScope.before_joined",
                "return first.commit_ts",
                "return reach",
                f"{ASIDE}::test_a_ddl_of_it_and_of_something_else_stops_in_its_place"
                "[DROP DATABASE `shop`]",
            ),
            mutant(
                "aside-without-row",
                "its rows are left out although the target no longer has it in quarantine",
                "state.quarantine:Quarantine.count",
                "if self._run(statement).rowcount != 1:",
                "if self._run(statement).rowcount < 0:",
                "tests/consumer/state/test_store.py::"
                "test_rows_wait_only_for_a_table_that_is_set_aside[sqlite]",
            ),
            mutant(
                "release-ledger",
                "after a release, the same consumer knows tables as they were before",
                "state.releasing:TableStore.of",
                "own.ledger, own.table, own.goal = store.lease, store.ledger, table, goal",
                "own.table, own.goal = store.lease, table, goal",
                "tests/consumer/state/test_releasing.py::"
                "test_what_a_release_learns_of_tables_is_known_to_the_next",
            ),
            mutant(
                "release-stays",
                "a cut of a release does not move its R",
                "state.releasing:TableStore.write",
                "self.quarantine.move(before, before.moved(new))",
                "pass",
                f"{ASIDE}::test_one_table_waits_and_is_released_while_the_others_go_on[sqlite]",
            ),
        ),
    ),
)
INVARIANTS = (*CUTS, *DDL, *ROWS, *COMMITS, *QUARANTINE, *REFUSALS)
MUTANTS = tuple(each for invariant in INVARIANTS for each in invariant.mutants)

INTRODUCTION = """# Invariants

The promise as numbered sentences: why each holds, which code holds it, and what goes wrong without
it. Each row under *without it* is a small change of that function's source. `make mutants` makes
every change: the simulated world ("the world", [tests/README.md](../../tests/README.md)) or the
named test must fail. [Architecture](architecture.md) gives the reasons at length.

*Written by `make mutants ARGS=--write` from `tests/world/invariants.py`.*
"""


def document() -> str:
    """The text of `docs/explanation/invariants.md`."""
    parts = [INTRODUCTION]
    for number, invariant in enumerate(INVARIANTS, 1):
        parts.append(f"## {number}. {invariant.sentence}\n\n{invariant.why}\n")
        parts.append("| without it | code | noticed by |\n|---|---|---|")
        for each in invariant.mutants:
            places = ", ".join(f"`{place}`" for place in dict.fromkeys(e[0] for e in each.edits))
            noticed = ", ".join(f"`{test}`" for test in each.tests) or "the world"
            parts.append(f"| {each.without} | {places} | {noticed} |")
        parts.append("")
    return "\n".join(parts)
