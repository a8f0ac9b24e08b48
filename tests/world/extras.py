"""What some histories have beside their faults: settings, kinds of tables, and what people do.

Each is drawn from a stream of its own, so that the rest of a history does not depend on it.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random

from ticdc_torture.upstream import JOINED, KEYLESS, KEYS
from world.schedule import Fault

EXTRAS: dict[str, float] = {
    "debug log": 0.1,
    "caught-up": 0.15,
    "until": 0.1,
    "small memory": 0.25,
    "tables without a key": 0.15,
    "staging": 0.15,
    "told to stop": 0.1,
    "refused rows": 0.2,
    "forgotten": 0.07,
    "restored": 0.15,
    "begun again": 0.1,
    "repair": 0.1,
    "snapshot": 0.15,
    "busy target": 0.1,
    "another row": 0.1,
    "looked at": 0.1,
    "loaded again": 0.15,
    "late schemas": 0.3,
    "wider filter": 0.4,
    "foreign keys": 0.15,
    "new target": 0.1,
    "no driver": 0.3,
    "deleted twice": 0.4,
    "late listing": 0.2,
}
"""How probable each is, where it can be."""
NET_ONLY = {"staging", "wider filter"}
OF_A_SERVER = {"staging", "restored"}
OF_SIMPLE = {"late schemas"}
NOT_OF_SIMPLE = {"wider filter"}
"""The table's schema comes again after minutes, which no history lasts."""
BESIDE = {
    "no driver": "repair",
    "deleted twice": "tables without a key",
    "wider filter": "snapshot",
}
"""Those that need another."""
AT_DOORS: dict[str, dict[str, tuple[str, int, int]]] = {
    "told to stop": {"told to stop": ("statement", 1, 3)},
    "refused rows": {
        "rows are refused": ("statement", 1, 2),
        "commit lost, done": ("commit", 0, 3),
        "commit lost, undone": ("commit", 0, 3),
    },
    "forgotten": {"forgotten": ("statement", 1, 1)},
    "restored": {"backup": ("statement", 1, 2), "restored": ("statement", 1, 2)},
    "repair": {"repair": ("statement", 1, 3)},
    "looked at": {"looked at": ("statement", 1, 3)},
    "loaded again": {"loaded again": ("statement", 1, 3)},
    "wider filter": {"wider filter": ("statement", 1, 2)},
    "busy target": {"target is busy": ("statement", 1, 2)},
    "another row": {"another row": ("statement", 1, 2)},
    "deleted twice": {"deleted twice": ("statement", 1, 2)},
}
"""What people do beside, and what else fails: at which door, how often at least and at most."""
NOT_REAL = {
    *AT_DOORS,
    "begun again",
    "snapshot",
    "late schemas",
    "new target",
    "no driver",
    "late listing",
}
"""What is not played on real parts."""


DENSE = 2.5
"""How much more probable each is in a dense history."""


def extras(seed: int, protocol: str, way: str, kind: str, times: float = 1.0) -> tuple[str, ...]:
    """Those of a seed; each by its share `times` as much, and never surely."""
    drawn = [
        name
        for name, share in EXTRAS.items()
        if Random(f"{seed} {name}").random() < min(times * share, 0.5)
    ]
    left_out = set[str]()
    if way != "net":
        left_out |= NET_ONLY
    if kind != "worldserver":
        left_out |= OF_A_SERVER
    left_out |= NOT_OF_SIMPLE if protocol == "simple" else OF_SIMPLE
    if {"forgotten", "snapshot", "late schemas"} & {
        *drawn
    }:  # nobody knows then that the tables were empty
        left_out.add("begun again")
    left_out |= {name for name, other in BESIDE.items() if other not in drawn}
    if "restored" in drawn:  # nobody goes on with a load that is there again
        left_out |= {"loaded again", "wider filter"}
    return tuple(name for name in drawn if name not in left_out)


def faults_of(seed: int, names: tuple[str, ...]) -> list[Fault]:
    """When people do what they do."""
    faults = []
    for name in names:
        rng = Random(f"{seed} {name} at")
        for kind, (door, least, most) in AT_DOORS.get(name, {}).items():
            for _ in range(rng.randint(least, most)):
                last = rng.choice([80, 250]) if door == "statement" else 40
                faults.append(Fault(door, rng.randint(1, last), kind, rng.randint(1, 1 << 20)))
    return faults


def limits(rng: Random) -> dict[str, int]:
    """Those of a history with little memory."""
    few, first = rng.choice([0, 3, 1000]), rng.choice([3, 50_000])
    return {
        "FEW": few,
        "FIRST_MESSAGES": first,
        "LAST_ROWS": 2 * first,
        "CHUNK_ROWS": rng.choice([1, 3, 10_000]),
        "CHUNK_BYTES": rng.choice([50, 4 << 20]),
        "STEP_BYTES": rng.choice([100, 64 << 20]),
    }


def late_listing(rng: Random, named: Sequence[str]) -> Callable[[str], float]:
    """For how long listings lack a new topic; never one that the settings name."""
    most = rng.choice([0.05, 1.0, 10.0, 60.0])
    return lambda topic: 0.0 if topic in named else rng.random() * most


def kinds_of_keys(names: tuple[str, ...]) -> tuple[str, ...]:
    """What tables a history creates."""
    kinds = (*KEYS, *KEYLESS, *KEYLESS) if "tables without a key" in names else tuple(KEYS)
    return (*kinds, *JOINED, *JOINED, *JOINED) if "foreign keys" in names else kinds


class _Formatted(logging.Handler):
    """Takes each record, and drops its text."""

    def emit(self, record: logging.LogRecord) -> None:
        record.getMessage()


@contextmanager
def logged() -> Iterator[None]:
    """Inside, the consumer logs all that it can, to nobody."""
    logger, handler = logging.getLogger("ticdc_consumer"), _Formatted()
    before = logger.level, logger.propagate, logging.root.manager.disable
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logging.disable(logging.NOTSET)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]
        logging.disable(before[2])
