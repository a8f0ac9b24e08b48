"""A database of another distribution: one entry point, and it is a target, in Spark's tasks too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sa
from support.storage_sink import Sink
from support.torture_topics import deleted, inserted, ts, updated
from ticdc_consumer.errors import Usage
from ticdc_consumer.targets import database, encoders, mapping_rules, open_target
from ticdc_encoder.event import Row

PACKAGE = {
    "toy_database/__init__.py": """
from ticdc_consumer.targets import Database
DATABASE = Database("toy_database")
""",
    "toy_database/session.py": """
from ticdc_consumer.targets.sqlite.session import SQLite

class Toy(SQLite):
    dialect = "toy"

def open_session(url, to_look=False):
    return Toy.open(url)
""",
    "toy_database/encode.py": """
from ticdc_consumer.targets.sqlite import encode
encode_rows = encode.encode_rows

def encode_keys(layout, arrays):
    assert layout.dialect == "toy"
    return encode.encode_keys(layout, arrays)
""",
    "toy_database/types.py": "RULES = frozenset({'toy-rule'})",
}
REGISTRATION = {
    "toy_database-1.0.dist-info/METADATA": (
        "Metadata-Version: 2.1\nName: toy-database\nVersion: 1.0\n"
    ),
    "toy_database-1.0.dist-info/entry_points.txt": (
        "[ticdc_consumer.targets]\ntoy = toy_database:DATABASE\n"
    ),
}


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A folder with the distribution, as pip installs it."""
    folder = tmp_path / "plugins"
    for name, content in {**PACKAGE, **REGISTRATION}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


@pytest.fixture
def installed(plugins: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(plugins))


@pytest.mark.usefixtures("installed")
def test_an_installed_database_is_found_by_its_scheme(tmp_path: Path) -> None:
    assert encoders("toy")[0] == database("toy").encoders()[0]
    assert "toy-rule" in mapping_rules()
    target = open_target(f"toy:///{tmp_path}/toy.db")
    assert type(target).__name__ == "Toy"
    target.close()
    with pytest.raises(Usage, match=r"which is not one of postgresql, .*, sqlite, toy$"):
        open_target("oracle://h/db")


def test_a_database_that_is_not_installed_is_refused() -> None:
    with pytest.raises(Usage, match=r"names toy, which is not one of postgresql, .*, sqlite$"):
        open_target("toy:///toy.db")


@pytest.mark.slow
def test_an_installed_database_is_a_target_from_end_to_end(plugins: Path, tmp_path: Path) -> None:
    sink = Sink(tmp_path / "sink")
    sink.create(10)
    one: Row = {"id": 1, "name": "one"}
    two: Row = {"id": 2, "name": "two"}
    sink.send(inserted(20, one), inserted(30, two))
    sink.send(updated(40, one, {"id": 1, "name": "uno"}), deleted(50, two))
    sink.mark(100)
    file = tmp_path / "toy.db"
    settings = {
        "changefeed": "toy",
        "protocol": "csv",
        "target.url": f"toy:///{file}",
        "storage.url": sink.folder.as_uri(),
        "storage.csv": "{include-commit-ts = true}",
    }
    configuration = tmp_path / "changefeed.toml"
    configuration.write_text("")
    run = subprocess.run(
        [
            *(
                sys.executable,
                "-c",
                "import sys; from ticdc_consumer.cli import main; sys.exit(main())",
            ),
            *("run", str(configuration), "--until", "caught-up"),
            *(part for name, value in settings.items() for part in ("--set", f"{name}={value}")),
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(plugins), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    engine = sa.create_engine(f"sqlite:///{file}", poolclass=sa.NullPool)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("SELECT id, name FROM items").all()
        reached = connection.exec_driver_sql("SELECT resolved_ts FROM ticdc_checkpoint").scalar()
    assert [tuple(row) for row in rows] == [(1, "uno")]
    assert int(str(reached)) == ts(100)
