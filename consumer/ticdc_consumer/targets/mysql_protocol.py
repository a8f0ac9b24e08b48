"""The code that the upstream TiDB and targets of the MySQL family share: sessions, the meaning of
errors, quoting, comparable columns. Modules outside `targets` use it only through this one."""

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
