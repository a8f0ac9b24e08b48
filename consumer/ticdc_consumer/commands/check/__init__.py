"""Checks of every precondition of a run, reported one by one; nothing is written."""
