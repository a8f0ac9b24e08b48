import pickle

from ticdc_consumer.pickled_once import Lasting, _opened


def test_it_is_pickled_once_and_unpickled_once() -> None:
    given = Lasting([["a"], ["b"]])
    first, second = pickle.dumps(given), pickle.dumps(given)
    assert first == second
    _opened.cache_clear()
    one, other = pickle.loads(first), pickle.loads(second)
    assert one == given == (["a"], ["b"])
    assert one is other
    assert (_opened.cache_info().hits, _opened.cache_info().misses) == (1, 1)


def test_what_was_unpickled_may_be_sent_on() -> None:
    once = pickle.loads(pickle.dumps(Lasting([1, 2])))
    assert pickle.loads(pickle.dumps(once)) is pickle.loads(pickle.dumps(once))
