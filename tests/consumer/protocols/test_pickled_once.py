import pickle
from typing import Any

import pytest
from ticdc_consumer.protocols.pickled_once import (
    BLOCK,
    PickledInBlocks,
    PickledOnce,
    _unpickled,
    unpacked,
)
from ticdc_consumer.protocols.shape import ExpectedShape, PickledShapes


def test_it_is_pickled_once_and_unpickled_once() -> None:
    original = PickledOnce([["a"], ["b"]])
    first, second = pickle.dumps(original), pickle.dumps(original)
    assert first == second
    _unpickled.cache_clear()
    one, other = pickle.loads(first), pickle.loads(second)
    assert one == original == (["a"], ["b"])
    assert one is other
    assert (_unpickled.cache_info().hits, _unpickled.cache_info().misses) == (1, 1)


def test_what_was_unpickled_may_be_sent_on() -> None:
    once = pickle.loads(pickle.dumps(PickledOnce([1, 2])))
    assert pickle.loads(pickle.dumps(once)) is pickle.loads(pickle.dumps(once))


class Item:
    """Nothing but itself."""


def test_only_the_blocks_that_are_asked_for_are_unpickled() -> None:
    unpacked.cache_clear()
    sent = pickle.dumps(PickledInBlocks([[n] for n in range(10 * BLOCK)]))
    received = pickle.loads(sent)
    assert len(received) == 10 * BLOCK
    assert unpacked.cache_info().misses == 0
    assert received[0] == [0] and received[BLOCK - 1] == [BLOCK - 1] and received[-1] == [319]
    assert unpacked.cache_info().misses == 2
    # The next task of the same process.
    assert pickle.loads(sent)[0] is received[0]
    assert unpacked.cache_info().misses == 2
    assert list(received) == [[n] for n in range(10 * BLOCK)]


@pytest.mark.parametrize(
    ("change", "packed_again"),
    [
        ("none", 0),
        ("the first is another", 1),
        ("one more", 1),
        ("one less", 1),
        ("all are others", 4),
    ],
)
def test_only_blocks_that_changed_are_pickled_again(change: str, packed_again: int) -> None:
    items = [Item() for _ in range(3 * BLOCK + 5)]
    before = PickledInBlocks(items)
    pickle.dumps(before)
    match change:
        case "the first is another":
            items[0] = Item()
        case "one more":
            items.append(Item())
        case "one less":
            items.pop()
        case "all are others":
            items = [Item() for _ in items]
    after = PickledInBlocks(items, before)
    assert list(after) == items
    assert sum(block._packed is None for block in after._blocks) == packed_again


@pytest.mark.parametrize("index", [-1, 0, 2])
def test_it_is_indexed_as_a_list(index: int) -> None:
    assert PickledInBlocks("abc")[index] == "abc"[index]
    assert PickledInBlocks("abc")[1:] == ["b", "c"]
    with pytest.raises(IndexError):
        PickledInBlocks("abc")[3 if index >= 0 else -4]


def test_shapes_of_tables_that_are_not_met_stay_packed() -> None:
    both = [ExpectedShape((("a", "int", False),), keys_only=only) for only in (True, False)]
    shapes = {("s", f"t{n}"): (n, both[n % 2]) for n in range(200)}
    before = PickledShapes(shapes)
    unpacked.cache_clear()
    received = pickle.loads(pickle.dumps(before))
    assert received["s", "t7"] == (7, both[1])
    assert unpacked.cache_info().misses == 1
    assert received.get(("s", "other")) is None
    assert dict(received) == shapes


@pytest.mark.parametrize(
    ("change", "alike"),
    [("none", True), ("one more", False), ("one less", False), ("another", False)],
)
def test_layouts_that_came_twice_are_known_to_be_the_same(change: str, alike: bool) -> None:
    names = [f"t{n}" for n in range(2 * BLOCK)]
    changed = {
        "none": names,
        "one more": [*names, "t"],
        "one less": names[:-1],
        "another": [*names[:-1], "t"],
    }[change]
    unpacked.cache_clear()
    first, second = (pickle.loads(pickle.dumps(PickledInBlocks(n))) for n in (names, changed))
    assert (first == second) is alike
    assert first != names
    assert unpacked.cache_info().misses == 0


def test_in_their_process_only_identical_items_are_the_same() -> None:
    items = [Item(), Item()]
    layouts = PickledInBlocks(items)
    assert layouts == PickledInBlocks(items, layouts)
    assert layouts != PickledInBlocks([Item(), Item()], layouts)


def test_shapes_are_the_same_if_no_name_and_no_shape_is_another() -> None:
    one: dict[tuple[str, str], Any] = {
        ("s", "a"): (0, (("a", "int", False),)),
        ("s", "b"): (1, None),
    }
    others = (
        {**one, ("s", "b"): (1, (("a", "int", False),))},
        {("s", "c"): one["s", "a"], ("s", "b"): (1, None)},
    )
    sent = pickle.loads(pickle.dumps(PickledShapes(one)))
    assert sent == pickle.loads(pickle.dumps(PickledShapes(dict(one))))
    for other in others:
        assert sent != pickle.loads(pickle.dumps(PickledShapes(other)))
