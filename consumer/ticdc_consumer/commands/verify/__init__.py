"""Whether the target is what the upstream was at R: proof while both go on.

target_state.py    one state of the target, R among it, seen by several sessions
sessions.py        the sessions of both sides, for as many threads
pairs.py           which table is compared with which, and each column with which
fingerprint.py     two sets of rows, compared in whatever order they come
compare.py         the rows of one table on both sides
verification.py    all tables, on several sessions
share.py           a part of all rows
continuous.py      one share after the other, beside a consumer that runs
same_state.py      two targets at one R
against.py         one target compared with another
topics.py          the target compared with its topics, replayed
report.py          what was found, for people and for programs
textfile.py        the same as metrics
keys.py            rows that differ, by their keys
repair.py          the SQL that makes the target equal
"""
