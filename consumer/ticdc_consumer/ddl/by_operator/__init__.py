"""Pending DDL that an operator does."""
