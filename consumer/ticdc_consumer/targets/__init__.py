"""The databases that a consumer writes to: one package and one entry in `DATABASES` each.

A separate distribution may add another database (experimental: the interface changes without
notice). It names an entry in the group `ticdc_consumer.targets` of its entry points, under the
scheme of the URLs:

    [project.entry-points."ticdc_consumer.targets"]
    duckdb = "its_package:DATABASE"  # DATABASE = Database("its_package")

It must be installed wherever Spark's tasks run, like this package: they encode the rows.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from ticdc_consumer.errors import Usage
from ticdc_consumer.targets.comparable import Comparable, DigestWords
from ticdc_consumer.targets.layout import Encode, TargetColumn
from ticdc_consumer.targets.rules import Publish

if TYPE_CHECKING:  # a fifth of a second, which Spark's tasks save
    import sqlalchemy as sa

    from ticdc_consumer.targets.target import Target


class ReadBack(Protocol):
    """Reads a database's values back for comparison: the interface of the module `read_back`."""

    DIGEST: DigestWords | None
    """The SQL that computes digests here; None if rows have to be read."""

    def column(self, existing: TargetColumn, codec: str, name: str) -> Comparable:
        """Returns how to read a column that `codec` writes; `name` is quoted."""

    def begin(self, target: "Target", state: str | None) -> str | None:
        """Begins a read-only transaction. Returns the `state` with which any other session sees the
        same data while this transaction lasts; "" if sessions that begin at the same time are
        likely to; None if no other session can."""

    def rows(self, target: "Target", statement: str) -> Iterator[tuple[Any, ...]]:
        """Iterates over the rows of a SELECT without holding them in memory together."""


ENTRY_POINTS = "ticdc_consumer.targets"
"""The group of entry points; each maps a URL's scheme to a `Database`."""


@dataclass(frozen=True, slots=True)
class Database:
    """A kind of database.

    `package` is the dotted name of its package. Four of its modules are used from here, each
    imported when first needed: `session`, whose `open_session(url, to_look)` returns a `Target`;
    `encode`, whose `encode_rows` and `encode_keys` need no driver; `types`, whose `RULES` are the
    rules that users may switch on; and `read_back`, a `ReadBack`. `requirement` is the pip
    requirement that installs the driver. `session_name` is the URL's parameter under which the
    server shows its users who owns a session.
    """

    package: str
    requirement: str = ""
    session_name: str = ""

    def open(self, url: "sa.URL", *, to_look: bool = False) -> "Target":
        session: Target = self.session().open_session(url, to_look)
        return session

    def session(self) -> Any:
        """The module `session`."""
        return import_module(f"{self.package}.session")

    def encoders(self) -> tuple[Encode, Encode]:
        """Returns (encode_rows, encode_keys), see `layout.py`."""
        encode = import_module(f"{self.package}.encode")
        return encode.encode_rows, encode.encode_keys

    def read_back(self) -> ReadBack:
        """Returns the module `read_back`. Raises `Usage` if the package has none."""
        name = f"{self.package}.read_back"
        try:
            module: Any = import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            raise Usage(f"{self.package} cannot read its rows back to compare them") from None
        return module  # type: ignore[no-any-return]

    def rules(self) -> frozenset[str]:
        """The names of its mapping rules."""
        rules: frozenset[str] = import_module(f"{self.package}.types").RULES
        return rules


_MYSQL = Database("ticdc_consumer.targets.mysql", "ticdc-consumer[mysql]", "program_name")

DATABASES: dict[str, Database] = {
    "postgresql": Database(
        "ticdc_consumer.targets.postgresql", "ticdc-consumer[postgresql]", "application_name"
    ),
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "tidb": _MYSQL,
    "sqlite": Database("ticdc_consumer.targets.sqlite"),
}
"""The databases by their URL's scheme, which is also `Target.dialect` and `Layout.dialect`."""


def database(name: str) -> Database:
    """Returns the database of a URL's scheme or of a layout. Raises `Usage` for an unknown one."""
    if name in DATABASES:
        return DATABASES[name]
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        plugin: Database = entry.load()
        return plugin
    raise Usage(f"[target] url names {name}, which is not one of {', '.join(_names())}")


def encoders(dialect: str) -> tuple[Encode, Encode]:
    """Returns (encode_rows, encode_keys) of a layout's database. Keys that the database cannot hold
    have payloads, too: see `not_held`."""
    from ticdc_consumer.targets.not_held import marking  # brings Arrow

    encode_rows, encode_keys = database(dialect).encoders()
    return encode_rows, marking(encode_keys)


def read_back(dialect: str) -> ReadBack:
    """Returns the read-back module for this `Target.dialect`. Raises `Usage` if there is none."""
    return database(dialect).read_back()


def mapping_rules() -> frozenset[str]:
    """The mapping rules of all databases, see `docs/reference/types.md`."""
    return frozenset(rule for name in _names() for rule in database(name).rules())


def _names() -> list[str]:
    installed = [entry.name for entry in entry_points(group=ENTRY_POINTS)]
    return [*DATABASES, *(name for name in installed if name not in DATABASES)]


def import_target(url: str) -> None:
    """Imports the modules that `open_target` needs, which takes seconds on a busy machine. Missing
    drivers are reported by `open_target`."""
    import sqlalchemy as sa

    with suppress(sa.exc.ArgumentError, ModuleNotFoundError, Usage):
        parsed = sa.make_url(url)
        database(parsed.get_backend_name()).session()
        parsed.get_dialect().import_dbapi()


def session_name(changefeed: str) -> str:
    """The name that a server shows for a consumer's sessions, unless the URL sets one."""
    return f"ticdc-consumer {changefeed}"


def open_target(
    url: str,
    *,
    to_look: bool = False,
    write_source: int | None = None,
    changefeed: str = "",
    publish: Publish = "driver",
) -> "Target":
    """Connects to the database of a SQLAlchemy URL. The server shows the session as one of
    `changefeed`, unless the URL names it.

    With `to_look`, nothing is created: a SQLite file that does not exist is read as empty. With
    `write_source`, writes are marked, see `Target.mark_writes`. Raises `Usage` if `url` is not a
    URL, names an unknown database or one whose driver is not installed, or if the database cannot
    mark writes or has no staging tables to `publish` from; raises `Unavailable` if the database
    does not answer.
    """
    import sqlalchemy as sa

    try:
        parsed = sa.make_url(url)
        name = parsed.get_backend_name()
    except sa.exc.ArgumentError:
        raise Usage(
            "[target] url is not a SQLAlchemy URL such as postgresql://user@host/db"
        ) from None
    entry = database(name)
    if entry.session_name and changefeed and entry.session_name not in parsed.query:
        parsed = parsed.update_query_dict({entry.session_name: session_name(changefeed)})
    try:
        target = entry.open(parsed, to_look=to_look)
    except ModuleNotFoundError as error:
        raise Usage(
            f"the driver for {name} is not installed ({error.name}): "
            f"pip install {entry.requirement or error.name}"
        ) from error
    try:
        if write_source is not None:
            target.mark_writes(write_source)
        if publish == "staging" and not target.has_staging:
            raise Usage(
                '[target] publish = "staging" is for PostgreSQL, MySQL and MariaDB, and this is '
                f"{target.dialect}: leave it out"
            )
    except BaseException:
        target.close()
        raise
    return target
