"""Every precondition of a run, reported one by one; nothing is written."""
