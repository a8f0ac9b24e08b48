"""The net change of a cut -> the target, in the driver: one session, one transaction."""
