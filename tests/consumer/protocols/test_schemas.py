from dataclasses import replace

from ticdc_consumer.config.options import Settings
from ticdc_consumer.protocols.schemas import Schemas, key_of
from ticdc_encoder.sql.parser import parse_create_table

TABLE = replace(
    parse_create_table("CREATE TABLE t (id INT PRIMARY KEY)", "shop"), version=1, table_id=5
)
OPTIONS = Settings(changefeed="x", protocol="simple", topics=("t",), kafka={}, target_url="sqlite:")


def versions(schemas: Schemas) -> list[tuple[int | None, int | None]]:
    return [(table.version, table.table_id) for table in schemas.tables]


def test_the_tuple_for_jobs_is_the_same_until_a_schema_is_new() -> None:
    schemas = Schemas(OPTIONS, [TABLE])
    first = schemas.tables
    schemas.learn([replace(TABLE)])
    assert schemas.tables is first
    schemas.learn([replace(TABLE, table_id=6)])  # by TRUNCATE
    assert versions(schemas) == [(1, 6)]
    later = replace(TABLE, version=2)
    schemas.learn([later])
    assert versions(schemas) == [(1, 6), (2, 5)]
    schemas.keep({key_of(later): later})
    assert versions(schemas) == [(2, 5)]
