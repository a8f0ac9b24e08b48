"""SQLite: JSON arrays, bound row by row."""
