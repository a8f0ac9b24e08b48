"""Passwords of the options of this command, which none of its output shows."""

from typing import TYPE_CHECKING

from ticdc_consumer.config.redact import redact, secrets_of

if TYPE_CHECKING:
    from ticdc_consumer.config.options import Settings

_secrets: set[str] = set()


def hide_secrets(options: "Settings") -> None:
    """From now on the secrets of these options are masked in all output."""
    _secrets.update(secrets_of(options))


def masked(text: str) -> str:
    """The text without passwords."""
    return redact(text, _secrets)
