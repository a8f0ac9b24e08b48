"""`ticdc-consumer trace`: the history of one row, from the log to the target."""
