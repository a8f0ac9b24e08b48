"""Public bugs in what consumers make of one message's values, and a line that has each.

The message is Canal-JSON as TiCDC writes it. `naive` is given the texts of `data` and `old`, and
returns the value of the column `v` as those of the issue did.
"""

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from typing import Any

Texts = Mapping[str, str | None]


@dataclass(frozen=True)
class Misread:
    """`right` is what TiDB holds in `v`: in the row after, or in the row before if `old` is
    given."""

    name: str
    issues: tuple[str, ...]
    others: str
    here: str
    type: str
    data: Texts
    naive: Callable[[Texts, Texts], object]
    right: object
    old: Texts = field(default_factory=dict)
    of_before: bool = False

    def message(self) -> bytes:
        types = {"id": "int", "v": self.type, "w": "int"}
        body: dict[str, Any] = {
            "id": 0,
            "database": "w",
            "table": "t",
            "pkNames": ["id"],
            "isDdl": False,
            "type": "UPDATE" if self.old else "INSERT",
            "es": 1,
            "ts": 1,
            "sql": "",
            "sqlType": dict.fromkeys(types, 12),
            "mysqlType": types,
            "data": [{"id": "1", **self.data}],
            "old": [self.old] if self.old else None,
            "_tidb": {"commitTs": 429918007904436226},
        }
        return json.dumps(body).encode()


def _signed(data: Texts, old: Texts) -> object:
    return struct.unpack("q", struct.pack("Q", int(data["v"] or 0)))[0]


def _double(data: Texts, old: Texts) -> object:
    return float(data["v"] or 0)


def _single(data: Texts, old: Texts) -> object:
    return struct.unpack("f", struct.pack("f", float(data["v"] or 0)))[0]


def _of_28_digits(data: Texts, old: Texts) -> object:
    exact = Context(prec=28, traps=[InvalidOperation])
    try:
        return Decimal(data["v"] or 0).quantize(Decimal("0.01"), context=exact)
    except InvalidOperation:
        return "skipped"


def _of_shanghai(data: Texts, old: Texts) -> object:
    return str(datetime.fromisoformat(data["v"] or "") + timedelta(hours=8))


def _digits_as_microseconds(data: Texts, old: Texts) -> object:
    text, _, digits = (data["v"] or "").partition(".")
    return str(datetime.fromisoformat(text) + timedelta(microseconds=int(digits)))


def _before_by_what_is_not_null(data: Texts, old: Texts) -> object:
    return data["v"] if old.get("v") is None else old["v"]


def _before_of_all_columns(data: Texts, old: Texts) -> object:
    return old["v"] if old.keys() >= data.keys() else "missing field"


def _as_utf_8(data: Texts, old: Texts) -> object:
    return (data["v"] or "").encode()


def _default_for_null(data: Texts, old: Texts) -> object:
    return "the default" if data["v"] is None else data["v"]


def _all_or_nothing(data: Texts, old: Texts) -> object:
    return None if None in data.values() else data["v"]


GITHUB = "https://github.com/"
MISREAD = (
    Misread(
        "an unsigned number as a signed one",
        (f"{GITHUB}apache/flink-cdc/issues/798",),
        "BIGINT UNSIGNED above 2^63 becomes negative.",
        "Integers are exact up to 2^64. A target's type that cannot hold them is refused.",
        "bigint unsigned",
        {"v": "18446744073709551615"},
        _signed,
        18446744073709551615,
    ),
    Misread(
        "a BIGINT as a double",
        (f"{GITHUB}pingcap/tiflow/issues/12064", f"{GITHUB}pingcap/ticdc/issues/6253"),
        "Integers above 2^53 are rounded.",
        "No number passes through a double. A protocol or setting that does this is refused at "
        "the start.",
        "bigint",
        {"v": "9007199254740993"},
        _double,
        9007199254740993,
    ),
    Misread(
        "a DECIMAL as a double",
        (f"{GITHUB}pingcap/tidb/issues/64864",),
        "Amounts lose their last digits.",
        "DECIMAL keeps all its digits.",
        "decimal(20,4)",
        {"v": "1234567890123456.7891"},
        _double,
        Decimal("1234567890123456.7891"),
    ),
    Misread(
        "a DECIMAL of more than 28 digits",
        (f"{GITHUB}risingwavelabs/risingwave/issues/9825",),
        "The type holds 28 digits. The consumer skips the message with a warning.",
        "DECIMAL is exact up to 65 digits. A target's type that cannot hold a value is refused.",
        "decimal(30,0)",
        {"v": "500200018488202212160072697856"},
        _of_28_digits,
        Decimal("500200018488202212160072697856"),
    ),
    Misread(
        "a FLOAT with a double's digits",
        (f"{GITHUB}pingcap/tiflow/issues/8490",),
        "123.99 becomes 123.98999786376953.",
        "A FLOAT has the digits that TiDB shows.",
        "float",
        {"v": "123.99"},
        _single,
        123.99,
    ),
    Misread(
        "a DATETIME moved by a time zone",
        (f"{GITHUB}apache/flink-cdc/issues/457",),
        "A DATETIME, which has no time zone, arrives eight hours later.",
        "Only TIMESTAMP has a time zone, `[source] time_zone`.",
        "datetime",
        {"v": "2019-03-16 11:28:27"},
        _of_shanghai,
        "2019-03-16 11:28:27",
    ),
    Misread(
        "three digits of a second as microseconds",
        (f"{GITHUB}brianmario/mysql2/issues/520",),
        "The .120 of a DATETIME(3) becomes .000120.",
        "Digits after the second are a fraction, whatever their number.",
        "datetime(3)",
        {"v": "2014-06-26 12:22:57.120"},
        _digits_as_microseconds,
        "2014-06-26 12:22:57.120",
    ),
    Misread(
        "NULL in the old row taken for unchanged",
        (f"{GITHUB}apache/flink/pull/14693",),
        "In the old row, a column that was NULL gets its new value. The DELETE of that row finds "
        "nothing.",
        "A value in `old` is the old value, also if it is NULL. Only an absent column is "
        "unchanged.",
        "varchar(9)",
        {"v": "x", "w": "1"},
        _before_by_what_is_not_null,
        None,
        old={"v": None},
        of_before=True,
    ),
    Misread(
        "an old row with only the changed columns",
        (f"{GITHUB}apache/inlong/issues/6311",),
        "The job fails if `old` lacks a column.",
        "`old` may have all columns or only some.",
        "varchar(9)",
        {"v": "y", "w": "1"},
        _before_of_all_columns,
        "x",
        old={"v": "x"},
        of_before=True,
    ),
    Misread(
        "a BLOB as UTF-8",
        (f"{GITHUB}pingcap/tiflow/issues/11771",),
        "Canal-JSON writes each byte as the character with its number. UTF-8 turns those above "
        "127 into two bytes.",
        "The column's type decides: bytes stay bytes.",
        "blob",
        {"v": "\xff\x00"},
        _as_utf_8,
        b"\xff\x00",
    ),
    Misread(
        "the default in place of NULL",
        (f"{GITHUB}confluentinc/kafka-connect-jdbc/pull/1433",),
        "A column with a default cannot become NULL in the target.",
        "NULL stays NULL: the statement names every column of the row.",
        "varchar(9)",
        {"v": None},
        _default_for_null,
        None,
    ),
    Misread(
        "one NULL makes the whole row NULL",
        (f"{GITHUB}DTStack/chunjun/issues/303",),
        "If one column of `data` is NULL, all are read as NULL.",
        "Each column is read by itself.",
        "varchar(9)",
        {"v": "x", "w": None},
        _all_or_nothing,
        "x",
    ),
)
