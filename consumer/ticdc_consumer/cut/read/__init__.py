"""What a task does, in a Spark worker or, for a small cut, in the driver: a record becomes a
change, a change becomes facts."""
