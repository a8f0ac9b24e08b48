"""The upstream TiDB itself: its tables and rows as of one timestamp."""
