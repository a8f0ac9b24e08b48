"""MySQL, MariaDB and TiDB: one family, its differences in `dialects`."""
