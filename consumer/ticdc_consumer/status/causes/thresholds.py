"""From when on something needs an explanation."""

QUIET = 30.0
"""Seconds without a message, or without a resolved ts: TiCDC sends one about every second."""
LONG = 30.0
"""Seconds of one DDL, or of one transaction that loads a cut."""
LAG = 60.0
"""Seconds that R may be behind."""
WINDOW = 20.0
"""Seconds, at least, over which rates are compared."""
STEADY = 0.05
"""Seconds by which the lag may change in a second, either way, and counts as the same."""
SLOW_SHARE = 0.6
"""The share of a cut's time that the target takes if it is the slowest part."""
SPILLED_CUTS = 3
SPILLED_SHARE = 0.5
LOST_EXECUTORS = 3
RECENT = 600.0
"""Seconds for which what has happened still explains something."""
TAKEOVER = 120.0
"""Seconds for which a takeover explains something."""
SKEW = 10.0
"""Seconds by which two clocks may differ."""
RETAINED_SHARE = 0.8
"""The share of a log that is not applied, if the rest of it is deleted soon."""
FEW = 10
"""Messages that say nothing about retention."""
OPEN_TRANSACTION = 600.0
KEPT_WAL = 1 << 30
"""Seconds and bytes: what keeps PostgreSQL from cleaning up."""
