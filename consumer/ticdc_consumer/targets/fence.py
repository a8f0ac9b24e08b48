"""The fence against an older consumer: the part that all databases share.

The generation in the checkpoint refuses every older consumer. `Target.overtake` makes sure that the
older one cannot keep the newer one waiting and, where DDL commits by itself, that no statement of
the older one still runs when the newer one begins.
"""

ROUNDS = 3
"""The number of sessions ended in a row before another cause must be assumed."""
PAUSE = 0.05
"""Seconds between two checks of a lock."""
