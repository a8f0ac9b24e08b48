"""`ticdc-consumer trace`: what happened to one row, from the log to the target."""
