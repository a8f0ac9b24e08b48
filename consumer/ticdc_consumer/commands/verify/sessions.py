"""The sessions of both sides, for as many threads."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from queue import SimpleQueue

from ticdc_consumer.commands.verify.target_state import TargetState
from ticdc_consumer.config.options import Settings
from ticdc_consumer.targets import open_target
from ticdc_consumer.targets.target import Target
from ticdc_consumer.upstream.session import UpstreamSession, reading, upstream_url


class Sessions:
    """Pairs of sessions that see the same state: the upstream at R - 1, the target at R."""

    def __init__(self, options: Settings, state: TargetState, stack: ExitStack) -> None:
        self._options = options
        self._state = state
        self._free: SimpleQueue[tuple[UpstreamSession, Target]] = SimpleQueue()
        self._of_upstream = list[int]()
        url = upstream_url(options)
        for target in state.readers:
            session = stack.enter_context(reading(url, state.snapshot_ts))
            ((number,),) = session.query("SELECT CONNECTION_ID()")
            self._of_upstream.append(int(str(number)))
            self._free.put((session, target))
        self._of_target = [target.session_id() for target in state.readers]

    @contextmanager
    def pair(self) -> Iterator[tuple[UpstreamSession, Target]]:
        """Yields a pair that no other thread uses."""
        both = self._free.get()
        try:
            yield both
            self._state.begin_again(both[1])
        finally:
            self._free.put(both)

    def end(self) -> None:
        """Ends the sessions, whose statements may take an hour."""
        with reading(upstream_url(self._options)) as session:
            for number in self._of_upstream:
                session.query(f"KILL {number}")
        with closing(open_target(self._options.target_url, to_look=True)) as target:
            for session_id in filter(None, self._of_target):
                target.end_session(session_id)
