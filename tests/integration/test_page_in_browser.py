"""A real Chromium draws the page, in each scheme and width, and has nothing to say against it."""

import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from prometheus_client import CollectorRegistry
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from support.browser import DESKTOP, PHONE, Scheme, browser, console, look_at, text_of
from support.loading import at
from ticdc_consumer.errors import Stop, WaitingDdl
from ticdc_consumer.status.activity.activity import CutActivity
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.status.metrics.server import MetricsServer
from ticdc_consumer.waiting import until
from ticdc_encoder.tso import compose

LONG_NAME = "shop." + "a_table_with_a_name_for_which_no_phone_is_wide_enough_" * 3


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chrome]:
    with browser() as chrome:
        yield chrome


def consumer(lag: float) -> Monitor:
    monitor = Monitor("orders", "0.1.0")
    monitor.generation = 1
    r = compose(round((time.time() - lag) * 1000))
    marks = {"orders": r, "payments": r}
    monitor.planned(CutActivity(r, r + 1, 9), {("orders", 0): 1_480_112}, marks)
    tables = {"shop.items": (1, 2), LONG_NAME: (0, 4711)}
    positions = at(orders=480_000, payments=7)
    monitor.committed(r, positions, {}, tables, {"read": 1.0, "load": 3.0})
    monitor.waiting(time.time(), marks)
    return monitor


def healthy() -> Monitor:
    return consumer(2)


def lagging() -> Monitor:
    return consumer(1800)


def stopped() -> Monitor:
    monitor = consumer(600)
    monitor.waits_for_operator([WaitingDdl("7:1", "no counterpart", ("ALTER TABLE a ADD b INT",))])
    monitor.stopped(Stop("DDL 7:1 of shop.a stops"))
    return monitor


@contextmanager
def serving(monitor: Monitor) -> Iterator[str]:
    """Its page, with a sample of the lag."""
    server = MetricsServer(("127.0.0.1", 0), CollectorRegistry(), monitor.look, 60)
    url = f"http://127.0.0.1:{server.port}/"

    def has_sample() -> bool:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return b"<polyline" in answer.read()

    try:
        assert until(has_sample, 60)
        yield url
    finally:
        server.close()


STATES: list[tuple[Callable[[], Monitor], str, str, str]] = [
    (healthy, "ready", "all is well: everything that TiCDC has resolved is applied", "nothing"),
    (lagging, "not ready", "TiCDC itself is behind", "look at TiCDC: its checkpoint lag"),
    (stopped, "stopped", "7:1 waits for an operator", "ticdc-consumer run CONFIG --ddl-done 7:1"),
]


@pytest.mark.parametrize(("monitor", "state", "why", "advice"), STATES)
def test_an_operator_sees_how_it_is_and_what_to_do(
    chromium: Chrome, monitor: Callable[[], Monitor], state: str, why: str, advice: str
) -> None:
    with serving(monitor()) as url:
        look_at(chromium, url)
        assert console(chromium) == []
        assert chromium.title == f"orders: {state}"
        assert text_of(chromium, "h1") == f"orders {state}"
        assert why in text_of(chromium, ".why .lead")
        assert advice in text_of(chromium, ".why")
        holds = "R waits for its next" if state == "ready" else "holds R back"
        assert f"payments[0] {holds}" in text_of(chromium, "main")
        assert "shop.items 2 1" in text_of(chromium, "main")
        points = chromium.find_element(By.CSS_SELECTOR, "svg.plot polyline")
        box = points.find_element(By.XPATH, "..").size
        assert len((points.get_attribute("points") or "").split()) >= 2
        assert box["width"] > 1000 and box["height"] > 100


COLORS: list[tuple[Scheme, str, str]] = [
    ("light", "rgba(239, 243, 245, 1)", "rgb(0, 105, 92)"),
    ("dark", "rgba(16, 21, 26, 1)", "rgb(77, 182, 165)"),
]


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize(("scheme", "ground", "line"), COLORS)
def test_the_page_takes_the_scheme_and_the_width_of_its_reader(
    chromium: Chrome, scheme: Scheme, ground: str, line: str, width: int
) -> None:
    with serving(stopped()) as url:
        look_at(chromium, url, width, scheme)
        body = chromium.find_element(By.TAG_NAME, "body")
        drawn = chromium.find_element(By.CSS_SELECTOR, "polyline")
        assert body.value_of_css_property("background-color") == ground
        assert drawn.value_of_css_property("stroke") == line
        assert console(chromium) == []
        wide = "return [document.documentElement, ...document.querySelectorAll('section')]" + (
            ".filter(each => each.scrollWidth > each.clientWidth).map(each => each.innerText)"
        )
        assert chromium.execute_script(wide) == []
        assert body.size["width"] == (DESKTOP if width == DESKTOP else PHONE)


def test_the_page_needs_no_script(chromium: Chrome) -> None:
    script = "<p>off</p><script>document.querySelector('p').textContent = 'on'</script>"
    chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        chromium.get(f"data:text/html,{script}")
        assert text_of(chromium, "p") == "off"
        with serving(healthy()) as url:
            look_at(chromium, url)
            assert text_of(chromium, "h1") == "orders ready"
            assert chromium.find_element(By.CSS_SELECTOR, "svg.plot").size["height"] > 100
    finally:
        chromium.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


COMPLAINTS = [
    ("what the policy forbids", "<p style='color: red'>x</p>"),
    ("an error of a script", "<script>nobody.knows()</script>"),
]


@pytest.mark.parametrize(("why", "markup"), COMPLAINTS)
def test_a_complaint_would_be_heard(chromium: Chrome, why: str, markup: str) -> None:
    policy = "script-src 'unsafe-inline'; style-src 'none'"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    chromium.get(f"data:text/html,{head}{markup}")
    assert len(console(chromium)) == 1, why
