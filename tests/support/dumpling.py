"""Dumps of the real TiDB, as its own Dumpling writes them."""

import subprocess
from pathlib import Path

import sqlalchemy as sa

from support.server_address import server_address
from support.upstream_tidb import Upstream


def dump(tidb: Upstream, folder: Path, *options: str) -> int:
    """Writes a dump of the TiDB's schema into a new folder; the timestamp that it is of."""
    server = sa.make_url(tidb.url)
    subprocess.run(
        [
            server_address("DUMPLING"),
            *("--host", str(server.host), "--port", str(server.port), "--user", "root"),
            *("--filter", f"{tidb.schema}.*", "--output", str(folder), "--status-addr", ""),
            *options,
        ],
        check=True,
        capture_output=True,
    )
    (position,) = [
        line.partition("Pos: ")[2]
        for line in (folder / "metadata").read_text().splitlines()
        if "Pos: " in line
    ]
    return int(position)
