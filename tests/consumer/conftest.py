"""A schema of the real TiDB."""

from collections.abc import Iterator

import pytest
from support.upstream_tidb import Upstream, upstream


@pytest.fixture
def tidb(tidb_url: str) -> Iterator[Upstream]:
    with upstream(tidb_url) as tidb:
        yield tidb
