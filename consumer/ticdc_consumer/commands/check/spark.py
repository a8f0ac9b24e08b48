"""Checks of Spark."""

import re
import socket
from collections.abc import Iterator

from ticdc_consumer.commands.check.context import Premises
from ticdc_consumer.commands.check.finding import Finding, fail, ok
from ticdc_consumer.errors import Unavailable, Usage

PATIENCE = 5.0
"""Seconds that the master of a standalone cluster may take to answer."""

_MASTER = re.compile(
    r"local|local\[(\d+|\*)(,\s*\d+)?\]|local-cluster\[\d+,\s*\d+,\s*\d+\]|yarn|k8s://.+|spark://(.+)"
)
_FORMS = "local, local[N], yarn, spark://HOST:PORT or k8s://URL"


def spark(premises: Premises) -> Iterator[Finding]:
    """Checks the version, and that the master is valid; connects to a standalone cluster's."""
    import pyspark

    version, master = pyspark.__version__, premises.options.spark.get("spark.master")
    if master is None:
        yield ok("spark", f"{version}, with the default master or that of spark-submit")
        return
    form = _MASTER.fullmatch(master)
    if form is None:
        text = f"{version}, but [spark] master is {master}, not one of {_FORMS}"
        yield fail("spark", text, Usage.exit_code)
    elif form[3] and (reason := _unreachable(form[3])):
        text = f"{version}, but master {master} cannot be reached: {reason}"
        yield fail("spark", text, Unavailable.exit_code)
    else:
        yield ok("spark", f"{version}, master {master}")


def _unreachable(addresses: str) -> str:
    """The reason why none of the masters accepts a connection; "" if one does, which is enough."""
    reason = ""
    for address in addresses.split(","):
        host, _, port = address.strip().rpartition(":")
        if not host or not port.isdecimal():
            return f"{address} is not HOST:PORT"
        try:
            with socket.create_connection((host.strip("[]"), int(port)), PATIENCE):
                return ""
        except OSError as error:
            reason = f"{address}: {error.strerror or error}"
    return reason
