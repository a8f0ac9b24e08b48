"""What the upstream TiDB and the targets of MySQL's family share: sessions, the meaning of errors,
quoting, and columns in comparable form. Outside `targets` this is the only door to it."""

from ticdc_consumer.targets.mysql.errors import lost, number, translate
from ticdc_consumer.targets.mysql.quoting import string_literal
from ticdc_consumer.targets.mysql.read_back import TIDB_DIGEST, comparable
from ticdc_consumer.targets.mysql.session import connect, engine_of
from ticdc_consumer.targets.mysql.types import CatalogType

__all__ = [
    "TIDB_DIGEST",
    "CatalogType",
    "comparable",
    "connect",
    "engine_of",
    "lost",
    "number",
    "string_literal",
    "translate",
]
