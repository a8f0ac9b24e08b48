"""What an encoding of PostgreSQL can hold, as the server itself converts."""

import pytest
import sqlalchemy as sa
from ticdc_consumer.targets.postgresql.encodings import ENCODINGS, has

_CONVERTS = """
CREATE FUNCTION pg_temp.converts(code int, encoding text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    PERFORM convert_to(chr(code), encoding);
    RETURN true;
EXCEPTION WHEN untranslatable_character THEN
    RETURN false;
END $$
"""


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_encoding_of_postgresql_has_the_characters_of_pythons(
    postgresql_url: str, encoding: str, long: bool
) -> None:
    last = 0x10FFFF if long else 0x33FF
    with sa.create_engine(postgresql_url, poolclass=sa.NullPool).connect() as connection:
        connection.exec_driver_sql(_CONVERTS)
        converted = connection.exec_driver_sql(
            "SELECT code FROM generate_series(1, %s) code "
            "WHERE code NOT BETWEEN 55296 AND 57343 AND pg_temp.converts(code, %s)",
            (last, encoding),
        )
        codes = {code for (code,) in converted}
    surrogates = range(0xD800, 0xE000)
    assert codes == {
        code for code in range(1, last + 1) if code not in surrogates and has(encoding, chr(code))
    }
