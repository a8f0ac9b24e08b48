"""Pictures of the page, as inline SVG. Their text is HTML instead, so that it keeps its size on a
phone."""

from collections.abc import Sequence

from ticdc_encoder.tso import duration

from ticdc_consumer.status.metrics.history import HOUR, LagSample

WIDTH, HEIGHT = 720, 160
LEAST_TOP = 1.0
"""Least seconds that the height stands for."""


def lag_plot(samples: Sequence[LagSample], now: float, limit: float) -> str:
    """The lag over the last hour, or since the oldest sample, and the `limit` beyond which it is
    too much; "" without two samples."""
    recent = [sample for sample in samples if 0 <= now - sample.at <= HOUR]
    if len(recent) < 2:
        return ""
    most = max(sample.lag for sample in recent)
    top = max(LEAST_TOP, most)
    whole = now - recent[0].at
    if not whole:
        return ""
    points = [_point((now - sample.at) / whole, sample.lag / top) for sample in recent]
    line = " ".join(points)
    left, right = (point.partition(",")[0] for point in (points[0], points[-1]))
    since = duration(whole)
    first, last = recent[0], recent[-1]
    risen = (last.at - last.lag) - (first.at - first.lag)
    label = f"lag over the last {since}: {duration(last.lag)} now, {duration(most)} at most"
    limited = f" Above the dashed line ({duration(limit)}) it is not ready." if limit < top else ""
    return (
        f'<figure><figcaption class="axis"><span>{duration(top)}</span></figcaption>'
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" '
        f'role="img" aria-label="{label}">{_grid(limit, top)}'
        f'<polygon class="area" points="{left},{HEIGHT} {line} {right},{HEIGHT}"/>'
        f'<polyline class="line" points="{line}"/></svg>'
        f'<p class="axis"><span>{_ago(whole)}</span><span>{_ago(whole / 2)}</span>'
        "<span>now</span></p>"
        f"<p>At most {duration(most)}; R rose by {duration(max(0.0, risen))} in the last {since}."
        f"{limited}</p></figure>"
    )


def _ago(age: float) -> str:
    return f"{age:.0f} s ago" if 10 <= age < 120 else f"{duration(age)} ago"


def _grid(limit: float, top: float) -> str:
    """The grid: quarters of the time, half the height, and the limit."""
    upright = (f"M{WIDTH * n // 4} 0V{HEIGHT}" for n in (1, 2, 3))
    lines = f'<path class="grid" d="{"".join(upright)}M0 {HEIGHT // 2}H{WIDTH}"/>'
    if limit >= top:
        return lines
    return f'{lines}<path class="limit" d="M0 {HEIGHT * (1 - limit / top):.1f}H{WIDTH}"/>'


def _point(age: float, height: float) -> str:
    """Point of the plot, from coordinates between 0 and 1."""
    return f"{WIDTH * (1 - age):.1f},{HEIGHT * (1 - height):.1f}"


def bar(share: float) -> str:
    """A bar that shows a share, 0 to 1; the figure next to it says the same."""
    width = 100 * min(1.0, max(0.0, share))
    return (
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="rail" width="100" height="10"/>'
        f'<rect class="share" width="{width:.1f}" height="10"/></svg>'
    )
