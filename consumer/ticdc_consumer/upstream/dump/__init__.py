"""Dumpling's files: an upstream as of one timestamp, without a connection to it."""
