"""The style of the page, and the policy by which a browser loads nothing else for it."""

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256


@dataclass(frozen=True, slots=True)
class PageState:
    """The health of the consumer: `name` is its class in the style, `color` that of its icon."""

    name: str
    word: str
    color: str


READY = PageState("ready", "ready", "00796b")
NOT_READY = PageState("not-ready", "not ready", "d98200")
STOPPED = PageState("stopped", "stopped", "c62828")

STYLE = """
:root { color-scheme: light dark; --ink: #1b2430; --soft: #55606e; --paper: #fff;
  --ground: #eff3f5; --edge: #d9e0e6; --well: #00695c; --slow: #8a5200; --ill: #a82017; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ee; --soft: #a3afbb; --paper: #1a2129; --ground: #10151a;
    --edge: #323d48; --well: #4db6a5; --slow: #f0b04c; --ill: #ff8a7d; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 80rem; padding: 1.25rem 1rem; background: var(--ground);
  color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
header, footer { color: var(--soft); }
h1 { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .75rem; margin: 0;
  color: var(--ink); font-size: 1.7rem; line-height: 1.3; overflow-wrap: anywhere; }
h2 { margin: 0 0 .5rem; color: var(--soft); font-size: .95rem; font-weight: 600; }
main { display: grid; gap: 1rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }
section { min-width: 0; overflow-x: auto; padding: 1rem 1.25rem; background: var(--paper);
  border: 1px solid var(--edge); border-radius: .6rem; }
section > :last-child { margin-bottom: 0; }
.wide, .why { grid-column: 1 / -1; }
.why { border-left: .5rem solid var(--state); }
.why .soft { margin-top: .75rem; }
.ready { --state: var(--well); }
.not-ready { --state: var(--slow); }
.stopped { --state: var(--ill); }
.state { padding: .1rem .65rem; border: 1px solid var(--state); border-radius: 1rem;
  color: var(--state); font-size: .85rem; font-weight: 600; white-space: nowrap; }
td .state { padding: 0 .5rem; font-size: .75rem; }
p, ul, dl, figure { margin: 0 0 .5rem; overflow-wrap: anywhere; }
ul { padding-left: 1.25rem; }
.lead { margin-bottom: .6rem; font-size: 1.3rem; font-weight: 600; line-height: 1.35; }
.lead::first-letter, li::first-letter { text-transform: uppercase; }
.soft, th { color: var(--soft); font-weight: 400; }
code { display: block; width: fit-content; max-width: 100%; margin: .3rem 0; padding: .4rem .6rem;
  background: var(--ground); border: 1px solid var(--edge); border-radius: .3rem;
  font-size: .9rem; overflow-wrap: anywhere; user-select: all; }
footer code { display: inline; padding: .1rem .3rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.25rem; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; }
.figures { gap: .75rem 1.5rem; margin-bottom: .9rem;
  grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); }
.figures dd { font-size: 1.6rem; font-weight: 600; line-height: 1.2;
  font-variant-numeric: tabular-nums; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .3rem .75rem .3rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--edge); }
th { vertical-align: bottom; font-size: .85rem; }
tbody tr:last-child td { border-bottom: 0; }
td:first-child { min-width: 6.5rem; overflow-wrap: anywhere; }
th:last-child, td:last-child { padding-right: 0; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
.axis { display: flex; justify-content: space-between; margin: .15rem 0; color: var(--soft);
  font-size: .85rem; }
.plot { display: block; width: 100%; height: 10rem; border: 1px solid var(--edge); }
.area { fill: var(--well); fill-opacity: .18; }
.line, .grid, .limit { fill: none; vector-effect: non-scaling-stroke; }
.line { stroke: var(--well); stroke-width: 2; }
.grid { stroke: var(--edge); }
.limit { stroke: var(--slow); stroke-width: 1.5; stroke-dasharray: 6 4; }
.bar { display: block; width: 100%; min-width: 3rem; height: .8rem; margin-top: .35rem; }
.rail { fill: var(--edge); }
.share { fill: var(--well); }
a { color: var(--well); }
@media (max-width: 30rem) {
  body { padding: .75rem .5rem; font-size: 14px; }
  section { padding: .75rem; }
  dl:not(.figures) { display: block; }
  dl:not(.figures) dd { margin-bottom: .4rem; }
  .lead { font-size: 1.15rem; }
  .figures { grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); }
  .figures dd { font-size: 1.3rem; }
  th, td { padding-right: .5rem; }
}
"""


def icon(color: str) -> str:
    """The address of a dot, for a browser's tab."""
    return (
        "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E"
        f"%3Ccircle cx='4' cy='4' r='4' fill='%23{color}'/%3E%3C/svg%3E"
    )


_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()

CONTENT_SECURITY_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
