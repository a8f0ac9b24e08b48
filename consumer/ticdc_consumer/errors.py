"""Errors that end a run, and their exit codes.

    TicdcError                  3   (ticdc_encoder.errors) the root of all
        Unavailable             1   broker, target or Spark cannot be reached, retries are exhausted
            Away                1   (between) the target's server does not answer: it is waited for
                NoAnswer        1   (between) nor in the time that `why` has
            SourceAway          1   the brokers do not answer
            UserRefused         1   brokers or target answer, and refuse this user
            ReadOnly            1   the target takes no writes of this user
            Full                1   the target's disk has no room
        Fenced                  4   a newer consumer of this changefeed took over
        ConfigError             2   (ticdc_encoder.errors) a setting of a changefeed or a format
            Usage               2   a wrong argument or setting
        Stop                    3   something in data, topics or target that an operator must decide
            Unsupported         3   a DDL that cannot be done exactly, whatever the target's state
                TableNotSent    3   an ALTER TABLE of a table that TiCDC left out until then
            Denied              3   the target's user lacks a privilege
            SchemaMissing       3   no message brought the schema that a row of Simple names
            NoTable             3   the target lacks a table that rows need
            Misfit              3   several reasons at once why a table cannot take its rows
            UpstreamAway        3   `[source] upstream` does not answer
            NotHeld             3   a value that the target's column cannot hold
            KeyTaken            3   another row of the target has a unique value that one brings
            InTheWay            3   a table that is not what CREATE TABLE would make
            Drift               3   the target holds other rows than the upstream
            Conflict            3   (read.facts) two different rows of one key at one commit_ts
        Retry                   -   the target refused a transaction for a passing reason
            Locked              -   another session held a lock for too long
            RegistryAway        -   the schema registry does not give a schema
            ClaimCheckAway      -   the storage of claim checks cannot be read
        StagedRowsLost          -   rows that a task staged in the target are not there any more
        UnknownCommit           -   the connection was lost at COMMIT
        WireError, ...          3   (ticdc_encoder.errors) a message, a definition, a topic

`ticdc_consumer` exports those that can leave a consumer.
`Retry` and `UnknownCommit` do not leave the consumer: `state.retry` tries again, asks the
checkpoint what happened, and ends with `Unavailable`. Nor does `StagedRowsLost`: `epoch` has the
cut read again. A `Sendable` keeps its class on the way from a Spark task to the driver.
"""

import shlex
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ticdc_encoder.errors import ConfigError, TicdcError

UNEQUAL = 5
"""Exit code of `verify` when the target differs from the upstream."""

RESTORED = "was the target restored?"
"""Question that an error asks when the checkpoint went back."""
ALTER_IT = (
    "alter it in the target so that it holds every value of the upstream's column, then start again"
)
"""Advice for a column that does not take a value."""

UPSTREAM_DRIVER = "pip install ticdc-consumer[mysql]"
"""Command that installs the driver for `[source] upstream`."""

MOST_PROBLEMS = 3
"""Problems of one table that a message lists, at most."""

DDL_DONE = "ticdc-consumer run {config} --ddl-done {id}"
DDL_RUN = "ticdc-consumer run {config} --ddl-run {id} FILE.sql"
"""Commands that answer a pending DDL."""
LOAD_ANEW = (
    "load all tables again: ticdc-consumer forget CONFIG, then ticdc-consumer load CONFIG --replace"
)
"""Advice for lost changes: every other way leaves some of the old contents behind."""


class Sendable(TicdcError):
    """An error that keeps its class on the way from a Spark task to the driver. It is made of its
    text only, and the driver handles it by class. Any other error arrives as `Stop`."""


class Unavailable(Sendable):
    """Broker, target or Spark cannot be reached; retries are exhausted. Exit 1."""

    exit_code = 1


class Away(Unavailable):
    """The target's server cannot be reached now, for example while it restarts. A consumer that
    reached it before waits for it; one that is starting or stopping exits with 1."""


class NoAnswer(Away):
    """The target's server did not answer in the given time: it, the network or this machine may
    just be busy."""


class SourceAway(Unavailable):
    """The brokers do not answer. Exit 1."""


class UserRefused(Unavailable):
    """The brokers or the target's server answer, and refuse this user. Exit 1."""


class ReadOnly(Unavailable):
    """The target takes no writes of this user: it is a standby, or an administrator has made it
    read-only. Exit 1."""


class Full(Unavailable):
    """The target's disk has no room for the cut. Exit 1."""


class Fenced(Sendable):
    """A newer consumer of this changefeed has taken over: starting this one again would take the
    changefeed from the newer one. Not an `Unavailable`, after which a program may retry. Exit 4."""

    exit_code = 4


class Retry(Sendable):
    """The target refused the epoch for a passing reason (deadlock, serialization failure, busy,
    lost connection before COMMIT). Nothing was applied; the same epoch may be retried."""

    exit_code = 1


class Locked(Retry):
    """Another session of the target held a lock for too long."""


class RegistryAway(Retry):
    """The schema registry does not give a schema that a message names."""


class ClaimCheckAway(Retry):
    """The storage of claim checks cannot be read."""


class StagedRowsLost(TicdcError):
    """The target does not have all rows that tasks staged there: it restarted, or an operator
    dropped a table. Nothing was applied; the cut must be read again."""

    exit_code = 1


class UnknownCommit(TicdcError):
    """The connection was lost at COMMIT: only the checkpoint shows whether it happened."""

    exit_code = 1


class Usage(ConfigError):
    """A wrong argument or setting. Exit 2."""


@dataclass(frozen=True, slots=True)
class WaitingDdl:
    """A pending DDL that an operator must run: the reason, and statements that might do it.

    `id` is the argument of `ddl_run` and `ddl_done`, `statement` the upstream's. If not `tried`,
    nobody knows whether the target takes the suggestion. `inexact` is the upstream table, if any,
    whose rows it may give other values than TiDB has."""

    id: str
    reason: str
    suggestion: tuple[str, ...] = ()
    tried: bool = True
    inexact: str = ""
    statement: str = ""

    def caveats(self, config: str) -> list[str]:
        """The caveats of the suggestion, to read before it is used."""
        caveats = [] if self.tried else ["this was not tried"]
        if self.inexact:
            caveats.append(
                "rows may then differ from TiDB's; once the run has caught up, repair them from "
                f"[source] upstream: ticdc-consumer verify {config} --repair --table "
                f"{shlex.quote(self.inexact)}"
            )
        return caveats


class Stop(TicdcError):
    """Something in data, topics or target needs an operator's decision. `ddl` is the pending DDL
    that the error is about, if any. Exit 3."""

    ddl: WaitingDdl | None = None


class NotHeld(Stop):
    """A value that the target's column cannot hold. Exit 3."""


class InTheWay(Stop):
    """The target already has the object that a DDL is to create or change, and that object
    is not the consumer's: running the DDL as it is would fail or be wrong. Exit 3."""


class Denied(Stop, Sendable):
    """The target's user lacks a privilege: the message names the GRANT. Exit 3."""


class SchemaMissing(Stop):
    """No message brought the schema that a row of Simple names. Exit 3."""


class Drift(Stop):
    """The target holds other rows than the upstream. Exit 3."""


class KeyTaken(Stop):
    """The target has another row with the unique-key value of a row to be written, or two such rows
    where that key is to be created: its rows differ from the upstream's. Exit 3."""


class NoTable(Stop):
    """The target lacks a table that rows need. `may_be_empty`: creating it without rows may be
    right. Exit 3."""

    def __init__(self, text: str, *, may_be_empty: bool) -> None:
        super().__init__(text)
        self.may_be_empty = may_be_empty


class Misfit(Stop):
    """Several reasons why a table of the target cannot take its rows. Exit 3."""

    def __init__(self, problems: Sequence[str]) -> None:
        more = len(problems) - MOST_PROBLEMS
        rest = [f"and {more} more, which `ticdc-consumer check` lists"] if more > 0 else []
        super().__init__("; ".join([*problems[:MOST_PROBLEMS], *rest]))
        self.problems = tuple(problems)


class Problems:
    """Collects each `Stop` that is raised inside its `with` blocks."""

    def __init__(self) -> None:
        self._stops: list[Stop] = []

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> bool:
        if isinstance(error, Stop):
            self._stops.append(error)
            return True
        return False

    def require_none(self) -> None:
        """Raises the only problem, or a `Misfit` of all."""
        if len(self._stops) == 1:
            raise self._stops[0]
        if self._stops:
            raise Misfit([text for stop in self._stops for text in problems_of(stop)])


def problems_of(error: TicdcError) -> tuple[str, ...]:
    """The single problems that an error reports."""
    return error.problems if isinstance(error, Misfit) else (str(error),)


def received(kind: str, text: str) -> TicdcError:
    """Returns the error that a Spark task sent as its class name and text."""
    return _sendable(Sendable).get(kind, Stop)(text)


def _sendable(parent: type[Sendable]) -> dict[str, type[TicdcError]]:
    kinds: dict[str, type[TicdcError]] = {}
    for kind in parent.__subclasses__():
        kinds |= {kind.__name__: kind} | _sendable(kind)
    return kinds


@contextmanager
def about(table: tuple[str, str], commit_ts: int = 0) -> Iterator[None]:
    """Attributes errors raised inside to the rows of this upstream table alone, and to this
    commit_ts, if there is one."""
    try:
        yield
    except TicdcError as error:
        error.table = table
        error.commit_ts = commit_ts or error.commit_ts
        raise


class Unsupported(Stop):
    """A DDL that cannot be done exactly in the target, whatever its state: nothing of it was done.
    `[ddl]` may skip it. `instead` are known statements that do it, but not safely if the consumer
    crashes between them. If `inexact`, they may give rows other values than TiDB has. Exit 3."""

    def __init__(self, reason: str, instead: Sequence[str] = (), inexact: bool = False) -> None:
        super().__init__(reason)
        self.instead = tuple(instead)
        self.inexact = inexact


class ValuesNotSent(Unsupported):
    """An ALTER TABLE gives existing rows values that TiCDC does not send, and that are uncertain
    without the upstream. Exit 3."""


class TableNotSent(Unsupported):
    """An ALTER TABLE gives a key to a table that TiCDC left out until then: the topic lacks its
    rows. Exit 3."""


class UpstreamAway(Stop):
    """`[source] upstream` does not answer, or refuses this user; it may answer later. Exit 3."""


class LeftOut(Unsupported):
    """A DDL that the target does not need, since no row depends on it: always skipped."""


def full(where: str, reason: str) -> Full:
    """The error for a disk, or a size-limited file, without room for the cut."""
    return Full(
        f"{where} has no room left on its disk, or in a file that may not grow: make room there, "
        f"then start again; nothing of the cut was applied ({reason})"
    )


def taken_text(key: str, *, is_new: bool) -> str:
    """The text of a `KeyTaken` about a unique key: one being created, or one that a written row
    violates. The value, which is row data, is left out."""
    if is_new:
        return (
            f"several rows of the target have the same value of the new unique key {key}".rstrip()
        )
    return f"another row of the target has the same value of the unique key {key}".rstrip()


def fault(error: Exception) -> TicdcError:
    """The error that stands for an exception raised while data are read. A foreign one becomes a
    `Stop` that names its type and the line of this project that raised it, since a retry would
    raise it again, or a `Retry` if it is the machine's (OSError). Its own text may quote a row. An
    error of this project stands for itself."""
    if isinstance(error, TicdcError):
        return error
    kind = type(error).__name__
    if isinstance(error, OSError):
        return Retry(f"{kind}: {error.strerror or 'the machine failed'} {_line_of(error)}")
    if isinstance(error, MemoryError):
        return Stop(
            f"{kind} {_line_of(error)}: give the process more memory, or lower [limits] "
            "rows_per_epoch and message_limit"
        )
    return Stop(
        f"{kind} {_line_of(error)}, which is a fault of this program: report it with this record "
        "(`ticdc-encoder decode` shows it); what is committed is not touched"
    )


def _line_of(error: Exception) -> str:
    """The innermost line of this project."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        parts = Path(frame.filename).parts
        for package in ("ticdc_consumer", "ticdc_encoder"):
            if package in parts:
                return f"in {'/'.join(parts[parts.index(package) :])}, line {frame.lineno}"
    return "in a library"
