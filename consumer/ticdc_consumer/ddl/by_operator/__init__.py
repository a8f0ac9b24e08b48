"""A pending DDL that an operator does."""
