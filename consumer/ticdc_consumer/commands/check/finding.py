"""One line of the report of `check`."""

from dataclasses import asdict, dataclass
from typing import Literal

from ticdc_consumer.errors import Stop


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of `check`. `exit_code` is the command's exit code if this is the only failure."""

    level: Literal["ok", "warn", "fail"]
    subject: str
    text: str
    exit_code: int = 0

    def __str__(self) -> str:
        return f"{self.level:<4}  {self.subject}: {self.text}"

    def to_json(self) -> dict[str, object]:
        """JSON for programs."""
        return asdict(self)


def ok(subject: str, text: str) -> Finding:
    return Finding("ok", subject, text)


def warn(subject: str, text: str) -> Finding:
    return Finding("warn", subject, text)


def fail(subject: str, text: str, exit_code: int = Stop.exit_code) -> Finding:
    return Finding("fail", subject, text, exit_code)
