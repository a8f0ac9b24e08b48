"""The page says what a consumer is at and what to do, and runs nothing that a name brings."""

import re
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from support.loading import at
from ticdc_consumer.errors import Stop, Unavailable, WaitingDdl
from ticdc_consumer.status.activity.activity import CutActivity, LastDdl
from ticdc_consumer.status.activity.monitor import Monitor
from ticdc_consumer.status.metrics.history import HOUR, MOST_SAMPLES, STEP, LagSample, PageHistory
from ticdc_consumer.status.metrics.hosts import is_admitted
from ticdc_consumer.status.metrics.page import MOST_LINES, document
from ticdc_consumer.status.metrics.plot import HEIGHT, WIDTH, bar, lag_plot
from ticdc_encoder.tso import compose

R = compose(1_700_000_000_000)
"""Of tests that do not look at the lag."""


def ago(seconds: float) -> int:
    """A TSO of so long before now."""
    return compose(round((time.time() - seconds) * 1000))


def page(monitor: Monitor, samples: tuple[LagSample, ...] = ()) -> ET.Element:
    """Raises if it is not well-formed."""
    return ET.fromstring(document(monitor.look(), samples, 60))


def words(element: ET.Element) -> str:
    """What a reader sees of it, in one line."""
    body = element if element.tag != "html" else element[1]
    return " ".join(" ".join(body.itertext()).split())


def section(monitor: Monitor, heading: str) -> ET.Element:
    (one,) = (each for each in page(monitor).iter("section") if each[0].text == heading)
    return one


def busy() -> Monitor:
    monitor = Monitor("orders", "0.1.0")
    monitor.generation = 3
    positions, r = at(near=7, far=90), ago(5)
    marks = {"near": ago(0), "far": r}
    monitor.planned(CutActivity(r, r + 1, 100), {("near", 0): 1009, ("far", 0): 95}, marks)
    tables = {"shop.a": (1, 2), "shop.big": (0, 4711)}
    monitor.reached(r - 1, at(near=1, far=1))
    monitor.committed(r, positions, {}, tables, {"plan": 0.0, "read": 1.0, "load": 3.0})
    last = LastDdl("7:2", "DROP VIEW v", "skipped", "views are left out", 1_700_000_000.0)
    monitor.ran_ddls(["skipped"], 0.0, last)
    monitor.waiting(None, marks)
    return monitor


def stopped_at_a_ddl() -> Monitor:
    monitor = busy()
    sql = ("ALTER TABLE a ADD b INTEGER",)
    ddl = WaitingDdl("7:1", "the default is an expression", sql, tried=False, inexact="shop.a")
    monitor.waits_for_operator([ddl])
    monitor.sets_aside(("shop", "notes"), 7, "no such column")
    monitor.stopped(Stop("DDL 7:1 of shop.a stops"))
    return monitor


def again() -> Monitor:
    monitor = busy()
    monitor.retries(Unavailable("deadlock"), "target refused")
    return monitor


SAYS: list[tuple[Callable[[], Monitor], str, list[str]]] = [
    (
        Monitor,
        "Why",
        [
            "starting, 0.",
            "R is not known yet",
            "Not ready: the changefeed is not taken over yet",
        ],
    ),
    (Monitor, "Position", ["last commit – ", "R not known yet", "generation 0"]),
    (Monitor, "Lag", ["R is not known yet."]),
    (Monitor, "Where the time goes", ["No cut was applied yet."]),
    (Monitor, "DDL", ["No DDL waits for an operator.", "No DDL has come since the start."]),
    (Monitor, "Partitions", ["No partition is known yet."]),
    (Monitor, "Tables", ["No row was applied since the start."]),
    (busy, "Why", ["the consumer is working: waiting for a resolved ts", "The consumer is ready."]),
    (again, "Why", ["the consumer keeps retrying after an error (once so far): deadlock"]),
    (
        busy,
        "Position",
        [
            "lag 5.",
            "s ago messages after R 1,007 R 4",
            "stage waiting for a resolved",
        ],
    ),
    (busy, "Where the time goes", ["reading 25% 1.0 s", "the transaction 75% 3.0 s", "DDL 0%"]),
    (busy, "DDL", ["The last one, 7:2, was skipped at 2023-11-14 22:13:20 UTC"]),
    (busy, "DDL", ["views are left out", "DROP VIEW v"]),
    (busy, "Tables", ["shop.big 4,711 0 shop.a 2 1"]),
    (stopped_at_a_ddl, "Why", ["the DDL 7:1 waits for an operator: the default is an expression"]),
    (stopped_at_a_ddl, "Why", ["What to do", "Not ready: the consumer has stopped: DDL 7:1"]),
    (stopped_at_a_ddl, "Position", ["last error DDL 7:1 of shop.a stops"]),
    (stopped_at_a_ddl, "Quarantined", ["shop.notes has waited at R 7", "no such column"]),
    (stopped_at_a_ddl, "DDL", ["perhaps: ALTER TABLE a ADD b INTEGER But this was not tried"]),
    (stopped_at_a_ddl, "DDL", ["ticdc-consumer verify CONFIG --repair --table shop.a"]),
]


@pytest.mark.parametrize(("monitor", "heading", "expected"), SAYS)
def test_a_section_says_what_the_steps_reported(
    monitor: Callable[[], Monitor], heading: str, expected: list[str]
) -> None:
    text = words(section(monitor(), heading))
    assert [each for each in expected if each not in text] == [], text


def test_commands_are_set_apart_to_be_copied() -> None:
    commands = [code.text for code in page(stopped_at_a_ddl()).iter("code")]
    # At the top, and in the section of DDL.
    assert commands.count("ticdc-consumer run CONFIG --ddl-done 7:1") == 2
    assert commands.count("ALTER TABLE a ADD b INTEGER") == 2


STATES: list[tuple[Callable[[], Monitor], str]] = [
    (Monitor, "ticdc-consumer: not ready"),
    (busy, "orders: ready"),
    (again, "orders: ready"),
    (stopped_at_a_ddl, "orders: stopped"),
]


@pytest.mark.parametrize(("monitor", "expected"), STATES)
def test_a_tab_says_how_the_consumer_is(monitor: Callable[[], Monitor], expected: str) -> None:
    shown = page(monitor())
    assert shown.findtext("head/title") == expected
    assert shown.findtext("body/header/h1/span") == expected.partition(": ")[2]


def rows(monitor: Monitor) -> list[list[str]]:
    lines = list(section(monitor, "Partitions").iter("tr"))
    return [[" ".join(cell.itertext()) for cell in line] for line in lines[1:]]


def test_the_partition_that_holds_r_back_comes_first() -> None:
    first, second = rows(busy())
    assert first[:3] == ["far[0]  R waits for its next", "90", "95"]
    assert second[0] == "near[0]"
    assert rows(stopped_at_a_ddl())[0][0] == "far[0]  holds R back"
    unread = busy()
    unread.waiting(None, {"far": unread.resolved_ts})
    assert [line[0] for line in rows(unread) if "holds" in line[0] or "waits" in line[0]] == [
        "near[0]  R waits for its next"
    ]
    ahead = busy()
    ahead.waiting(None, {"near": ago(0), "far": ago(0)})
    assert [line for line in rows(ahead) if "holds" in line[0] or "waits" in line[0]] == []


def test_a_long_table_ends_with_how_many_are_left_out() -> None:
    monitor = Monitor("orders")
    many = {f"shop.t{n}": (0, n) for n in range(MOST_LINES + 7)}
    monitor.committed(R, at(**{f"p{n}": n for n in range(MOST_LINES + 7)}), {}, many, {})
    for heading in ("Tables", "Partitions"):
        one = section(monitor, heading)
        assert len(list(one.iter("tr"))) == MOST_LINES + 1
        assert words(one).endswith("7 more are in /metrics.")


HOSTILE = "<script>alert(1)</script>\"'&\x00\x1b[31m\u202e\ud800"


def hostile() -> Monitor:
    monitor = Monitor(HOSTILE, HOSTILE)
    monitor.generation = 1
    monitor.committed(R, at(**{HOSTILE: 1}), {}, {HOSTILE: (1, 1)}, {"load": 1.0})
    monitor.ran_ddls(["done"], 0.0, LastDdl(HOSTILE, HOSTILE, "done", HOSTILE, 0.0))
    monitor.waits_for_operator([WaitingDdl(HOSTILE, HOSTILE, (HOSTILE,))])
    monitor.sets_aside((HOSTILE, HOSTILE), 7, HOSTILE)
    monitor.retries(Unavailable(HOSTILE), "target unreachable")
    monitor.unwritten = HOSTILE
    monitor.session = HOSTILE
    return monitor


class Tags(HTMLParser):
    """The tags and attributes that a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_a_hostile_name_is_text() -> None:
    monitor = hostile()
    text = document(monitor.look(), (), 60)
    tags = Tags()
    tags.feed(text)
    assert tags.tags.isdisjoint({"script", "img", "iframe", "form", "object", "base"})
    assert not {name for name in tags.attributes if name.startswith("on") or name == "style"}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;&amp;" in text
    assert not re.search("[\x00\x1b\u202e\ud800]", text)
    assert words(page(monitor)).count("<script>alert(1)</script>") >= 9
    text.encode()


def test_nothing_is_loaded_from_elsewhere() -> None:
    text = document(busy().look(), (), 60)
    icon, *links = re.findall(r'(?:href|src)="([^"]*)"', text)
    assert icon.startswith("data:image/svg+xml,") and links == ["/metrics", "/healthz", "/readyz"]
    text = text.replace("xmlns='http://www.w3.org/2000/svg'", "")
    assert "url(" not in text and "@import" not in text and "://" not in text


def test_no_secret_is_on_the_page() -> None:
    monitor = Monitor("orders", secrets=frozenset({"canary"}))
    monitor.waits_for_operator([WaitingDdl("7:1", "no access for canary")])
    monitor.ran_ddls(["done"], 0.0, LastDdl("7:1", "DROP VIEW v", "done", "by canary", 0.0))
    monitor.retries(Unavailable("canary is refused"), "target unreachable")
    monitor.unwritten = "canary is refused"
    monitor.waiting(None, {}, trouble=Unavailable("canary is refused"))
    monitor.stopped(Stop("canary is refused"))
    text = document(monitor.look(), (), 60)
    assert "canary" not in text and text.count("***") >= 4


def samples(number: int, now: float) -> list[LagSample]:
    """From the oldest to the newest, which is `now`."""
    return [LagSample(now - STEP * n, float(n)) for n in reversed(range(number))]


def test_a_plot_of_an_hour_has_all_its_samples() -> None:
    now = 1_700_000_000.0
    svg = ET.fromstring(lag_plot(samples(MOST_SAMPLES, now), now, 60.0)).find("svg")
    assert svg is not None
    assert svg.get("aria-label") == "lag over the last 60 min: 0.0 s now, 4 min at most"
    line, area = svg.find("polyline"), svg.find("polygon")
    assert line is not None and area is not None
    points = [tuple(map(float, each.split(","))) for each in line.get("points", "").split()]
    assert len(points) == MOST_SAMPLES == 240
    assert points[0] == (0, 0)
    assert points[-1] == (WIDTH, HEIGHT)
    assert all(a[0] < b[0] and a[1] < b[1] for a, b in pairwise(points))
    assert len(area.get("points", "").split()) == MOST_SAMPLES + 2


PLOTS: list[tuple[list[LagSample], str]] = [
    ([], ""),
    ([LagSample(100.0, 5.0)], ""),
    ([LagSample(-HOUR, 5.0), LagSample(100.0, 5.0)], ""),
    ([LagSample(40.0, 0.0), LagSample(100.0, 0.0)], "R rose by 60.0 s in the last 60.0 s."),
    ([LagSample(40.0, 0.0), LagSample(100.0, 60.0)], "R rose by 0.0 s in the last 60.0 s."),
]


@pytest.mark.parametrize(("points", "expected"), PLOTS)
def test_a_plot_says_how_far_r_rose(points: list[LagSample], expected: str) -> None:
    plot = lag_plot(points, 100.0, 60.0)
    assert bool(plot) == bool(expected) and expected in plot


LIMITS = [(30.0, "M0 80.0H720"), (60.0, None), (90.0, None)]


@pytest.mark.parametrize(("limit", "expected"), LIMITS)
def test_a_plot_shows_the_limit_that_the_lag_was_above(limit: float, expected: str | None) -> None:
    plot = lag_plot([LagSample(40.0, 0.0), LagSample(100.0, 60.0)], 100.0, limit)
    line = ET.fromstring(plot).find("svg/path[@class='limit']")
    assert (line.get("d") if line is not None else None) == expected
    assert ("Above the dashed line (30.0 s) it is not ready." in plot) is (expected is not None)


def test_the_page_has_the_plot_up_to_now() -> None:
    monitor = busy()
    plot = page(monitor, (LagSample(time.time() - 30, 9.0),)).find(".//polyline")
    assert plot is not None and len(plot.get("points", "").split()) == 2
    assert "No samples yet." in words(section(monitor, "Lag"))


@pytest.mark.parametrize(("share", "width"), [(0.0, "0.0"), (0.25, "25.0"), (1.5, "100.0")])
def test_a_bar_is_as_long_as_its_share(share: float, width: str) -> None:
    assert ET.fromstring(bar(share))[1].get("width") == width


def test_an_hour_of_samples_is_remembered() -> None:
    now = 0.0
    history, monitor = PageHistory(lambda: now), Monitor()
    history.note(monitor.look)
    assert list(history.samples) == []  # there is no R
    monitor.resolved_ts = R
    history.note(monitor.look)
    assert list(history.samples) == []  # it is not due yet
    for n in range(1, 2 * MOST_SAMPLES):
        now = n * STEP
        history.note(monitor.look)
        history.note(monitor.look)
        assert len(history.samples) == min(n, MOST_SAMPLES)
    assert history.samples[0].at <= history.samples[-1].at
    first = history.samples[0]
    assert first.lag == pytest.approx(first.at - 1_700_000_000, abs=0.01)


def test_tables_come_by_their_rate_over_the_last_minute() -> None:
    monitor = Monitor()
    looks = [replace(monitor.look(), at=1000.0 + STEP * n, tables=tables) for n, tables in ROWS]
    now = 0.0
    history = PageHistory(lambda: now)
    for look in looks[:-1]:
        now += STEP
        history.note(iter([look]).__next__)
    rates = history.rates(looks[-1])
    assert rates == {"shop.a": pytest.approx(1.0), "shop.b": pytest.approx(6.0)}
    text = document(looks[-1], (), 60, rates)
    assert text.index("shop.b") < text.index("shop.a") and '<td class="number">6</td>' in text
    assert history.rates(replace(looks[-1], at=1000.5)) == {}


ROWS: list[tuple[int, dict[str, tuple[int, int]]]] = [
    (0, {"shop.a": (1, 999)}),
    (1, {"shop.a": (1, 1000)}),
    (2, {"shop.a": (11, 1019), "shop.b": (0, 180)}),
]
"""The number of a sample, and rows deleted and written by table."""


def test_the_stage_of_the_cut_under_way_is_marked() -> None:
    monitor = busy()
    monitor.applies(CutActivity(R, R + 1, 9, changes=9))
    with monitor.at("applying", "the cut"):
        assert "the transaction now, 0.0 s" in words(section(monitor, "Where the time goes"))
    assert "now" not in words(section(busy(), "Where the time goes"))


HOSTS: list[tuple[list[str], bool]] = [
    (["127.0.0.1:9464"], True),
    (["127.0.0.1"], True),
    (["10.1.2.3:80"], True),
    (["[::1]:9464"], True),
    (["localhost:9464"], True),
    (["LOCALHOST"], True),
    (["consumer.internal:9464"], True),
    ([], False),
    ([""], False),
    (["evil.example"], False),
    (["127.0.0.1.evil.example:9464"], False),
    (["evil.example@127.0.0.1"], False),
    (["127.0.0.1/evil.example"], False),
    (["localhost.evil.example"], False),
    (["[evil.example]"], False),
    (["127.0.0.1\n"], False),
    (["127.0.0.1", "evil.example"], False),
]


@pytest.mark.parametrize(("headers", "expected"), HOSTS)
def test_a_name_that_is_not_ours_is_refused(headers: list[str], expected: bool) -> None:
    assert is_admitted(headers, "consumer.internal") is expected
