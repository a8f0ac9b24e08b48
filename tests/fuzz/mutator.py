"""Damages inputs, the same way for the same seed."""

import json
import re
from collections.abc import Sequence
from random import Random
from typing import Any

Record = tuple[bytes | None, ...]
"""The parts of one input: a key and a value, or a text alone."""

MOST_BYTES = 1 << 16
BYTES = (b"", b"\0", b"\xff", b"\x80", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"'", b"`")
TEXTS = (b"\xed\xa0\x80", b"\xc3", b"\x1b[2J", "\u202e".encode(), b"/*!", b"*/", b"--", b"((((")
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1 << 31, 1 << 63, (1 << 64) - 1, 1 << 64, 10**30),
    *(0.5, -0.0, 1e308, float("nan"), float("inf"), {}, [], [[]], [{}], {"": None}, {"a": {}}),
    *(
        "",
        "0",
        "-0",
        "1e999",
        "NaN",
        "\0",
        "\ud800",
        "a" * 70_000,
        "0000-00-00",
        "\u0661",
        "'",
        "`",
    ),
)


def mutated(rng: Random, record: Record, others: Sequence[Record]) -> Record:
    """The record with one to four damages; pieces of `others` may be in it."""
    parts = list(record)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(parts))
        donor = rng.choice(rng.choice(others)) or b""
        part = parts[at]
        if part is None or rng.random() < 0.01:
            parts[at] = rng.choice((None, b"", donor))
        else:
            parts[at] = _damaged(rng, part, donor)[:MOST_BYTES]
    return tuple(parts)


def _damaged(rng: Random, part: bytes, donor: bytes) -> bytes:
    if rng.random() < 0.5:
        frame = _frame(part)
        inside = _as_json(rng, part[len(frame) :])
        if inside is not None:
            length = len(inside).to_bytes(8, "big")
            return frame[:-8] + length + inside if frame else inside
    a, b = sorted((_place(rng, part), _place(rng, part)))
    c, d = sorted((_place(rng, donor), _place(rng, donor)))
    match rng.randrange(9):
        case 0:
            return part[:a] + bytes([rng.randrange(256)]) + part[a + 1 :]
        case 1:
            return part[:a] + rng.choice(BYTES + TEXTS) + part[a:]
        case 2:
            return part[:a] + part[b:]
        case 3:
            return part[:b] + part[a:b] * rng.choice((1, 1, 2, 30)) + part[b:]
        case 4:
            return part[:a] + donor[c:d] + part[b:]
        case 5:
            return part[:a] + donor[c:]
        case 6:
            return part[:a]
        case 7:
            return _with_number(rng, part)
    return (
        part[:a] + bytes([part[a] ^ (1 << rng.randrange(8))]) + part[a + 1 :] if part[a:] else b""
    )


def _place(rng: Random, part: bytes) -> int:
    """Mostly where something begins or ends."""
    if rng.random() < 0.7:
        borders = [match.start() for match in re.finditer(rb"[^\w]", part)]
        if borders:
            return rng.choice(borders) + rng.randrange(2)
    return rng.randrange(len(part) + 1)


def _with_number(rng: Random, part: bytes) -> bytes:
    numbers = [*re.finditer(rb"-?\d+(\.\d+)?", part)]
    if not numbers:
        return part
    chosen = rng.choice(numbers)
    number = rng.choice([v for v in VALUES if isinstance(v, int | float)])
    return part[: chosen.start()] + str(number).encode() + part[chosen.end() :]


def _frame(part: bytes) -> bytes:
    """The begin of an item of Open Protocol: eight bytes of length, sixteen with its version."""
    for size in (8, 16):
        if len(part) >= size and part[size - 8 : size] == (len(part) - size).to_bytes(8, "big"):
            return part[:size]
    return b""


def _as_json(rng: Random, part: bytes) -> bytes | None:
    """With another value somewhere in the tree, or another member; None if it is no JSON."""
    try:
        root = [json.loads(part)]
    except (ValueError, RecursionError):
        return None
    parents = _parents(root)
    parent = rng.choice(parents[: rng.choice((1, 4, len(parents)))])
    key: Any = rng.choice([*parent]) if isinstance(parent, dict) else rng.randrange(len(parent))
    other = rng.choice(parents)
    given = rng.choice([*other.values()] if isinstance(other, dict) else other)
    match rng.randrange(4):
        case 0 if isinstance(parent, dict):
            parent[rng.choice((f"{key}2", "", key.upper(), "\u202e\x1b"))] = given
        case 1 if parent is not root:
            del parent[key]
        case 2:
            parent[key] = given
        case _:
            parent[key] = rng.choice(VALUES)
    try:
        text = json.dumps(root[0], separators=(",", ":"), ensure_ascii=rng.random() < 0.1)
    except (ValueError, RecursionError):  # it contains itself
        return None
    return text.encode("utf-8", "surrogatepass")


def _parents(root: list[Any]) -> list[Any]:
    """All lists and objects that have members, from the outside."""
    found: list[Any] = [root]
    for node in found:
        children = node.values() if isinstance(node, dict) else node
        found += [child for child in children if isinstance(child, dict | list) and child]
        if len(found) > 1000:
            break
    return found
