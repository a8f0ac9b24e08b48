"""How a URL becomes a target, without any server."""

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest
from ticdc_consumer.errors import Usage
from ticdc_consumer.targets import DATABASES, Database, encoders, mapping_rules, open_target

FILES = (
    *("alter", "bulk", "catalog", "create", "encode", "errors"),
    *("fence", "quoting", "read_back", "session", "types"),
)

REFUSED = [
    ("nonsense", "not a SQLAlchemy URL such as"),
    ("oracle://h/db", "names oracle, which is not one of postgresql, mysql, mariadb, tidb, sqlite"),
    ("mysql://h", r"names no database; write it like mysql\+pymysql://user@host/db"),
    ("tidb://h", r"names no database; write it like tidb\+pymysql://user@host/db"),
    ("sqlite://", "names no file; write it like sqlite:////data/shop.db"),
    ("sqlite:///:memory:", "names no file"),
]


@pytest.mark.parametrize(("url", "message"), REFUSED)
def test_a_url_that_names_no_target_is_refused(url: str, message: str) -> None:
    with pytest.raises(Usage, match=message):
        open_target(url)


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATABASES, "postgresql", Database("no_such_package", "some[extra]"))
    message = r"the driver for postgresql is not installed \(no_such_package\): pip install some\[e"
    with pytest.raises(Usage, match=message):
        open_target("postgresql://h/db")


@pytest.mark.parametrize("package", sorted({each.package for each in DATABASES.values()}))
def test_each_database_has_the_same_files(package: str) -> None:
    assert [name for name in FILES if find_spec(f"{package}.{name}") is None] == []


def test_the_rules_are_those_of_all_databases() -> None:
    of_each = [import_module(f"{each.package}.types").RULES for each in DATABASES.values()]
    assert mapping_rules() == frozenset().union(*of_each)


@pytest.mark.parametrize("name", DATABASES)
def test_tasks_encode_without_a_driver(name: str) -> None:
    program = f"""
import sys
sys.modules.update(dict.fromkeys(("pymysql", "psycopg")))
from ticdc_consumer.targets import encoders
assert len(encoders({name!r})) == 2
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_servers_of_one_family_share_their_encoders() -> None:
    assert encoders("mysql") == encoders("mariadb") == encoders("tidb")


def test_a_database_that_cannot_be_read_back_is_named() -> None:
    with pytest.raises(Usage, match="schema cannot read its rows back"):
        Database("ticdc_consumer.targets.schema").read_back()
