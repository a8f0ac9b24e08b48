#!/usr/bin/env bash
# Guess: sqlglot knows MySQL's other names of types: INT8 is BIGINT (of 8 bytes) and REAL is DOUBLE, as in MySQL and TiDB.
# Seen: it writes INT8 as TINYINT (of 8 bits) and REAL as FLOAT, also for PostgreSQL: valid DDL with columns too small. The others are right.
# With: sqlglot 30.30.0 of PyPI.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check sqlglot==30.30.0

venv/bin/python - <<'PYTHON' | tee seen
import sqlglot

for name in ("INT1", "INT2", "INT4", "INT8", "FLOAT4", "FLOAT8", "REAL", "DOUBLE PRECISION", "DEC(5, 2)", "FIXED(5, 2)"):
    ddl = f"CREATE TABLE t (a {name})"
    written = [sqlglot.transpile(ddl, read="mysql", write=to)[0][18:-1] for to in ("mysql", "postgres")]
    print(f"{name}: MySQL {written[0]}, PostgreSQL {written[1]}")
PYTHON

diff - seen <<'EXPECTED'
INT1: MySQL TINYINT, PostgreSQL SMALLINT
INT2: MySQL SMALLINT, PostgreSQL SMALLINT
INT4: MySQL INT, PostgreSQL INT
INT8: MySQL TINYINT, PostgreSQL SMALLINT
FLOAT4: MySQL FLOAT, PostgreSQL REAL
FLOAT8: MySQL DOUBLE, PostgreSQL DOUBLE PRECISION
REAL: MySQL FLOAT, PostgreSQL REAL
DOUBLE PRECISION: MySQL DOUBLE, PostgreSQL DOUBLE PRECISION
DEC(5, 2): MySQL DECIMAL(5, 2), PostgreSQL DECIMAL(5, 2)
FIXED(5, 2): MySQL DECIMAL(5, 2), PostgreSQL DECIMAL(5, 2)
EXPECTED
