"""A database server for one test alone, which it may kill."""

import os
import re
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVICES = Path(__file__).parents[1] / "services" / "services"


class OwnServer:
    """One of those that `tests/services/services` starts."""

    def __init__(self, name: str, folder: Path) -> None:
        folder.mkdir()
        self.name, self._folder = name, folder

    def __call__(self, action: str) -> None:
        """`up`, `kill` (which is kill -9) or `wipe`."""
        subprocess.run(
            [SERVICES, action, self.name],
            check=True,
            env={
                **os.environ,
                "SERVICES_DIR": str(self._folder),
                "BUFFER_POOL": "128M",
                "REDO_LOG": "16M",
            },
            stdout=subprocess.DEVNULL,
        )

    @property
    def url(self) -> str:
        found = re.search(r"_URL='(\S+)'", (self._folder / "env").read_text())
        assert found
        return found[1]

    def hold_ddl(self) -> None:
        """From here on TiDB queues every DDL and runs none, as in a rolling upgrade."""
        self._upgrade("start")

    def let_ddl_go(self) -> None:
        self._upgrade("finish")

    def _upgrade(self, what: str) -> None:
        port = (self._folder / "tidb" / "status.port").read_text().strip()
        url = f"http://127.0.0.1:{port}/upgrade/{what}"
        with urllib.request.urlopen(urllib.request.Request(url, method="POST")) as answer:
            assert answer.status == 200


@contextmanager
def own_server(name: str) -> Iterator[OwnServer]:
    """It is up. Where a server of this kind is, another one may be had."""
    # Not pytest's own temporary folder: a socket's path may be 107 bytes long.
    with tempfile.TemporaryDirectory(prefix="own-") as folder:
        Path(folder).chmod(0o755)  # the server may run as a user of its own
        server = OwnServer(name, Path(folder) / "services")
        try:
            server("up")
            yield server
        finally:
            server("wipe")
