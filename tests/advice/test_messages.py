"""Messages that lack a part of what they are about, or hold something else."""

from dataclasses import replace

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from support.advice import (
    Case,
    Scene,
    Step,
    changefeed_begins,
    follow,
    sent,
    sets,
    sets_upstream,
    types,
    upstream,
)
from ticdc_encoder.event import Ddl, RowChange
from ticdc_encoder.formats.claim_check import ClaimCheckStorage
from ticdc_encoder.sql.parser import parse_create_table
from ticdc_encoder.tso import compose

T = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20))"
ONE, TWO = "INSERT INTO t VALUES (1, 'one')", "INSERT INTO t VALUES (2, 'two')"
BEGUN = (changefeed_begins, upstream(T, ONE), types("run CONFIG"))
LATER = upstream("INSERT INTO t VALUES (3, 'three')", "DELETE FROM t WHERE id = 1")
ANEW = ("forget CONFIG", "load CONFIG --replace", "run CONFIG")
IMPATIENT = {"limits__schema_wait": 0}
NO_UPSTREAM = {"source__upstream": None}
BEFORE_THE_SAFE_POINT = compose(1_560_000_000_000)
"""The tests' TiDB has a safe point of 2020 (tests/services)."""


def as_key(scene: Scene, change: RowChange) -> None:
    """The handle key alone."""
    scene.feed.send(1, replace(change, incomplete=True))


def as_claim_check(scene: Scene, change: RowChange) -> None:
    """The whole message is in a file."""
    key, value = scene.feed.record(change)
    folder = scene.folder / "claims"
    location = ClaimCheckStorage(folder.as_uri()).write(key, value or b"")
    scene.feed.send(1, replace(change, incomplete=True, claim_check=location))


def without_name(scene: Scene, change: RowChange) -> None:
    """As with column-selectors."""
    assert change.after is not None
    narrow = replace(change.table, columns=change.table.columns[:1])
    scene.feed.send(1, replace(change, table=narrow, after={"id": change.after["id"]}))


def of_another_version(scene: Scene, change: RowChange) -> None:
    """By a schema that no message has brought."""
    scene.feed.send(1, replace(change, table=replace(change.table, version=99)))


def garbled(scene: Scene, change: RowChange) -> None:
    """With another text than that of its checksum."""
    key, value = scene.feed.record(change)
    scene.feed.send_raw(1, key, (value or b"").replace(b"two", b"tow"))


def repeats_the_schema(scene: Scene) -> None:
    """As a changefeed does in each send-bootstrap-interval-in-sec."""
    table = parse_create_table(T, scene.tidb.schema)
    scene.feed.bootstrap(0, replace(table, table_id=1, version=99))


def began_in_2019(scene: Scene) -> None:
    """A changefeed whose first row is older than what TiDB keeps, and large."""
    table, commit_ts = parse_create_table(T, scene.tidb.schema), BEFORE_THE_SAFE_POINT
    scene.tidb.execute(T, ONE)
    scene.feed.send(0, Ddl(scene.tidb.schema, "t", T, commit_ts, 3, table))
    as_key(scene, RowChange(table, commit_ts + 1, after={"id": 1, "name": "one"}))
    scene.feed.resolve(commit_ts + 2)
    scene.begin_changefeed()


def cleans_up_by(policy: str) -> Step:
    def step(scene: Scene) -> None:
        entry = ConfigEntry("cleanup.policy", policy, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, scene.feed.topic)
        resource.add_incremental_config(entry)
        admin = AdminClient({**scene.feed.kafka.config})
        admin.incremental_alter_configs([resource])[resource].result(30)

    return step


CASES = [
    Case(
        "a large row is read from the upstream",
        [*BEGUN, sent(as_key, TWO), types("run CONFIG")],
        "…: only the handle key of a large row was sent: set [source] upstream to the TiDB from "
        "which to read the row, and start again",
        [sets_upstream, LATER, types("run CONFIG")],
        settings=NO_UPSTREAM,
    ),
    Case(
        "a large row that the upstream no longer has",
        [began_in_2019, types("run CONFIG")],
        "…: the upstream has removed the rows of commit_ts … (error …), so that a large row "
        "cannot be completed: raise tidb_gc_life_time there, and …; to avoid this, let the "
        "changefeed use claim-check",
        [types(*ANEW), LATER, types("run CONFIG")],
    ),
    Case(
        "a large row is in a claim check",
        [*BEGUN, sent(as_claim_check, TWO), types("run CONFIG")],
        "…: a large row is in a claim check: set [source] claim_check to the changefeed's "
        "claim-check-storage-uri, and start again",
        [sets(source__claim_check="file://{folder}/claims"), LATER, types("run CONFIG")],
    ),
    Case(
        "rows come without a column, which the changefeed sends from now on",
        [*BEGUN, sent(without_name, TWO), types("run CONFIG")],
        "….….…: its rows come without this column, which their CREATE TABLE has: add it to the "
        "changefeed's column-selectors, and …",
        [LATER, types(*ANEW)],
    ),
    Case(
        "a schema is waited for",
        [*BEGUN, sent(of_another_version, TWO), types("run CONFIG", "why CONFIG")],
        "wait a few minutes: the changefeed repeats the current schemas "
        "(send-bootstrap-interval-in-sec); if an older version is missing, …",
        [repeats_the_schema, LATER, types("run CONFIG")],
        also=(
            "; the changefeed repeats the newest by send-bootstrap-interval-in-sec and "
            "send-bootstrap-in-msg-count; if an older one is missing, …",
        ),
        settings=IMPATIENT,
        protocol="simple",
    ),
    Case(
        "a schema never comes",
        [*BEGUN, sent(of_another_version, TWO), types("run CONFIG")],
        "; the changefeed repeats the newest by send-bootstrap-interval-in-sec and "
        "send-bootstrap-in-msg-count; if an older one is missing, …",
        [LATER, types(*ANEW)],
        settings=IMPATIENT,
        protocol="simple",
    ),
    Case(
        "a row that differs from its checksum is applied, and put right",
        [*BEGUN, sent(garbled, TWO), types("run CONFIG")],
        '…: apply it as it came by [source] on_corruption = "warn", and repair it by: '
        "ticdc-consumer verify CONFIG --repair",
        [
            sets(source__on_corruption="warn"),
            types("run CONFIG", "verify CONFIG --repair"),
            LATER,
            types("run CONFIG"),
        ],
        protocol="simple",
        format={"integrity_check": True},
    ),
    Case(
        "a topic is compacted",
        [*BEGUN, LATER, cleans_up_by("compact"), types("run CONFIG", "check CONFIG")],
        "topic … is compacted, which deletes changes: set cleanup.policy=delete there, and …",
        [cleans_up_by("delete"), types(*ANEW)],
        also=("is compacted, which deletes changes: set cleanup.policy=delete there, and …",),
        kafka="real",
        on=("sqlite",),
    ),
]


def test_the_advice_is_followed(case: Case, scene: Scene) -> None:
    follow(case, scene)
