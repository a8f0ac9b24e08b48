"""What ends a run, and with which exit code."""

from ticdc_encoder.errors import TicdcError


class Unavailable(TicdcError):
    """Broker, target or Spark cannot be reached, retries are exhausted. Exit 1."""

    exit_code = 1


class Fenced(Unavailable):
    """A newer consumer of this changefeed has taken over. Exit 1."""


class Retry(TicdcError):
    """The target refused the epoch for a passing reason (deadlock, serialization failure, busy,
    lost connection before COMMIT): nothing was applied, the same epoch may be tried again."""

    exit_code = 1


class UnknownCommit(TicdcError):
    """The connection was lost at COMMIT: only the checkpoint can tell whether it happened."""

    exit_code = 1


class Usage(TicdcError):
    """A wrong option or configuration. Exit 2."""

    exit_code = 2


class Stop(TicdcError):
    """Something found in data, topics or target that a person must decide. Exit 3."""

    exit_code = 3


class Unsupported(Stop):
    """A DDL that cannot be done exactly in the target, whatever its state: nothing of it was done.
    `[ddl]` may have it skipped. Exit 3."""
