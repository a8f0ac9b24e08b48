"""Changefeeds in trouble, and what `why` says of them."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Thread
from typing import Any

from ticdc_consumer.status.activity.activity import Activity
from ticdc_consumer.status.activity.stored import read
from ticdc_consumer.status.causes.situation import Diagnosis
from ticdc_consumer.status.diagnosis import why
from ticdc_consumer.targets import open_target
from ticdc_consumer.waiting import until
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.event import Resolved
from ticdc_encoder.message import Message
from ticdc_encoder.tso import compose

from support import brokers
from support.torture_cli import CHANGEFEED, Command, Make
from support.torture_topics import BASE, Feed, inserted, ts

SOON = 60.0
LIMIT = 60.0
"""Seconds within which a cause is named, also on a machine that is busy with other tests."""


def diagnosed(run: Command, **settings: Any) -> Diagnosis:
    began = time.monotonic()
    explained = why(run.options(**settings), "orders.toml")
    assert time.monotonic() - began < LIMIT
    return explained


def comes_to(
    run: Command, cause: str, meanwhile: Callable[[], object] = lambda: None, **settings: Any
) -> Diagnosis:
    """The diagnosis, once it is this one; `meanwhile` is done before each look."""
    last = diagnosed(run, **settings)

    def is_named() -> bool:
        nonlocal last
        meanwhile()
        last = diagnosed(run, **settings)
        return last.cause == cause

    assert until(is_named, SOON, pause=0.2), last
    return last


def of_itself(run: Command) -> Activity:
    """What the consumer itself has written, as its metrics read it."""
    with closing(open_target(run.target_url, to_look=True)) as target:
        stored = read(target, CHANGEFEED)
    assert stored is not None
    return stored.activity


@contextmanager
def running(run: Command, **settings: Any) -> Iterator[None]:
    """A consumer applies what comes, in a thread of its own."""
    with run.consumer(**settings) as consumer:

        def apply() -> None:
            try:
                list(consumer.epochs())
            except TicdcError:
                return  # the target shows it

        thread = Thread(target=apply)
        thread.start()
        try:
            yield
        finally:
            consumer.stop()
            thread.join()


def begun(
    command: Make,
    kafka: brokers.Kafka,
    url: str,
    schema: str,
    spark: Any = None,
    **settings: Any,
) -> tuple[Feed, Command]:
    """The first cut is in the target: `items` with row 1, in a schema or database of its own."""
    feed = Feed(kafka, "canal-json")
    feed.create(10)
    feed.send(0, inserted(20, {"id": 1, "name": "one"}))
    feed.mark(100)
    run = command([feed], url, spark, **{"tables__route.shop.*": f"{schema}.{{table}}"}, **settings)
    outcome = run()
    assert outcome.code == 0, outcome.said
    return feed, run


def seconds_ago(seconds: float) -> int:
    """That time as the number of a timestamp."""
    return compose(round((time.time() - seconds) * 1000)) - BASE


def backlog(feed: Feed, run: Command, step: float, cuts: int = 2000) -> None:
    """R is of an hour ago; then come one row and one resolved ts after the other, `step` seconds
    apart."""
    first = seconds_ago(3600)
    feed.mark(first)
    assert run().code == 0
    numbers = [first + 1 + round(step * n * 1000) * 2**18 for n in range(cuts)]
    feed.kafka.produce(
        Message(feed.topic, 0, *feed.record(event))
        for number in numbers
        for event in (inserted(number, {"id": number % 97, "name": "x"}), Resolved(ts(number + 1)))
    )
