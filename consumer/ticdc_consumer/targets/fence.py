"""How a consumer gets past an older one that is in its way: what the databases share.

The generation in the checkpoint refuses whoever is older. `Target.overtake` makes sure that the
older one cannot keep the newer one waiting and, where a DDL commits by itself, that nothing of the
older one still runs when the newer one begins.
"""

ROUNDS = 3
"""How many sessions in a row are ended before something else must be wrong."""
PAUSE = 0.05
"""Seconds between two looks at a lock."""
