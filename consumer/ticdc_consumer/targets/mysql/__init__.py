"""MySQL, MariaDB and TiDB: one family, its differences in `dialects`."""

from ticdc_consumer.targets.mysql.encode import encode_keys, encode_rows
from ticdc_consumer.targets.mysql.session import TARGETS
from ticdc_consumer.targets.mysql.session import open_session as open

__all__ = ["TARGETS", "encode_keys", "encode_rows", "open"]
