"""The status of a changefeed: its stored activity, the cause of its state, and its metrics."""
