"""The contract of `Target`, over all databases that the tests have."""

import pytest
import sqlalchemy as sa
from targets.contract import TargetContract
from ticdc_consumer.targets import DATABASES


# TiDB: in targets/mysql/test_tidb.py.
@pytest.mark.parametrize("target_url", ["sqlite", "postgresql", "mariadb", "mysql"], indirect=True)
class TestEveryTarget(TargetContract):
    @pytest.fixture
    def url(self, target_url: str) -> str:
        return target_url

    @pytest.fixture(autouse=True)
    def _what_differs(self, request: pytest.FixtureRequest, url: str) -> None:
        request.instance.holds_nul = sa.make_url(url).get_backend_name() != "postgresql"


def test_each_database_of_the_registry_is_a_target(request: pytest.FixtureRequest) -> None:
    assert {"postgresql", "mysql", "mariadb", "tidb", "sqlite"} == DATABASES.keys()
