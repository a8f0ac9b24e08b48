"""Repairs differing rows in the transaction of a cut, so that the stream cannot race it.

differing_keys.py   differences that `verify` found -> a request with the keys
reading.py       a request -> the upstream's rows as of a cut's R - 1
writing.py       those rows -> the transaction of a cut
without_run.py   the same where no consumer runs
command.py       `verify --repair`
"""
