"""Masking of passwords in the options of this command: none of its output shows them."""

from typing import TYPE_CHECKING

from ticdc_consumer.config.redact import redact, secrets_of

if TYPE_CHECKING:
    from ticdc_consumer.config.options import Settings

_secrets: set[str] = set()


def hide_secrets(options: "Settings") -> None:
    """Masks the secrets of these options in all output from now on."""
    _secrets.update(secrets_of(options))


def masked(text: str) -> str:
    """The text without passwords."""
    return redact(text, _secrets)
