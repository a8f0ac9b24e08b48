"""Encodings of a database that lack characters."""

_ISO = (1, 2, 3, 4, 9, 10, 13, 14, 15, 16)
"""The parts of ISO 8859 that PostgreSQL calls LATIN1 to LATIN10."""

ENCODINGS = {
    **{f"LATIN{number}": f"iso8859-{part}" for number, part in enumerate(_ISO, 1)},
    **{f"ISO_8859_{part}": f"iso8859-{part}" for part in range(5, 9)},
    **{f"WIN{page}": f"cp{page}" for page in (866, 874, *range(1250, 1259))},
    "KOI8R": "koi8-r",
    "KOI8U": "koi8-u",
}
"""Encodings of one byte -> Python's with exactly the same characters. Only the server knows the
characters of others; SQL_ASCII takes any bytes."""


def has(encoding: str, text: str) -> bool:
    try:
        text.encode(ENCODINGS[encoding])
    except UnicodeEncodeError:
        return False
    return True
