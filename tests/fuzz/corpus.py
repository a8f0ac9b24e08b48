"""Inputs in files: one for the fuzzer, and those of the tree, `corpus/SUBJECT.jsonl`.

A line of the tree's is the list of an input's parts, each byte a character of its code.
"""

import json
from collections.abc import Iterable
from pathlib import Path

from fuzz.mutator import Record

PLACE = Path(__file__).parent / "corpus"
ABSENT = b"\xff\xff\xff\xff"
"""In place of a part's length."""


def packed(record: Record) -> bytes:
    """As one text: each part but the last behind its length in four bytes."""
    *heads, last = record
    framed = [ABSENT if p is None else len(p).to_bytes(4, "big") + p for p in heads]
    return b"".join(framed) + (last or b"")


def unpacked(data: bytes, parts: int) -> Record:
    """Of whatever bytes."""
    found: list[bytes | None] = []
    for _ in range(parts - 1):
        length, data = data[:4], data[4:]
        if length == ABSENT:
            found.append(None)
            continue
        size = int.from_bytes(length, "big")
        found.append(data[:size])
        data = data[size:]
    return (*found, data)


def kept(name: str) -> list[Record]:
    """Those of the tree."""
    file = PLACE / f"{name}.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [
        tuple(None if part is None else part.encode("latin-1") for part in json.loads(line))
        for line in lines
    ]


def keep(name: str, records: Iterable[Record]) -> None:
    """Writes those of the tree, the shortest first."""
    texts = {
        json.dumps([None if part is None else part.decode("latin-1") for part in record])
        for record in records
    }
    PLACE.mkdir(exist_ok=True)
    lines = [f"{text}\n" for text in sorted(texts, key=lambda text: (len(text), text))]
    (PLACE / f"{name}.jsonl").write_text("".join(lines))
