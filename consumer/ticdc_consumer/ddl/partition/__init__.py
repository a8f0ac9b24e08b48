"""Partitions of upstream tables: the target's tables have none."""
