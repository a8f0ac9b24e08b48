"""Thresholds beyond which something needs an explanation."""

QUIET = 30.0
"""Seconds without a message, or without a resolved ts: TiCDC sends one about every second."""
LONG = 30.0
"""Seconds of one DDL, or of one transaction that loads a cut."""
LAG = 60.0
"""Seconds that R may be behind."""
WINDOW = 20.0
"""Seconds, at least, over which rates are compared."""
STEADY = 0.05
"""Change of the lag, in seconds per second, up to which it counts as steady."""
SLOW_SHARE = 0.6
"""The target's share of a cut's time from which it is the slowest part."""
SPILLED_CUTS = 3
SPILLED_SHARE = 0.5
LOST_EXECUTORS = 3
RECENT = 600.0
"""Seconds for which a past event still explains something."""
TAKEOVER = 120.0
"""Seconds for which a takeover explains something."""
SKEW = 10.0
"""Seconds by which two clocks may differ."""
RETAINED_SHARE = 0.8
"""Share of a log that is left and not applied, from which its deletion is near."""
FEW = 10
"""Messages that are too few to show anything about retention."""
OPEN_TRANSACTION = 600.0
KEPT_WAL = 1 << 30
"""Seconds and bytes from which something keeps PostgreSQL from cleaning up."""
