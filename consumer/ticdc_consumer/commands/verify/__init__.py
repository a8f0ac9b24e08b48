"""Proves that the target equals the upstream at R, while both continue.

target_state.py    one state of the target, including R, seen by several sessions
sessions.py        the sessions of both sides, for as many threads
pairs.py           the tables that are compared with each other, and their columns
fingerprint.py     two sets of rows, compared in any order
compare.py         the rows of one table on both sides
verification.py    all tables, in several sessions
share.py           a part of all rows
continuous.py      one share after the other, while a consumer runs
same_state.py      two targets at one R
against.py         one target compared with another
topics.py          the target compared with its topics, replayed
report.py          the result, for people and for programs
textfile.py        the same as metrics
keys.py            differing rows, by their keys
repair.py          the SQL that makes the target equal
"""
