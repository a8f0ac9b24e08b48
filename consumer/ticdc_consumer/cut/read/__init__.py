"""The work of a task, in a Spark worker or, for a small cut, in the driver: record -> change ->
facts."""
