"""Tables and values that TiCDC does not send, from `[source] upstream` as of a DDL."""
