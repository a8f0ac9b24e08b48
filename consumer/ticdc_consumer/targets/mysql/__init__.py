"""MySQL, MariaDB and TiDB: one family; `dialects` has their differences."""
