"""Partitions of upstream tables: the tables here have none."""
