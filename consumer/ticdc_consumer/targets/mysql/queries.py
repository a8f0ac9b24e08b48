"""Queries of views in the dialect of MySQL, MariaDB and TiDB."""

from ticdc_consumer.targets.mysql.quoting import string_literal
from ticdc_consumer.targets.schema.queries import QueryWords


class MySqlWords(QueryWords):
    def string(self, text: str) -> str:
        return string_literal(text)
