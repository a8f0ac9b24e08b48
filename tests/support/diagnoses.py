"""Changefeeds in trouble, and what `why` says of them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from ticdc_consumer.state.causes.situation import Diagnosis
from ticdc_consumer.status import why
from ticdc_consumer.waiting import until
from ticdc_encoder.errors import TicdcError
from ticdc_encoder.tso import compose

from support import brokers
from support.torture_cli import Command, Make
from support.torture_topics import BASE, Feed, inserted

SOON = 60.0
LIMIT = 5.0
"""Seconds within which a cause is named."""


def diagnosed(run: Command, **settings: Any) -> Diagnosis:
    began = time.monotonic()
    explained = why(run.options(**settings), "orders.toml")
    assert time.monotonic() - began < LIMIT
    return explained


def comes_to(run: Command, cause: str, **settings: Any) -> Diagnosis:
    """The diagnosis, once it is this one."""
    last = diagnosed(run, **settings)

    def is_named() -> bool:
        nonlocal last
        last = diagnosed(run, **settings)
        return last.cause == cause

    assert until(is_named, SOON, pause=0.2), last
    return last


@contextmanager
def running(run: Command, **settings: Any) -> Iterator[None]:
    """A consumer applies what comes, in a thread of its own."""
    with run.consumer(**{"spark__start": "when-needed", **settings}) as consumer:

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
    command: Make, kafka: brokers.Kafka, url: str, schema: str, **settings: Any
) -> tuple[Feed, Command]:
    """The first cut is in the target: `items` with row 1, in a schema or database of its own."""
    feed = Feed(kafka, "canal-json")
    feed.create(10)
    feed.send(0, inserted(20, {"id": 1, "name": "one"}))
    feed.mark(100)
    run = command([feed], url, None, **{"tables__route.shop.*": f"{schema}.{{table}}"}, **settings)
    outcome = run()
    assert outcome.code == 0, outcome.said
    return feed, run


def seconds_ago(seconds: float) -> int:
    """That time as the number of a timestamp."""
    return compose(round((time.time() - seconds) * 1000)) - BASE


def backlog(feed: Feed, step: float, cuts: int = 3000) -> None:
    """An hour ago, one row and one resolved ts after the other, `step` seconds apart."""
    first = seconds_ago(3600)
    for n in range(cuts):
        number = first + round(step * n * 1000) * 2**18
        feed.send(0, inserted(number, {"id": n, "name": "x"}))
        feed.mark(number + 1)
