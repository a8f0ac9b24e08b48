"""A proxy before a server of the MySQL family, with the habits of ProxySQL or MaxScale.

It relays packets. A client greets a session of the server and gets the proxy's own number for it;
its login is replayed for each further session, so it must have no password.
"""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count

_EOF, _ERR, _OK = 0xFE, 0xFF, 0x00
_IN_TRANSACTION, _MORE_RESULTS = 0x01, 0x08
_QUIT, _QUERY = 0x01, 0x03
_TLS = 0x0800
_OKAY = b"\0\0\0\2\0\0\0"


@dataclass(frozen=True)
class Habits:
    """What a proxy does but relay, as the two document it.

    `shares`: a session of the server is anybody's outside a transaction. `splits`: a SELECT outside
    a transaction goes to a second session. `keeps_kill`: KILL is answered here. `comment`: what
    `select @@version_comment limit 1` is answered with.
    """

    shares: bool = False
    splits: bool = False
    keeps_kill: bool = False
    comment: str = ""


class _Wire:
    """Packets of a socket, with their headers."""

    def __init__(self, stream: socket.socket) -> None:
        self.stream = stream

    def read(self) -> bytes:
        header = self._exactly(4)
        return header + self._exactly(int.from_bytes(header[:3], "little"))

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.stream.recv(size - len(data))
            if not part:
                raise EOFError
            data += part
        return data


@dataclass
class _Session(_Wire):
    """One of the server."""

    stream: socket.socket
    greeting: bytes = b""
    in_transaction: bool = False

    def log_in(self, login: bytes) -> bytes:
        """The last answer to it, numbered as the first."""
        self.stream.sendall(login)
        answer = first = self.read()
        if first[4] == _EOF:  # another method is asked for, and none has a password
            self.stream.sendall(bytes([0, 0, 0, first[3] + 1]))
            answer = self.read()
        return answer[:3] + first[3:4] + answer[4:]

    def ask(self, packet: bytes) -> bytes:
        """The whole answer to a command."""
        self.stream.sendall(packet)
        answer, more = b"", True
        while more:
            first = self.read()
            answer += first
            last = first
            if first[4] not in (_OK, _ERR):
                for _ in range(2):  # the columns, then the rows
                    while True:
                        last = self.read()
                        answer += last
                        if last[4] == _ERR or (last[4] == _EOF and len(last) < 13):
                            break
            status = self._status(last)
            more = bool(status & _MORE_RESULTS)
        return answer

    def _status(self, packet: bytes) -> int:
        if packet[4] == _ERR:
            return 0
        start = 7 if packet[4] == _EOF else 4 + 1 + sum(_number(packet, 5))
        status: int = struct.unpack_from("<H", packet, start)[0]
        self.in_transaction = bool(status & _IN_TRANSACTION)
        return status


def _number(packet: bytes, start: int) -> tuple[int, int]:
    """How long the two numbers are that an OK begins with."""
    lengths = {0xFC: 3, 0xFD: 4, 0xFE: 9}
    first = lengths.get(packet[start], 1)
    return first, lengths.get(packet[start + first], 1)


@dataclass
class _Proxy:
    address: tuple[str, int]
    habits: Habits
    numbers: Iterator[int] = field(default_factory=lambda: count(1_000_000_000))
    free: list[_Session] = field(default_factory=list)

    def serve(self, client: socket.socket) -> None:
        own: list[_Session] = []
        with client, suppress(EOFError, OSError):
            self._relay(_Wire(client), own)
        for session in own:
            session.stream.close()

    def _relay(self, client: _Wire, own: list[_Session]) -> None:
        main = self._connected()
        own.append(main)
        client.stream.sendall(_greeting(main.greeting, next(self.numbers)))
        login = client.read()
        client.stream.sendall(main.log_in(login))
        reader = None
        if self.habits.splits:
            reader = self._connected()
            own.append(reader)
            reader.log_in(login)
        if self.habits.shares:
            self.free.append(own.pop())
        while True:
            command = client.read()
            if command[4] == _QUIT:
                return
            text = command[5:].decode("latin1") if command[4] == _QUERY else ""
            if (answer := self._own_answer(text)) is None:
                session = main
                if self.habits.shares and not own:
                    own.append(self._anybody(login))
                if self.habits.shares:
                    session = own[0]
                elif reader is not None and text[:6].upper() == "SELECT":
                    session = main if main.in_transaction else reader
                answer = session.ask(command)
                if self.habits.shares and not session.in_transaction:
                    self.free.append(own.pop())
            client.stream.sendall(answer)

    def _anybody(self, login: bytes) -> _Session:
        if self.free:
            return self.free.pop()
        session = self._connected()
        session.log_in(login)
        return session

    def _connected(self) -> _Session:
        session = _Session(socket.create_connection(self.address))
        session.greeting = session.read()
        return session

    def _own_answer(self, text: str) -> bytes | None:
        if self.habits.keeps_kill and text.upper().startswith("KILL"):
            return _packets(_OKAY)
        if self.habits.comment and text == "select @@version_comment limit 1":
            return _packets(*_one_text("@@version_comment", self.habits.comment))
        return None


def _greeting(of_server: bytes, number: int) -> bytes:
    """With a number of the proxy's own for the session, and without TLS."""
    greeting = bytearray(of_server)
    start = greeting.index(0, 5) + 1
    struct.pack_into("<I", greeting, start, number)
    greeting[start + 14] &= ~(_TLS >> 8)
    return bytes(greeting)


def _packets(*contents: bytes) -> bytes:
    return b"".join(
        len(content).to_bytes(3, "little") + bytes([number]) + content
        for number, content in enumerate(contents, 1)
    )


def _one_text(name: str, value: str) -> Iterator[bytes]:
    """A result of one row and column."""
    end = b"\xfe\0\0\2\0"
    texts = [_text(text) for text in ("def", "", "", "", name, "")]
    yield b"\1"
    yield b"".join(texts) + b"\x0c" + struct.pack("<HIBHBxx", 45, 255, 253, 0, 0)
    yield end
    yield _text(value)
    yield end


def _text(text: str) -> bytes:
    return bytes([len(text)]) + text.encode()


@contextmanager
def mysql_proxy(host: str, port: int, habits: Habits) -> Iterator[int]:
    """Its port, while it runs."""
    proxy = _Proxy((host, port), habits)
    clients: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def accept() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            clients.append(client)
            threads.append(threading.Thread(target=proxy.serve, args=(client,)))
            threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        accepting = threading.Thread(target=accept)
        accepting.start()
        try:
            yield listener.getsockname()[1]
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for client in clients:
                with suppress(OSError):
                    client.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
            for session in proxy.free:
                session.stream.close()
