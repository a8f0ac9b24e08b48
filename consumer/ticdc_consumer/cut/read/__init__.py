"""What Spark's tasks do: a record becomes a change, a change becomes facts."""
