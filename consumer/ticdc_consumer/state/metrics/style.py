"""How the page looks, and what a browser may load for it: nothing but this."""

from base64 import b64encode
from hashlib import sha256

STYLE = """
:root { color-scheme: light dark; --ink: #1b2430; --soft: #55606e; --paper: #fff;
  --ground: #f2f5f7; --edge: #d5dce3; --well: #00695c; --ill: #a82017; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e9ee; --soft: #a3afbb; --paper: #1b222a; --ground: #11161b;
    --edge: #36414c; --well: #4db6a5; --ill: #ff8a7d; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem; background: var(--ground);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
header, footer { color: var(--soft); }
h1 { margin: 0; color: var(--ink); font-size: 1.6rem; overflow-wrap: anywhere; }
h2 { margin: 0 0 .5rem; font-size: 1.1rem; }
main { display: grid; gap: 1rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }
section { min-width: 0; overflow-x: auto; padding: 1rem; background: var(--paper);
  border: 1px solid var(--edge); border-radius: .5rem; }
section.why { grid-column: 1 / -1; border-left: .4rem solid var(--well); }
section.why.ill { border-left-color: var(--ill); }
p, ul, dl, figure { margin: 0 0 .5rem; overflow-wrap: anywhere; }
.lead { font-size: 1.25rem; font-weight: 600; }
.soft, th { color: var(--soft); font-weight: 400; }
code { display: block; width: fit-content; max-width: 100%; margin: .25rem 0; padding: .4rem .6rem;
  background: var(--ground); border: 1px solid var(--edge); border-radius: .3rem;
  overflow-wrap: anywhere; user-select: all; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
dt { color: var(--soft); }
dd { margin: 0; min-width: 0; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .2rem .6rem .2rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--edge); overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.axis { display: flex; justify-content: space-between; color: var(--soft); font-size: .85rem; }
.plot { display: block; width: 100%; height: 9rem; border: 1px solid var(--edge); }
.area { fill: var(--well); fill-opacity: .18; }
.line { fill: none; stroke: var(--well); stroke-width: 2; vector-effect: non-scaling-stroke; }
.bar { display: block; width: 100%; min-width: 5rem; height: 1rem; margin-top: .3rem; }
.rail { fill: var(--edge); }
.share { fill: var(--well); }
a { color: var(--well); }
"""

_HASH = b64encode(sha256(STYLE.encode()).digest()).decode()

CONTENT_SECURITY_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
