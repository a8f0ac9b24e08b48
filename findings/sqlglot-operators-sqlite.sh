#!/usr/bin/env bash
# Guess: sqlglot, which reads `1 | 2 & 4` as MySQL does, writes for SQLite a text that SQLite reads alike: with parentheses, where it must.
# Seen: it adds none. SQLite reads << >> & | from left to right, so five of these values differ, silently (TiDB: 1 1 5 5 24 1 6).
# With: sqlglot 30.30.0 of PyPI; SQLite 3.40.1 of Python 3.11.7; TiDB's values of v8.5.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check sqlglot==30.30.0

venv/bin/python - <<'PYTHON' | tee seen
import sqlite3

import sqlglot

database = sqlite3.connect(":memory:")
for query in (
    "SELECT 1 | 2 & 4",
    "SELECT 1 | 4 >> 2 & 0",
    "SELECT 1 | 1 << 2",
    "SELECT 4 | 3 & 1",
    "SELECT 1 + 2 << 3",
    "SELECT 2 = 1 < 3",
    "SELECT 6 & 3 * 2",
):
    written = sqlglot.transpile(query, read="mysql", write="sqlite")[0]
    print(f"{query}: {written}: {database.execute(written).fetchone()[0]}")
PYTHON

diff - seen <<'EXPECTED'
SELECT 1 | 2 & 4: SELECT 1 | 2 & 4: 0
SELECT 1 | 4 >> 2 & 0: SELECT 1 | 4 >> 2 & 0: 0
SELECT 1 | 1 << 2: SELECT 1 | 1 << 2: 4
SELECT 4 | 3 & 1: SELECT 4 | 3 & 1: 1
SELECT 1 + 2 << 3: SELECT 1 + 2 << 3: 24
SELECT 2 = 1 < 3: SELECT 2 = 1 < 3: 0
SELECT 6 & 3 * 2: SELECT 6 & 3 * 2: 6
EXPECTED
