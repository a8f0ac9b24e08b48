"""`verify` finds whatever differs, whatever the type, the key and the target, and nothing where
nothing does; the upstream is a real TiDB that has gone on."""

from pathlib import Path

import pytest
import sqlalchemy as sa
from support.verified import Found, Verified

COLUMNS = {
    "num": ("INT", "{id}"),
    "tiny": ("TINYINT", "-5"),
    "zero": ("INT(8) UNSIGNED ZEROFILL", "42"),
    "big": ("BIGINT UNSIGNED", "18446744073709551615"),
    "bits": ("BIT(10)", "683"),
    "y": ("YEAR", "2024"),
    "f": ("FLOAT", "0.1"),
    "d": ("DOUBLE", "0.3"),
    "huge": ("DOUBLE", "-1.7e308"),
    "amount": ("DECIMAL(20,5)", "123.45678"),
    "born": ("DATE", "'2024-02-29'"),
    "made_at": ("DATETIME(6)", "'2024-02-29 10:11:12.000010'"),
    "seen_at": ("TIMESTAMP(3)", "'2024-02-29 10:11:12.120'"),
    "lasts": ("TIME(6)", "'-01:02:03.000400'"),
    "code": ("CHAR(10)", "'abc'"),
    "name": ("VARCHAR(60)", "'abc'"),
    "nothing": ("VARCHAR(60)", "NULL"),
    "note": ("TEXT", "'tab\\t, line\\n, back\\\\slash, \\'quote\\', €, 𝄞'"),
    "fixed": ("BINARY(8)", "X'61'"),
    "raw": ("VARBINARY(60)", "X'00ff10'"),
    "pile": ("BLOB", "X'5c0a00'"),
    "mood": ("ENUM('sad','glad')", "'sad'"),
    "tags": ("SET('x','y','z')", "'x,y'"),
    "doc": ("JSON", '\'{"b": [true, null, 1.5], "a": "é"}\''),
    "summed": ("INT AS (num + tiny) VIRTUAL", ""),
}
"""Column -> type, and the value of every row."""

FAULTS = {
    "a number": ("tiny", "'-4'"),
    "a number without its zeros": ("zero", "43"),
    "the greatest number": ("big", "'18446744073709551614'"),
    "a bit": ("bits", "682"),
    "a year": ("y", "2025"),
    "a float's last bit": ("f", {"": "'0.10000000894069672'", "sqlite": "0.10000000000000002"}),
    "a double's last bit": ("d", "'0.30000000000000004'"),
    "a large double": ("huge", "'-1.7000000000000002e308'"),
    "a decimal's last digit": ("amount", "'123.45679'"),
    "a day": ("born", "'2024-03-01'"),
    "a microsecond": ("made_at", "'2024-02-29 10:11:12.000011'"),
    "a time zone": ("seen_at", "'2024-02-29 11:11:12.120'"),
    "a sign of a time": ("lasts", "'01:02:03.000400'"),
    "a case of a CHAR": ("code", "'Abc'"),
    "a trailing space": ("name", "'abc '"),
    "a case": ("name", "'aBc'"),
    "an accent": ("name", "'äbc'"),
    "NULL for a text": ("name", "NULL"),
    "a text for NULL": ("nothing", "''"),
    "a byte of a text": ("note", "'tab'"),
    "a zero byte": ("fixed", {"": "X'6100000000000001'", "postgresql": r"'\x6100000000000001'"}),
    "a byte": ("raw", {"": "X'00ff11'", "postgresql": r"'\x00ff11'"}),
    "a byte at the end": ("pile", {"": "X'5c0a'", "postgresql": r"'\x5c0a'"}),
    "a label": ("mood", "'glad'"),
    "a member": ("tags", "'x'"),
    "a member of JSON": ("doc", '\'{"b": [true, null, 1.25], "a": "é"}\''),
}
"""Fault -> the column, and what the target's row gets instead, in SQL."""

MORE_TABLES = (
    "CREATE TABLE words (w VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY, n INT)",
    "INSERT INTO words VALUES ('B', 1), ('a', 2), ('ä b', 3), ('c', 4)",
    "CREATE TABLE many (mood ENUM('sad','glad'), raw VARBINARY(8), at DATETIME(3), n INT, "
    "PRIMARY KEY (mood, raw, at))",
    "INSERT INTO many VALUES ('sad', X'00', '2024-02-29 00:00:00.100', 1), "
    "('sad', X'0000', '2024-02-29 00:00:00.100', 2), ('glad', X'00', '2024-02-29 00:00:00', 3)",
    "CREATE TABLE log (a INT, b VARCHAR(9))",
    "INSERT INTO log VALUES (1, 'one'), (1, 'one'), (2, NULL), (3, 'three')",
    "CREATE TABLE nobody (id INT PRIMARY KEY)",
)
SPOILED = (
    "UPDATE words SET n = 9 WHERE n = 3",
    "DELETE FROM many WHERE n = 2",
    "INSERT INTO log SELECT * FROM log WHERE a = 2",
    "DELETE FROM log WHERE a = 3",
    "INSERT INTO nobody VALUES (7)",
)
FOUND_THERE: set[Found] = {
    ("words", "differs", (("w", "ä b"),), ("n",)),
    (
        "many",
        "missing",
        (("mood", "sad"), ("raw", "0000"), ("at", "2024-02-29 00:00:00.1")),
        (),
    ),
    ("log", "extra", (), ()),
    ("log", "missing", (), ()),
    ("nobody", "extra", (("id", "7"),), ()),
}


def shop(verified: Verified, rows: int) -> None:
    """A table of all kinds of columns, and tables of all kinds of keys."""
    columns = ", ".join(f"`{name}` {type_}" for name, (type_, _) in COLUMNS.items())
    values = ", ".join(value for _, value in COLUMNS.values() if value)
    written = ", ".join(f"`{name}`" for name, (_, value) in COLUMNS.items() if value)
    verified.execute(
        f"CREATE TABLE kinds (id INT PRIMARY KEY, {columns})",
        *(
            f"INSERT INTO kinds (id, {written}) VALUES ({n}, {values.format(id=n)})"  # noqa: S608
            for n in range(1, rows + 1)
        ),
        *MORE_TABLES,
    )


@pytest.fixture
def verified(
    tidb_url: str, target_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Verified:
    return Verified.of(tidb_url, target_url, tmp_path, capsys)


def test_every_fault_is_found_in_every_type_and_none_where_there_is_none(
    verified: Verified,
) -> None:
    shop(verified, len(FAULTS) + 6)
    resolved_ts = verified.load()
    verified.execute(
        "UPDATE kinds SET tiny = 77", "DELETE FROM words", "INSERT INTO nobody VALUES (1)"
    )
    code, out, err = verified.verify()
    assert (code, err) == (0, ""), out
    assert f"kinds: {len(FAULTS) + 6} rows, equal" in out
    assert f"equal at R = {resolved_ts}" in out.splitlines()[-1]

    kind = sa.make_url(verified.target_url).get_backend_name()
    expected = set(FOUND_THERE)
    for number, (column, wrong) in enumerate(FAULTS.values(), 1):
        sql = wrong if isinstance(wrong, str) else wrong.get(kind, wrong[""])
        verified.spoil(f"UPDATE kinds SET {column} = {sql} WHERE id = {number}")  # noqa: S608
        columns = (column, "summed") if column in ("num", "tiny") else (column,)
        expected.add(("kinds", "differs", (("id", str(number)),), columns))
    one, other, gone, extra = (len(FAULTS) + n for n in range(1, 5))
    verified.spoil(
        *SPOILED,
        f"UPDATE kinds SET num = {one + other} - num WHERE id IN ({one}, {other})",  # noqa: S608
        f"DELETE FROM kinds WHERE id = {gone}",  # noqa: S608
        f"UPDATE kinds SET id = -1 WHERE id = {extra}",  # noqa: S608
    )
    for swapped in (one, other):
        expected.add(("kinds", "differs", (("id", str(swapped)),), ("num", "summed")))
    expected.add(("kinds", "missing", (("id", str(gone)),), ()))
    expected.add(("kinds", "missing", (("id", str(extra)),), ()))
    expected.add(("kinds", "extra", (("id", "-1"),), ()))
    assert verified.differences() == expected
