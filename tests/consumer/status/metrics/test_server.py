"""The port answers Prometheus, probes and browsers, and nobody else."""

import re
import socket
import time
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.client import HTTPConnection

import pytest
from prometheus_client import CollectorRegistry, Gauge
from ticdc_consumer.errors import Fenced, Usage
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.status.metrics.server import MetricsServer
from ticdc_encoder.tso import compose

HOST = "127.0.0.1"


@contextmanager
def serving(monitor: Monitor, ready_lag: float = 60) -> Iterator[str]:
    registry = CollectorRegistry()
    Gauge("answer", "Of everything.", registry=registry).set(42)
    server = MetricsServer((HOST, 0), registry, monitor.look, ready_lag)
    try:
        yield f"http://{HOST}:{server.port}"
    finally:
        server.close()


def fetched(url: str, accept: str = "", method: str = "GET") -> tuple[int, str, str]:
    """Status, type and text."""
    request = urllib.request.Request(url, headers={"Accept": accept}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read().decode()


OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def test_metrics_come_in_the_format_that_is_asked_for() -> None:
    with serving(Monitor()) as url:
        status, kind, text = fetched(f"{url}/metrics")
        assert (status, kind.split(";")[0]) == (200, "text/plain") and "answer 42.0" in text
        status, kind, text = fetched(f"{url}/metrics?name=x", OPENMETRICS)
        assert kind.startswith("application/openmetrics-text") and text.endswith("# EOF\n")
        assert fetched(f"{url}/metrics", method="HEAD")[2] == ""
        status, _, text = fetched(f"{url}/other")
        assert status == 404 and "there are /, /metrics, /healthz and /readyz" in text
        assert fetched(f"{url}/metrics", method="POST")[0] == 501


def begun(monitor: Monitor) -> None:
    monitor.generation = 1


def caught_up(monitor: Monitor) -> None:
    begun(monitor)
    monitor.resolved_ts = compose(4_000_000_000_000)


def behind(monitor: Monitor) -> None:
    begun(monitor)
    monitor.resolved_ts = compose(1)


def fenced(monitor: Monitor) -> None:
    caught_up(monitor)
    monitor.stopped(Fenced("a newer consumer took over"))


READINESS: list[tuple[Callable[[Monitor], None], int, str]] = [
    (lambda _: None, 503, "not taken over yet; starting, "),
    (begun, 503, "behind"),
    (behind, 503, "the limit is 60.0 s (metrics.ready_lag); starting, "),
    (caught_up, 200, "ready"),
    (fenced, 503, "the consumer has stopped: a newer consumer took over"),
]


@pytest.mark.parametrize(("report", "expected", "words"), READINESS)
def test_readyz_says_whether_the_target_is_to_be_relied_on(
    report: Callable[[Monitor], None], expected: int, words: str
) -> None:
    monitor = Monitor("shop", "0.1.0")
    report(monitor)
    with serving(monitor) as url:
        status, _, text = fetched(f"{url}/readyz")
        assert status == expected and words in text
        assert fetched(f"{url}/healthz")[::2] == (200, "ok\n")


def test_a_client_that_says_nothing_keeps_nobody_waiting() -> None:
    with serving(Monitor()) as url:
        port = int(url.rpartition(":")[2])
        with socket.create_connection((HOST, port)):
            assert fetched(f"{url}/healthz")[0] == 200


def test_a_port_that_is_taken_is_refused_by_name() -> None:
    with serving(Monitor()) as url:
        port = int(url.rpartition(":")[2])
        with pytest.raises(Usage, match=rf"metrics.listen: {HOST}:{port} cannot be listened on"):
            MetricsServer((HOST, port), CollectorRegistry(), Monitor().look, 60)


def asked(
    url: str, host: str | None = None, method: str = "GET", path: str = "/"
) -> tuple[int, dict[str, str], str]:
    """Status, headers and text."""
    address = url.removeprefix("http://")
    connection = HTTPConnection(address, timeout=60)
    connection.request(method, path, headers={"Host": address if host is None else host})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, dict(answer.getheaders()), text


def test_the_page_may_load_nothing_but_its_own_style_and_icon() -> None:
    with serving(Monitor("shop", "0.1.0")) as url:
        status, headers, text = asked(url)
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        (style,) = re.findall("<style>(.*?)</style>", text, re.DOTALL)
        digest = b64encode(sha256(style.encode()).digest()).decode()
        policy = headers["Content-Security-Policy"].split("; ")
        style_alone = ["default-src 'none'", f"style-src 'sha256-{digest}'", "img-src data:"]
        assert policy[:3] == style_alone
        assert "frame-ancestors 'none'" in policy and "unsafe" not in str(policy)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert (headers["Cache-Control"], headers["Refresh"]) == ("no-store", "15")
        assert "<h1>shop <span" in text
        assert asked(url, path="/?x=1")[2].startswith("<!DOCTYPE html>")


def test_the_page_is_read_only() -> None:
    with serving(Monitor()) as url:
        status, headers, text = asked(url, method="HEAD")
        assert (status, text) == (200, "") and int(headers["Content-Length"]) > 1000
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            assert asked(url, method=method)[0] == 501


def test_the_page_is_not_for_a_name_that_others_may_point_here() -> None:
    with serving(Monitor("shop")) as url:
        status, _, text = asked(url, "evil.example")
        assert status == 421 and "shop" not in text
        assert "answers to localhost and 127.0.0.1 and to IP addresses" in text
        assert asked(url, "localhost")[0] == 200
        # Prometheus may find it by any name.
        assert asked(url, "consumer.internal:9464", path="/metrics")[0] == 200


def test_the_page_has_the_lag_since_the_start() -> None:
    monitor = Monitor("shop")
    monitor.resolved_ts = compose(1)
    with serving(monitor) as url:
        ends = time.monotonic() + 60
        while "<polyline" not in asked(url)[2]:
            assert time.monotonic() < ends
            time.sleep(0.05)
