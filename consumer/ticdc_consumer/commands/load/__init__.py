"""The first copy of an upstream into the target, as of one timestamp."""
