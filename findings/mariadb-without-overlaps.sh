#!/usr/bin/env bash
# Guess: the catalog tells a key WITHOUT OVERLAPS from an ordinary unique key, so that a client sees which rows clash.
# Seen: it is shown like a unique key of (id, b, a), and rows that differ in a and b clash; only SHOW CREATE TABLE tells.
# With: MariaDB 10.11.19 of Debian 12 (mariadb-server-core, mariadb-client-core 1:10.11.19-0+deb12u1).
set -euo pipefail
version=1:10.11.19-0+deb12u1
work=$(mktemp -d)
trap '[[ ! -s $work/pid ]] || kill "$(cat "$work/pid")"; sleep 1; rm -rf "$work"' EXIT
cd "$work"

chmod 755 .
apt-get update -qq
apt-get download -qq "mariadb-server-core=$version" "mariadb-client-core=$version"
for package in *.deb; do dpkg -x "$package" unpacked; done

mkdir data
me=(--no-defaults --user="$(id -un)" --datadir="$work/data" --lc-messages-dir="$work/unpacked/usr/share/mysql")
unpacked/usr/sbin/mariadbd "${me[@]}" --skip-networking --skip-grant-tables --socket="$work/s" --pid-file="$work/pid" >server.log 2>&1 &
sql() { unpacked/usr/bin/mariadb --no-defaults --socket="$work/s" --batch --skip-column-names -e "$1" 2>&1; }
for _ in $(seq 100); do sql 'select 1' >/dev/null && break; sleep 0.2; done

sql "create database d; create table d.t (id int, a date, b date, period for p (a, b), unique (id, p without overlaps))"
{
    sql "select index_name, non_unique, column_name from information_schema.statistics where table_schema = 'd' order by seq_in_index"
    echo "tables of the catalog called PERIODS: $(sql "select count(*) from information_schema.tables where table_name = 'PERIODS'")"
    sql "insert into d.t values (1, '2020-01-01', '2020-02-01')"
    sql "insert into d.t values (1, '2020-01-15', '2020-02-15')" | grep -o '^ERROR [0-9]*' || true
    sql "show create table d.t" | grep -o 'UNIQUE KEY.*OVERLAPS)'
} | tee seen

diff - seen <<'EXPECTED'
id	0	id
id	0	b
id	0	a
tables of the catalog called PERIODS: 0
ERROR 1062
UNIQUE KEY `id` (`id`,`p` WITHOUT OVERLAPS)
EXPECTED
