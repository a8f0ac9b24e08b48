"""What a changefeed leaves out: tables, events, columns."""
