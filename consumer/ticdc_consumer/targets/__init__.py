"""One package per database: types, encoding, statements."""
