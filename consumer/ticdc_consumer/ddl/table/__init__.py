"""CREATE TABLE and ALTER TABLE, in the words of a target."""
