"""What `import ticdc_consumer` offers, and what it loads."""

import subprocess
import sys
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

import pytest
import ticdc_consumer
from ticdc_consumer import config, errors
from ticdc_consumer.commands.run import Consumer
from ticdc_consumer.state.checkpoint import Checkpoint, Position
from ticdc_consumer.state.store import Store
from ticdc_consumer.targets import open_target

HEAVY = ("pyspark", "py4j", "ticdc_consumer.commands.run", "ticdc_consumer.source")


NO_ROWS = ("pyspark", "pyarrow", "numpy", "sqlglot", "psycopg", "pymysql")
"""What a command that reads no rows and no SQL does without."""
NO_TARGET = (*NO_ROWS, "sqlalchemy", "confluent_kafka")
COMMANDS = {
    "the help": (["--help"], (*NO_TARGET, "importlib.metadata", "ticdc_consumer.config.options")),
    "the help of a command": (["status", "--help"], (*NO_TARGET, "ticdc_encoder.event")),
    "the settings": (["settings"], (*NO_TARGET, "msgspec")),
    "status": (["status", "orders.toml"], NO_ROWS),
    "why": (["why", "orders.toml"], NO_ROWS),
    "list": (["list", "orders.toml"], NO_ROWS),
}
SETTINGS = """
changefeed = "orders"
protocol = "canal-json"
target.url = "sqlite:///orders.db"
storage.url = "log"
"""


def loaded_after(statement: str) -> list[str]:
    """The modules that a new process has loaded after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return process.stdout.split()


def test_every_name_of_the_face_is_there() -> None:
    assert len(ticdc_consumer.__all__) > 8
    for name in ticdc_consumer.__all__:
        assert getattr(ticdc_consumer, name) is not None
    assert set(ticdc_consumer.__all__) <= set(dir(ticdc_consumer))
    assert ticdc_consumer.__version__ == version("ticdc-consumer")


def test_the_names_are_those_of_their_modules() -> None:
    assert ticdc_consumer.Consumer is Consumer
    assert ticdc_consumer.Settings is config.Settings
    assert ticdc_consumer.Stop is errors.Stop


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Consumers'"):
        _ = ticdc_consumer.Consumers  # type: ignore[attr-defined]


def test_importing_the_package_loads_no_client() -> None:
    loaded = loaded_after("import ticdc_consumer")
    ours = {name for name in loaded if name.startswith(("ticdc_", "pyspark", "sqlalchemy"))}
    assert ours == {"ticdc_consumer"}
    assert "confluent_kafka" not in loaded


def test_the_command_line_s_help_waits_for_no_client() -> None:
    help_ = "from ticdc_consumer.cli.arguments import parser; parser().format_help()"
    loaded = loaded_after(f"import ticdc_consumer.cli; {help_}")
    assert set(loaded).isdisjoint({*HEAVY, "sqlalchemy", "pyarrow", "confluent_kafka"})


@pytest.mark.parametrize(("arguments", "absent"), COMMANDS.values(), ids=COMMANDS)
def test_a_command_loads_only_what_it_needs(
    arguments: list[str], absent: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log").mkdir()
    Path("orders.toml").write_text(SETTINGS)
    settings = config.Settings.read("orders.toml", environ={})
    with closing(open_target(settings.target_url)) as target:
        store = Store(target, settings.changefeed)
        store.start(1.0)
        position = Position("log", "", 0, 7)
        store.begin_first(Checkpoint.first(settings, 429918007904436226, {("log", 0): position}))
    loaded = loaded_after(
        "from contextlib import suppress; from ticdc_consumer.cli import main\n"
        f"with suppress(SystemExit): assert main({arguments!r}) == 0"
    )
    assert "argparse" in loaded
    assert set(loaded) & set(absent) == set()


def test_status_of_another_database_loads_nothing_of_mysql() -> None:
    loaded = loaded_after("import ticdc_consumer.status.diagnosis, ticdc_consumer.status.text")
    assert "sqlalchemy" in loaded
    assert "sqlalchemy.dialects.mysql" not in loaded


def test_an_error_is_caught_without_loading_spark() -> None:
    assert set(loaded_after("from ticdc_consumer import Stop, Settings")).isdisjoint(HEAVY)
