"""What `import ticdc_consumer` offers, and what it loads."""

import subprocess
import sys
from importlib.metadata import version

import pytest
import ticdc_consumer
from ticdc_consumer import config, errors
from ticdc_consumer.consumer import Consumer

HEAVY = ("pyspark", "py4j", "ticdc_consumer.consumer", "ticdc_consumer.source")


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


def test_status_of_another_database_loads_nothing_of_mysql() -> None:
    loaded = loaded_after("import ticdc_consumer.status")
    assert "sqlalchemy" in loaded
    assert "sqlalchemy.dialects.mysql" not in loaded


def test_an_error_is_caught_without_loading_spark() -> None:
    assert set(loaded_after("from ticdc_consumer import Stop, Settings")).isdisjoint(HEAVY)
