"""Types of the command line's arguments; each raises `ArgumentTypeError`."""

import argparse
from datetime import UTC, datetime
from typing import Literal

from ticdc_encoder.tso import compose


def until(text: str) -> Literal["caught-up"] | int:
    if text == "caught-up":
        return "caught-up"
    return timestamp(text)


def timestamp(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 64:
        raise argparse.ArgumentTypeError(f"{text!r} is not a timestamp (TSO)")
    return int(text)


def moment(text: str) -> int:
    """A TSO, or the first TSO of a time."""
    if text.isdecimal():
        return timestamp(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither a timestamp (TSO) nor a time such as 2026-11-22T15:00"
        ) from None
    return compose(int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000))


def table(text: str) -> tuple[str, str]:
    schema, _, table = text.partition(".")
    if not schema or not table:
        raise argparse.ArgumentTypeError(f"{text!r} is not SCHEMA.TABLE, such as shop.orders")
    return schema, table


def number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, 0 or more")
    return int(text)


def port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of rows")
    return int(text)
