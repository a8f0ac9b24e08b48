"""Makes docs/pictures: a recording of the demo, and its page as a browser shows it."""

import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Sequence
from html import escape
from pathlib import Path

from support.browser import Scheme, browser, look_at, picture
from support.ports import free_port

FOLDER = Path(__file__).parent / "pictures"
PROGRAM = "from ticdc_consumer.cli import main; main(['demo', *__import__('sys').argv[1:]])"
COLUMNS = 100
CELL, ROW, EDGE = 7.8, 19, 14
"""Width and height of a character, and of the edge, in pixels."""
LONGEST = 1.0
"""Seconds, at most, that nothing comes in the recording."""
WATCHED = 150.0
"""Seconds that the page is watched, before its picture is taken."""
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}">
<style>
text {{ font: 13px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #d5dce3;
  white-space: pre; }}
.loud {{ fill: #7ddbc9; font-weight: bold; }}
.over {{ visibility: hidden; }}
@keyframes come {{ from {{ visibility: hidden }} }}
@keyframes pass {{ from, to {{ visibility: visible }} }}
@media (prefers-reduced-motion) {{ text {{ animation: none !important; }} }}
</style>
<rect width="100%" height="100%" rx="10" fill="#1b222a"/>
{texts}
</svg>
"""

Line = tuple[float, str]
"""Seconds after the start, and what was printed then."""


def recorded(folder: str) -> list[Line]:
    """A run of the demo there, after its command. Raises `CalledProcessError` if it fails."""
    arguments = ("--target", "sqlite:///shop.db")
    command = [sys.executable, "-c", PROGRAM, *arguments]
    lines = [(0.0, f"$ ticdc-consumer demo {' '.join(arguments)}")]
    began = time.monotonic()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines += [(time.monotonic() - began, line.rstrip("\n")) for line in process.stdout]
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return lines


def animated(lines: Sequence[Line]) -> str:
    """A terminal as SVG, in which each line comes when it came, but not later than `LONGEST` after
    the one before; one of progress takes the place of the last. Where nothing may move, and at the
    end, it shows what is left on the screen."""
    now = before = 0.0
    row = 0
    texts: list[str] = []
    for number, (seconds, line) in enumerate(lines):
        now, before = now + min(LONGEST, seconds - before), seconds
        following = lines[number + 1] if number + 1 < len(lines) else (seconds, "")
        if _is_progress(line) and _is_progress(following[1]):
            gap = min(LONGEST, following[0] - seconds)
            texts.append(_text(line[:COLUMNS], row, f"pass {gap:.1f}s {now:.1f}s", "over"))
            continue
        css_class = "loud" if line.startswith(("$", "every table")) else ""
        parts = (
            [line[:COLUMNS]]
            if _is_progress(line)
            else textwrap.wrap(line, COLUMNS, break_on_hyphens=False)
        )
        for part in parts:
            texts.append(_text(part, row, f"come {now:.1f}s step-end", css_class))
            row += 1
    width, height = COLUMNS * CELL + 2 * EDGE, row * ROW + 2 * EDGE
    return SVG.format(width=width, height=height, texts="\n".join(texts))


def _is_progress(line: str) -> bool:
    return line.startswith("R ")


def _text(line: str, row: int, animation: str, css_class: str) -> str:
    place = f'x="{EDGE}" y="{EDGE + (row + 0.75) * ROW:.0f}" textLength="{len(line) * CELL:.0f}"'
    look = f'class="{css_class}" style="animation: {animation}"'
    return f'<text {place} xml:space="preserve" {look}>{escape(line)}</text>'


def take_pictures(folder: Path) -> None:
    """Of the page of a demo, in both schemes."""
    port = free_port()
    command = [sys.executable, "-c", PROGRAM, "--page", str(port)]
    with browser() as chrome, subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            time.sleep(WATCHED)
            for scheme in SCHEMES:
                look_at(chrome, f"http://127.0.0.1:{port}/", scheme=scheme)
                picture(chrome, folder / f"page-{scheme}.png")
        finally:
            process.terminate()


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        (FOLDER / "demo.svg").write_text(animated(recorded(folder)))
    take_pictures(FOLDER)


if __name__ == "__main__":
    main()
