from contextlib import closing

import sqlalchemy as sa
from support.loading import options
from ticdc_consumer.targets import open_target
from ticdc_consumer.testing.audit import ShopTables


def test_the_reader_connects_by_the_driver_that_the_target_has(postgresql_url: str) -> None:
    named = sa.make_url(postgresql_url).set(drivername="postgresql")
    url = named.render_as_string(hide_password=False)
    with closing(open_target(url)) as target:
        engine = ShopTables.of(options(url), target).engine
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT 1").scalar() == 1
    engine.dispose()
