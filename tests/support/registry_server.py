"""A schema registry over HTTP, as much of it as a consumer asks: tasks run in other processes."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from uuid import uuid4

from ticdc_encoder.formats.registry import SchemaId


@contextmanager
def served(schemas: Mapping[SchemaId, str], user: str | None = None) -> Iterator[str]:
    """The URL of a registry that has the schemas; for `user`, who is `name:password` in base64,
    alone if there is one.

    No other registry ever has this URL, not even on the same port: decoders keep what they have
    read of a registry as long as their process lives, by its URL."""
    name = uuid4().hex

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, _ = self.path.partition("?")
            number = path.rpartition("/")[2]
            if user is not None and self.headers.get("Authorization") != f"Basic {user}":
                self._answer(401, {"error_code": 401, "message": "who are you?"})
            elif path == f"/{name}/schemas/ids/{number}" and (id := int(number)) in schemas:
                self._answer(200, {"schema": schemas[id]})
            else:
                self._answer(404, {"error_code": 40403, "message": "Schema not found"})

        def _answer(self, code: int, members: Mapping[str, object]) -> None:
            body = json.dumps(members).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Tests say what they have to say themselves."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/{name}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
