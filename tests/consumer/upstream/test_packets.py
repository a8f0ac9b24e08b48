"""Packets of the MySQL protocol, byte by byte, become columns; what is damaged becomes none."""

import io
from types import SimpleNamespace
from typing import Any

import pymysql  # type: ignore[import-untyped]
import pytest
import sqlalchemy as sa
from ticdc_consumer.errors import Stop
from ticdc_consumer.upstream import packets
from ticdc_consumer.upstream.packets import RowPackets
from ticdc_consumer.upstream.session import reading

END = b"\xfe\x00\x00\x02\x00"
LONG = b"x" * 300


class Connection:
    """As PyMySQL's is after the names of the columns, of which the last packet was number 4."""

    def __init__(self, sent: bytes, columns: int) -> None:
        self._rfile = io.BufferedReader(io.BytesIO(sent))
        self._result = SimpleNamespace(field_count=columns, unbuffered_active=True, connection=self)
        self._next_seq_id = 5
        self.closed = False

    def _force_close(self) -> None:
        self.closed = True


def sent(*payloads: bytes, first: int = 5, largest: int = packets.LARGEST) -> bytes:
    """The packets, as the server sends them."""
    parts = list[bytes]()
    for payload in payloads:
        while len(payload) >= largest:
            parts.append(payload[:largest])
            payload = payload[largest:]
        parts.append(payload)
    return b"".join(
        len(part).to_bytes(3, "little") + bytes([(first + n) & 0xFF]) + part
        for n, part in enumerate(parts)
    )


def read(connection: Connection, rows: int = 2) -> list[list[Any]]:
    found = RowPackets(connection).batches(rows)
    return [[value.as_py() for value in row] for batch in found for row in zip(*batch, strict=True)]


ROWS = [
    ("no row", [], []),
    ("one row", [b"\x011\x02ab"], [[b"1", b"ab"]]),
    ("NULL and an empty value", [b"\xfb\x00", b"\x00\xfb"], [[None, b""], [b"", None]]),
    (
        "a length of two bytes, of three, of eight",
        [
            b"\xfc\x2c\x01" + LONG + b"\x011",
            b"\x012\xfd\x2c\x01\x00" + LONG,
            b"\x013\xfe\x2c\x01\0\0\0\0\0\0" + LONG,
        ],
        [[LONG, b"1"], [b"2", LONG], [b"3", LONG]],
    ),
    ("250 bytes", [b"\xfa" + b"y" * 250 + b"\xfb"], [[b"y" * 250, None]]),
    ("bytes of any value", [b"\x02\xfe\xff\x01\xfb"], [[b"\xfe\xff", b"\xfb"]]),
    ("more rows than are counted", [b"\x00\x00"] * 300, [[b"", b""]] * 300),
]


@pytest.mark.parametrize(("payloads", "rows"), [r[1:] for r in ROWS], ids=[r[0] for r in ROWS])
def test_a_row_has_its_values(payloads: list[bytes], rows: list[list[Any]]) -> None:
    connection = Connection(sent(*payloads, END), 2)
    assert read(connection) == rows
    assert not connection.closed


def test_a_row_may_take_more_than_one_packet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packets, "LARGEST", 100)
    payloads = [b"\x011\x00", b"\xfc\x2c\x01" + LONG + b"\x012", b"\x60" + b"z" * 96 + b"\x013"]
    payloads += [b"\x60" + b"z" * 96 + b"\x0244", b"\x015\xfb"]
    connection = Connection(sent(*payloads, END, largest=100), 2)
    assert read(connection, rows=10) == [
        [b"1", b""],
        [LONG, b"2"],
        [b"z" * 96, b"3"],
        [b"z" * 96, b"44"],
        [b"5", None],
    ]


def test_a_batch_keeps_to_its_rows_and_its_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packets, "BATCH", 20)
    found = RowPackets(Connection(sent(*[b"\x04abcd"] * 5, b"\x00", END), 1)).batches(2)
    assert [len(values) for (values,) in found] == [2, 2, 2]
    found = RowPackets(Connection(sent(*[b"\x04abcd"] * 5, b"\x00", END), 1)).batches(9)
    assert [len(values) for (values,) in found] == [3, 3]


ERROR = b"\xff\x28\x05#HY000lost"
DAMAGED = [
    ("a value that ends behind its row", sent(b"\x05ab", END), "longer than its row"),
    ("a length of 0xff", sent(b"\x00\xff" + b"x" * 255, END), "longer than its row"),
    ("a negative length", sent(b"\x00\xfe" + b"\xff" * 8, END), "longer than its row"),
    ("half a length", sent(b"\x00\xfd\x01", END), "cut off"),
    ("a value too few", sent(b"\x011", END), "fewer values"),
    ("a value too many", sent(b"\x011\x012\x013", END), "more values"),
    ("a packet that is missing", sent(b"\x00\x00") + sent(END, first=7), "out of order"),
    ("an unknown packet", sent(b"\xfe" * 9), "neither a row nor the end"),
    ("an error", sent(b"\x00\x00", ERROR), "lost"),
    ("no end", sent(b"\x00\x00"), "closed"),
    ("half a packet", sent(b"\x00\x00", END)[:-3], "closed"),
]


@pytest.mark.parametrize(("data", "words"), [d[1:] for d in DAMAGED], ids=[d[0] for d in DAMAGED])
def test_what_is_damaged_is_an_error_and_closes_the_connection(data: bytes, words: str) -> None:
    connection = Connection(data, 2)
    with pytest.raises(pymysql.err.MySQLError, match=words):
        read(connection)
    assert connection.closed


def test_who_leaves_the_rest_has_the_connection_closed() -> None:
    connection = Connection(sent(b"\x011", b"\x012", END), 1)
    for _ in RowPackets(connection).batches(1):
        break
    assert connection.closed


def test_a_pymysql_with_another_inside_is_refused_by_name() -> None:
    connection = Connection(sent(END), 1)
    del connection._next_seq_id
    with pytest.raises(Stop, match=r"PyMySQL \d.* has no _next_seq_id, by which"):
        RowPackets(connection)


FULL = packets.LARGEST - 8
"""Characters of a value whose row just fills a packet, so that an empty one follows."""


@pytest.mark.parametrize("tls", [False, True])
def test_a_servers_large_rows_are_read_whole(mysql_url: str, tls: bool) -> None:
    url = sa.make_url(mysql_url)
    if tls:
        url = url.difference_update_query(["ssl_disabled"])
        url = url.update_query_dict({"ssl_check_hostname": "false"})
    statement = "SELECT 1, REPEAT('x', %s), 2 UNION ALL SELECT 3, 'y', NULL"
    with reading(url.render_as_string(hide_password=False)) as session:
        ((_, cipher),) = session.query("SHOW STATUS LIKE 'Ssl_cipher'")
        assert bool(cipher) is tls
        for size in (FULL - 1, FULL, FULL + 1, 2 * packets.LARGEST):
            columns = [*session.columns(statement, (str(size),), 10)]
            rows = [row for batch in columns for row in zip(*map(list, batch), strict=True)]
            found = sorted((a.as_py(), len(b.as_py()), c.as_py()) for a, b, c in rows)
            assert found == [(b"1", size, b"2"), (b"3", 1, None)]
