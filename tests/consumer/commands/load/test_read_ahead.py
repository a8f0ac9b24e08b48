"""Batches that are read ahead are the same, and nothing reads once nobody takes them."""

from collections.abc import Iterator
from contextlib import closing
from threading import Event, current_thread, main_thread

import pyarrow as pa
import pytest
from ticdc_consumer.commands.load.read_ahead import read_ahead

Batch = list[pa.Array]

BATCHES: tuple[Batch, ...] = tuple([pa.array([number])] for number in range(3))


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_the_batches_are_the_same(count: int) -> None:
    assert list(read_ahead(iter(BATCHES[:count]))) == list(BATCHES[:count])


def test_a_batch_is_read_while_the_one_before_it_is_used() -> None:
    second_is_read = Event()

    def batches() -> Iterator[Batch]:
        yield BATCHES[0]
        assert current_thread() is not main_thread()
        second_is_read.set()
        yield BATCHES[1]

    ahead = read_ahead(batches())
    assert next(ahead) == BATCHES[0]
    assert second_is_read.wait(10)
    assert list(ahead) == [BATCHES[1]]


def test_what_reading_raises_comes_after_the_batches_before_it() -> None:
    def batches() -> Iterator[Batch]:
        yield BATCHES[0]
        raise ValueError("the second")

    ahead = read_ahead(batches())
    assert next(ahead) == BATCHES[0]
    with pytest.raises(ValueError, match="the second"):
        next(ahead)


def test_once_it_is_closed_nothing_is_reading() -> None:
    begun, may_end, read = Event(), Event(), list[int]()

    def batches() -> Iterator[Batch]:
        for number, batch in enumerate(BATCHES):
            if number == 1:
                begun.set()
                may_end.wait(10)
            read.append(number)
            yield batch

    with closing(read_ahead(batches())) as ahead:
        next(ahead)
        assert begun.wait(10)
        may_end.set()
    assert read == [0, 1]
