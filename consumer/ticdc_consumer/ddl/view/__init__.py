"""The query of a view, in the words of a target."""
