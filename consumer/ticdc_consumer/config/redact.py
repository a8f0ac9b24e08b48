"""Removal of passwords from everything that is printed."""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, urlsplit

if TYPE_CHECKING:
    from ticdc_consumer.config.options import Settings

MASK = "***"

_SECRET_NAME = re.compile(
    r"pass|pwd|secret|token|credential|\.pem$|jaas|user\.info|oauthbearer\.config", re.I
)
_IN_URL = re.compile(r"(\w[\w+.-]*://[^\s:/@'\"]*):[^\s'\"]*@")
_AS_PARAMETER = re.compile(
    r"""((?:password|passwd|pwd|passphrase|secret|token)['"]?\s*[=:]\s*)"""
    r"""("[^"]*"|'[^']*'|[^\s&;,)}]+)""",
    re.I,
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without passwords: those of URLs, those after a `password=`, and `secrets`
    themselves, plain or URL-encoded."""
    for secret in sorted(secrets, key=len, reverse=True):
        for form in {secret, quote(secret), quote(secret, safe=""), quote_plus(secret)}:
            text = text.replace(form, MASK)
    text = _IN_URL.sub(rf"\1:{MASK}@", text)
    return _AS_PARAMETER.sub(rf"\1{MASK}", text)


def secrets_of(options: "Settings") -> frozenset[str]:
    """The secret values among the options.

    Values of one or two characters are left to the patterns of `redact`: masking each of their
    occurrences would make every text unreadable.
    """
    import sqlalchemy as sa  # takes half a second, which `--help` need not wait for

    registry = options.registry.get("url")
    urls = (options.claim_check_url, options.storage_url, options.dump_url, registry)
    prefixes = filter(None, urls)
    secrets = {urlsplit(prefix).password or "" for prefix in prefixes}
    for url in map(sa.make_url, filter(None, (options.target_url, options.upstream_url))):
        secrets |= {str(url.password or ""), *secret_values(_flat(url.query))}
    for settings in (options.kafka, options.registry, options.spark):
        secrets |= secret_values(settings)
    return frozenset(secret for secret in secrets if len(secret) > 2)


def secret_values(settings: Mapping[str, str]) -> set[str]:
    """Returns the values of settings with secret names."""
    return {value for name, value in settings.items() if _SECRET_NAME.search(name)}


def _flat(query: Mapping[str, str | tuple[str, ...]]) -> dict[str, str]:
    return {
        name: value if isinstance(value, str) else value[-1]
        for name, value in query.items()
        if value
    }
