"""DDL that several databases share."""
