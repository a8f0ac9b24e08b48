"""Differences between MySQL, MariaDB and TiDB that concern the consumer."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """A server of the family. `json` is the type of a new JSON column. `no_pad_bin` is the
    collation that distinguishes all texts, and `no_pad_ci` the one for upstream's
    utf8mb4_0900_ai_ci.

    `row_keys`: a DELETE names keys of several columns as `(a,b) IN ((1,'x'),...)`, the fastest on
    MariaDB (360k keys/s; 254k by OR). In MySQL that does not find an ENUM or SET by its number, or
    a TIME with a shorter fraction: there it is `a=1 AND b='x' OR ...`. `composite_keys` is the
    number of keys in such a DELETE: MySQL's optimizer takes time that grows with its square (132k
    keys/s at 100, 53k at 1000).

    `wide_names`: names may hold characters beyond U+FFFF, which MySQL silently replaces by `?`.
    `processes` lists the sessions of the whole server or cluster.

    In the catalog, `index_column` gives the column of an index, NULL for an expression (TiDB gives
    the text NULL). `escaped_labels`: backslashes in ENUM's and SET's labels are doubled.
    `label_escapes` are the characters that it shows as two, while a backslash is one, so that
    different labels may look the same. `widest_values_bit`: VALUES() of a wider BIT gives other
    bits, so an upsert must not use it (TiDB 8.4 reverses the bytes of every BIT that takes eight).
    `names_lock_holder`: IS_USED_LOCK gives the session that holds a lock; TiDB's gives 1.

    `statements` lists running statements with their database: those of other sessions and, in TiDB,
    its DDL jobs, which outlive the session and even the server that took them.

    `read_only` are the variables that keep all users from writing, and those that exempt users with
    the listed privileges.

    `text_defaults`: a TEXT may have a default, as an expression (in TiDB 8.4 error 1101).
    `dependent_clauses`: a clause of an ALTER TABLE may build upon another clause of it.
    `lower_name`: the SQL by which a server with lower_case_table_names folds a table's name, each
    letter by itself. `charsets`: TiDB's character sets of CHAR, VARCHAR and TEXT that a new column
    keeps, with their names here: they have the same characters and distinguish the same texts.
    TiDB's latin1 holds all of Unicode, and its gbk 80 characters more than that of MySQL and
    MariaDB. `copies_texts`: a change of a column's character set must copy the table: MySQL 8.0.15
    does not complete some of these changes correctly in place. `long_unique_keys`: a unique key
    that is too long becomes one of hashes. `clustered_keys`: a table is created with a primary key
    that is, or is not, the place of its rows.

    An ALTER TABLE rounds a time to fewer digits under the sql_mode `rounding_mode`, and turns a
    DATETIME into its DATE under `date_mode` (MySQL 8 rounds 23:59:59.5 to the next one); "" if it
    always does. `halves_away`: it rounds -00:00:00.5 to -00:00:01, TiDB to 00:00:00.
    `greatest_rounded` is the greatest integer that a DECIMAL becomes, if the type has greater ones
    (MySQL 8 refuses them, with error 1292).
    """

    name: str
    json: str
    vector: bool
    no_pad_bin: str
    no_pad_ci: str
    row_keys: bool
    composite_keys: int
    wide_names: bool
    processes: str = "information_schema.processlist"
    index_column: str = "column_name"
    escaped_labels: bool = True
    label_escapes: tuple[tuple[str, str], ...] = ()
    widest_values_bit: int = 64
    names_lock_holder: bool = True
    statements: str = """
        SELECT CONCAT('session ', id), db, info FROM information_schema.processlist
        WHERE id <> CONNECTION_ID() AND info IS NOT NULL
    """
    read_only: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("super_read_only", ()),
        ("read_only", ("SUPER", "CONNECTION_ADMIN")),
    )
    text_defaults: bool = True
    dependent_clauses: bool = True
    copies_texts: bool = False
    charsets: tuple[tuple[str, str], ...] = (("utf8", "utf8mb3"), ("ascii", "ascii"))
    long_unique_keys: bool = False
    clustered_keys: bool = False
    lower_name: str = "LOWER(CONVERT(%s USING utf8) COLLATE utf8_general_ci)"
    settings: tuple[str, ...] = ()
    rounding_mode: str = ""
    date_mode: str = ""
    halves_away: bool = True
    greatest_rounded: int | None = None


MYSQL = Dialect(
    name="mysql",
    json="longtext",
    vector=False,
    no_pad_bin="utf8mb4_0900_bin",
    no_pad_ci="utf8mb4_0900_ai_ci",
    row_keys=False,
    composite_keys=100,
    wide_names=False,
    copies_texts=True,
    date_mode="TIME_TRUNCATE_FRACTIONAL",
    greatest_rounded=(1 << 63) - 1,
)

MARIADB = Dialect(
    name="mariadb",
    json="longtext",
    vector=False,
    no_pad_bin="utf8mb4_nopad_bin",
    no_pad_ci="utf8mb4_nopad_bin",
    row_keys=True,
    composite_keys=500,
    wide_names=False,
    long_unique_keys=True,
    read_only=(("read_only", ("READ_ONLY ADMIN", "SUPER")),),
    rounding_mode="TIME_ROUND_FRACTIONAL",
)

TIDB = Dialect(
    name="tidb",
    json="json",
    vector=True,
    no_pad_bin="utf8mb4_0900_bin",
    no_pad_ci="utf8mb4_0900_ai_ci",
    row_keys=False,
    composite_keys=100,
    wide_names=True,
    processes="information_schema.cluster_processlist",
    index_column="IF(expression IS NULL, column_name, NULL)",
    escaped_labels=False,
    label_escapes=(("\0", r"\0"), ("\n", r"\n"), ("\r", r"\r")),
    widest_values_bit=56,
    names_lock_holder=False,
    statements="""
        SELECT CONCAT('session ', id), db, info FROM information_schema.cluster_processlist
        WHERE id <> CONNECTION_ID() AND info IS NOT NULL
        UNION ALL
        SELECT CONCAT('DDL job ', job_id), db_name, query
        FROM (SELECT * FROM information_schema.ddl_jobs LIMIT 100) AS latest
        WHERE state NOT IN ('synced', 'cancelled', 'rollback done') AND job_type NOT LIKE '%subjob%'
    """,
    read_only=(
        ("tidb_restricted_read_only", ("RESTRICTED_REPLICA_WRITER_ADMIN",)),
        ("tidb_super_read_only", ("RESTRICTED_REPLICA_WRITER_ADMIN",)),
    ),
    text_defaults=False,
    charsets=tuple((name, name) for name in ("utf8", "ascii", "latin1", "gbk")),
    dependent_clauses=False,
    clustered_keys=True,
    settings=("SET SESSION tidb_txn_mode = 'pessimistic'",),
    halves_away=False,
)

DIALECTS = {dialect.name: dialect for dialect in (MYSQL, MARIADB, TIDB)}


def dialect_of(version: str) -> Dialect:
    """Returns the dialect of a `SELECT VERSION()`: the URL's scheme may be any of the three."""
    for mark, dialect in (("TiDB", TIDB), ("MariaDB", MARIADB)):
        if mark.lower() in version.lower():
            return dialect
    return MYSQL
