"""What a case happens in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support import brokers
from support.advice import Case, Scene
from support.databases import fresh_database
from support.local_spark import LocalSpark
from support.server_address import server_address
from support.torture_cli import Command, commands
from support.torture_topics import Feed
from support.upstream_tidb import upstream


@pytest.fixture
def scene(
    case: Case,
    server: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> Iterator[Scene]:
    """A schema of the real TiDB without tables, its topic, and an empty database as the target."""
    url: str = request.getfixturevalue(f"{server}_url")
    commands(LocalSpark(2), monkeypatch)
    with fresh_database(server_address("TIDB_URL")) as tidb_url, upstream(tidb_url) as tidb:
        kafka: brokers.Kafka = request.getfixturevalue(f"{case.kafka}_kafka")
        feed = Feed(kafka, case.protocol, **case.format)
        settings = {
            "source__upstream": tidb.url,
            "tables__route": '{"*.*" = "{target}.{table}"}',
            "tables__filter": "{schema}.*",
            **case.settings,
        }
        scene = Scene(tidb, feed, Command([feed], url, tmp_path, capsys))
        scene.set(**{name: value for name, value in settings.items() if value is not None})
        try:
            yield scene
        finally:
            scene.ends_run()
            scene.until_end.close()
            scene.target(*scene.leaves)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each of a module's CASES, on the servers that it names."""
    if "scene" in metafunc.fixturenames:
        cases: list[Case] = metafunc.module.CASES
        pairs = [(case, server) for case in cases for server in case.on]
        ids = [f"{case}-{server}" for case, server in pairs]
        metafunc.parametrize(("case", "server"), pairs, ids=ids)
