import pickle

from ticdc_consumer.protocols.pickled_once import PickledOnce, _unpickled


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
