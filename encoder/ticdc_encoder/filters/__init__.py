"""Filters of a changefeed: tables, events, columns."""
