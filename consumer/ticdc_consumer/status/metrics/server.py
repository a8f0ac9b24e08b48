"""The port that `[metrics] listen` names."""

import socket
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import MappingProxyType

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from ticdc_consumer.errors import Usage
from ticdc_consumer.status.activity.activity import Activity
from ticdc_consumer.status.metrics.health import unready
from ticdc_consumer.status.metrics.history import PageHistory
from ticdc_consumer.status.metrics.hosts import is_admitted
from ticdc_consumer.status.metrics.page import HEADERS, document

REQUEST_TIMEOUT = 10.0
"""Seconds that a client may be silent."""


class MetricsServer:
    """Answers until `close`. Raises `Usage` if it cannot listen on the address."""

    def __init__(
        self,
        listen: tuple[str, int],
        registry: CollectorRegistry,
        look: Callable[[], Activity],
        ready_lag: float,
    ) -> None:
        try:
            self._server = _Server(listen, registry, look, ready_lag)
        except OSError as error:
            raise Usage(
                f"metrics.listen: {listen[0]}:{listen[1]} cannot be listened on: {error.strerror}"
            ) from error
        self.port = int(self._server.server_address[1])
        Thread(target=self._server.serve_forever, name="ticdc-metrics", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(
        self,
        listen: tuple[str, int],
        registry: CollectorRegistry,
        look: Callable[[], Activity],
        ready_lag: float,
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in listen[0] else socket.AF_INET
        self.listen, self.registry, self._look, self._ready_lag = listen, registry, look, ready_lag
        self._history = PageHistory()
        super().__init__(listen, _Handler)

    def service_actions(self) -> None:
        """Takes samples; the server's loop calls this at least twice a second."""
        self._history.note(self._look)

    def reason(self) -> str | None:
        """The reason why `/readyz` answers no."""
        return unready(self._look(), self._ready_lag)

    def page(self) -> str:
        activity, history = self._look(), self._history
        return document(activity, history.samples, self._ready_lag, history.rates(activity))


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = REQUEST_TIMEOUT
    server_version = "ticdc-consumer"
    sys_version = ""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if path == "/metrics":
            encode, content_type = choose_encoder(self.headers.get("Accept", ""))
            self._answer(HTTPStatus.OK, encode(self.server.registry), content_type)
        elif path == "/healthz":
            self._say(HTTPStatus.OK, "ok")
        elif path == "/readyz":
            reason = self.server.reason()
            status = HTTPStatus.SERVICE_UNAVAILABLE if reason else HTTPStatus.OK
            self._say(status, reason or "ready")
        elif path == "/":
            self._show()
        else:
            self._say(HTTPStatus.NOT_FOUND, "there are /, /metrics, /healthz and /readyz")

    do_HEAD = do_GET

    def _show(self) -> None:
        listen = self.server.listen[0]
        if is_admitted(self.headers.get_all("Host", []), listen):
            page = self.server.page().encode()
            self._answer(HTTPStatus.OK, page, "text/html; charset=utf-8", HEADERS)
        else:
            hosts = " and ".join(dict.fromkeys(("localhost", listen)))
            text = f"the page answers to {hosts} and to IP addresses, not to this name"
            self._say(HTTPStatus.MISDIRECTED_REQUEST, text)

    def _say(self, status: HTTPStatus, text: str) -> None:
        self._answer(status, f"{text}\n".encode(), "text/plain; charset=utf-8")

    def _answer(
        self,
        status: HTTPStatus,
        body: bytes,
        content_type: str,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Logs nothing: a probe asks every few seconds."""
