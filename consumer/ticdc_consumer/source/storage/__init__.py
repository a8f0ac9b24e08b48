"""The output of TiCDC's cloud storage sink, in place of Kafka's topics.

Why it is exact. The sink rewrites `metadata` when every row with a commit_ts <= its checkpoint-ts C
is in complete data files, and every DDL with a commit_ts < C in a schema file. So C is a mark like
Kafka's: it proves any R <= C. The files are listed after `metadata` was read, so no row or DDL
below R is in an unlisted file; what the sink writes in the meantime is above C, or came before.

A partition of the source is a directory that numbers its files (of a table, version, partition of
that table, date and writer), an offset the number of files before: the files are its log.
`listing.py` refuses a directory whose files are not 1 to n without a gap, or fewer than its index
file says; an empty last file was left behind by a writer that died, and does not count. A file that
cannot be decoded is refused: files appear whole, so nothing can be missing from it.

A task reads every file of its directories from the restart offset to the listed end, since nothing
in a file shows that no row below R follows: a restarted sink writes rows a second time, to later
files, to directories of another version or of another day. Rows below the applied R are such
repetitions, and are dropped; rows at or above R are a later cut's, and that cut begins at the first
file that has one. Everything else is as with Kafka: one maximum over all facts below R, one
transaction with R and the offsets. Two shortcuts, each with its own argument:

* A directory of version V is not read before R > V: its rows have commit_ts >= V, except for
  repetitions of rows in older directories, since a table's next version is written only when all
  rows before it are.
* A directory of a day (or month, or year) that ended two days before R is forgotten: rows are
  written after they were committed, so that all of them are below R. So TiCDC may delete it
  (`file-expiration-days`), as long as the consumer is never that many days behind: a directory
  that is deleted before it was ever listed leaves no trace.
"""
