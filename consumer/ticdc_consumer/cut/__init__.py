"""The life of a cut: planned, read, folded, applied, committed."""
