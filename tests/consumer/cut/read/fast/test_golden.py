"""TiCDC's own messages through both paths."""

from itertools import pairwise

import pytest
from support.both_paths import (
    LATEST,
    decoded,
    job_of,
    learning_at_once,
    options_for,
    same,
    tables_in,
)
from support.golden import repeated, scenario
from support.golden_changes import versions
from support.wire_golden import protocol_of, variants
from ticdc_encoder.event import Ddl, RowChange

SMALL = [
    (name, variant)
    for protocol in ("canal-json", "open-protocol")
    for name, variant in variants(protocol, "keys", "types", "splits")
]
WORKLOAD = [
    ("canal-json.ext", 4800),
    ("canal-json.ts-dispatch", 4800),
    ("classic.canal-json.ext", 4800),
    ("open.batch1", 4800),
    ("open.batch16", 4200),
    ("open.raw", 4000),
    ("classic.open.batch16", 4200),
]
DDL = ["canal-json.ext", "classic.canal-json.raw", "open.batch16", "classic.open.raw"]


def keys(name: str) -> dict[tuple[str, str], tuple[str, ...]]:
    return {table: of[0][1].handle_key for table, of in versions(name).items()}


@pytest.mark.parametrize("apply", ["net", "transactions"])
@pytest.mark.parametrize(("name", "variant"), SMALL)
def test_a_golden_file_gives_the_same_facts_on_both_paths(
    name: str, variant: str, apply: str
) -> None:
    sent = scenario(name).variants[variant]
    records = [(message.key, message.value) for message in repeated(sent.records, seed=3)]
    options = options_for(protocol_of(sent), time_zone=sent.server_tz, apply=apply)
    with learning_at_once():
        result = same(job_of(options, tables_in(decoded(options, records)), keys(name)), records)
    assert bool(result.error) == variant.endswith(".plain"), result.error
    assert result.error or result.read_fast > result.rows / 4


@pytest.mark.parametrize(("variant", "least"), WORKLOAD)
def test_most_of_a_workload_is_not_decoded(variant: str, least: int) -> None:
    sent = scenario("workload").variants[variant]
    records = [(message.key, message.value) for message in sent.records]
    options = options_for(protocol_of(sent))
    result = same(job_of(options, tables_in(decoded(options, records))), records)
    assert not result.error
    assert result.read_fast >= least


@pytest.mark.slow
@pytest.mark.parametrize("variant", DDL)
def test_the_cuts_between_ddl_give_the_same_facts_on_both_paths(variant: str) -> None:
    sent = scenario("ddl").variants[variant]
    records = [(message.key, message.value) for message in sent.records]
    options = options_for(protocol_of(sent))
    events = decoded(options, records)
    ends = sorted({event.commit_ts + 1 for event in events if isinstance(event, Ddl)})
    read_fast = 0
    for begin, end in pairwise([0, *ends, LATEST]):
        rows = [e for e in events if isinstance(e, RowChange) and begin <= e.commit_ts < end]
        if rows:
            with learning_at_once():
                job = job_of(options, tables_in(rows), keys("ddl"), begin, end)
                read_fast += same(job, records).read_fast
    assert read_fast
