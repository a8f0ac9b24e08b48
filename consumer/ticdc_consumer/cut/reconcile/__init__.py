"""Facts -> the net change of a cut: in the driver, or in Spark's tasks (`stream.py`) if the facts
exceed the driver's budget."""
