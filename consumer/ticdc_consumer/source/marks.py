"""Positions in the source's logs."""

TopicPartition = tuple[str, int]
"""Topic and partition."""
