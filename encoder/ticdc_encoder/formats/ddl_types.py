"""The `type` of a DDL message, which Canal-JSON and Simple share."""

DDL_TYPES: dict[int, str] = {
    3: "CREATE",
    **dict.fromkeys((14, 47), "RENAME"),
    **dict.fromkeys((7, 9, 32), "CINDEX"),
    **dict.fromkeys((8, 10, 33), "DINDEX"),
    **dict.fromkeys(
        (5, 6, 12, 13, 15, 17, 18, 19, 20, 22, 23, 37, 38, 41, 61, 64, 71, 72), "ALTER"
    ),
    4: "ERASE",
    11: "TRUNCATE",
}
"""TiDB's action code -> the type; every other code is QUERY."""
