"""Host names to which the page answers: a foreign page could have its own DNS name point here, and
then read the answer in the browser of an operator."""

import re
from collections.abc import Sequence
from ipaddress import ip_address

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::[0-9]{1,5})?", re.I | re.A)


def is_admitted(headers: Sequence[str], listen: str) -> bool:
    """Returns whether the request has exactly one `Host`: an IP address, `localhost`, or the host
    of `[metrics] listen`."""
    match = _HOST.fullmatch(headers[0]) if len(headers) == 1 else None
    if match is None:
        return False
    name = (match[1] or match[2]).lower()
    return name in ("localhost", listen.lower()) or _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
