"""Line charts over time, numbers of clusters and thresholds, and the bars of a domain by day."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup

from segapsith.domains.timeline import GAP_DAYS, Timeline, duration
from segapsith.model import Record
from segapsith.report.charts.svg import number, picture, tag, text

__all__ = ["day_bars", "over_clusters", "over_time", "thresholds"]

WIDTH, HEIGHT = 960.0, 260.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 20.0, 16.0, 40.0
BARS_WIDTH, BREAK = 160.0, 11.0
"""Width of the bars of a domain by day, and of a break in their axis."""


def over_time(
    history: Sequence[Record], label: str, translate: Callable[[str], str] = str
) -> Markup:
    """Draw kappa with its interval, and the share of units, for each validation."""
    validations = [one for one in history if one["kappa"] is not None]
    xs = _positions(len(validations))
    parts = [*_grid(), *_pauses(xs, [one["at"] for one in validations])]
    band = [(x, one["kappa_low"], one["kappa_high"]) for x, one in zip(xs, validations, strict=True)
            if one["kappa_low"] is not None]  # fmt: skip
    if len(band) > 1:
        upper = "L".join(f"{number(x)} {number(_y(high))}" for x, _, high in band)
        lower = "L".join(f"{number(x)} {number(_y(low))}" for x, low, _ in reversed(band))
        parts.append(tag("path", d=f"M{upper}L{lower}Z", class_="band"))
    parts.append(
        _line([(x, one["share"]) for x, one in zip(xs, validations, strict=True)], "line2")
    )
    parts.append(_line([(x, one["kappa"]) for x, one in zip(xs, validations, strict=True)], "line"))
    every = max(1, (len(validations) + 9) // 10)
    for i, (x, one) in enumerate(zip(xs, validations, strict=True)):
        title = (
            f"{translate('run')} {one['run']}, {one['at'][:10]}: kappa {one['kappa']:.3f},"
            f" {translate('share')} {one['share']:.2f}"
        )
        parts.append(
            tag("circle", tag("title", title), cx=x, cy=_y(one["kappa"]), r=3.5, class_="dot")
        )
        if i % every == 0:
            parts.append(text(x, HEIGHT - 20, f"{translate('run')} {one['run']}", "tick", "middle"))
    parts += _legend("kappa", translate("share of units in stable domains"))
    return picture(WIDTH, HEIGHT, label, parts)


def over_clusters(points: Sequence[Record], domains: int, label: str) -> Markup:
    """Draw kappa against the number of clusters, with a line at the number of domains."""
    return _against(
        [(float(p["k"]), p["kappa"], f"k {p['k']}") for p in points],
        "clusters", label, mark=float(domains),
    )  # fmt: skip


def thresholds(points: Sequence[Record], label: str) -> Markup:
    """Draw kappa against the share of units in stable domains, with one dot per threshold."""
    return _against(
        [(100 * p["share"], p["kappa"], f"{p['threshold']:g}") for p in points],
        "% of the units in stable domains (one dot per threshold)", label, span=(0.0, 100.0),
    )  # fmt: skip


def day_bars(axis: Timeline, counts: Mapping[str, int], max_bars: int = 60) -> Markup:
    """Draw units by day as small bars, to scale; a slash through the line is a break of the axis."""
    stretches = axis.bars(counts, max_bars)
    most = max(itertools.chain.from_iterable(stretches), default=0) or 1
    n_bars = sum(map(len, stretches))
    width = (BARS_WIDTH - BREAK * len(axis.gaps)) / max(1, n_bars)
    bars, rules, breaks, x = [], [], [], 0.0
    for stretch, sums in enumerate(stretches):
        if stretch:
            breaks += [
                tag("rect", tag("title", axis.gap_labels[stretch - 1]), x=x, y=0, width=BREAK,
                    height=28, class_="pause"),
                tag("path", d=f"M{number(x + 2)} 28L{number(x + 5)} 16M{number(x + 6)} 28"
                    f"L{number(x + 9)} 16", class_="break"),
            ]  # fmt: skip
            x += BREAK
        rules.append(f"M{number(x)} 26.5H{number(x + width * len(sums))}")
        bars += [
            f"M{number(x + i * width)} 26V{number(26 - 24 * value / most)}"
            f"h{number(max(width - 0.8, 0.6))}V26Z"
            for i, value in enumerate(sums)
            if value
        ]
        x += width * len(sums)
    dated = {day: count for day, count in counts.items() if count}
    peak = max(dated, key=lambda day: (dated[day], day), default="")
    pauses = "".join(f"; {label} in between" for label in axis.gap_labels)
    spoken = f"units by day, most on {peak}: {dated[peak]}{pauses}" if peak else "no dates"
    parts = [
        tag("path", d="".join(rules) or f"M0 26.5H{number(BARS_WIDTH)}", class_="rule"),
        tag("path", d="".join(bars) or "M0 26", class_="bar"),
        *breaks,
    ]
    return picture(BARS_WIDTH, 28, spoken, parts, "spark", stretched=True)


def _against(
    points: Sequence[tuple[float, float | None, str]],
    axis_name: str,
    label: str,
    span: tuple[float, float] | None = None,
    mark: float | None = None,
) -> Markup:
    drawn = [(value, kappa, name) for value, kappa, name in points if kappa is not None]
    values = [value for value, _, _ in drawn] + ([] if mark is None else [mark])
    low, high = span or (min(values, default=0.0), max(values, default=1.0))

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low or 1.0)

    parts = [*_grid(), text(WIDTH / 2, HEIGHT - 4, axis_name, "tick", "middle")]
    if mark is not None:
        parts.append(tag("path", d=f"M{number(x(mark))} {TOP}V{HEIGHT - BOTTOM}", class_="axis"))
        parts.append(text(x(mark) + 4, TOP + 12, "number of domains", "tick"))
    if span is not None:
        for tick in (0, 20, 40, 60, 80, 100):
            parts.append(text(x(tick), HEIGHT - 22, str(tick), "tick", "middle"))
    ordered = sorted(drawn, key=lambda point: point[0])
    parts.append(_line([(x(value), kappa) for value, kappa, _ in ordered], "line"))
    for value, kappa, name in drawn:
        parts.append(tag("circle", tag("title", f"{name}: {kappa:.3f}"), cx=x(value), cy=_y(kappa),
                         r=4.5, class_="dot"))  # fmt: skip
        parts.append(text(x(value), _y(kappa) - 9, name, "tick", "middle"))
    parts.append(text(4, TOP + 4, "kappa", "tick"))
    return picture(WIDTH, HEIGHT, label, parts)


def _positions(size: int) -> list[float]:
    width = WIDTH - LEFT - RIGHT - 40
    return [LEFT + 20 + width * (i / (size - 1) if size > 1 else 0.5) for i in range(size)]


def _pauses(xs: Sequence[float], moments: Sequence[str]) -> list[Markup]:
    """Return a line and the length of each long time without a validation."""
    dates = [datetime.date.fromisoformat(moment[:10]) for moment in moments]
    parts = []
    for (left, right), (one, other) in zip(
        itertools.pairwise(xs), itertools.pairwise(dates), strict=True
    ):
        days = (other - one).days - 1
        if days >= GAP_DAYS:
            x = (left + right) / 2
            parts.append(tag("path", d=f"M{number(x)} {TOP}V{HEIGHT - BOTTOM}", class_="soft-mark"))
            parts.append(text(x, TOP - 4, f"{duration(days)} without validation", "tick", "middle"))
    return parts


def _y(value: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - max(0.0, min(1.0, value)))


def _grid() -> list[Markup]:
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(tag("path", d=f"M{LEFT} {number(_y(tick))}H{WIDTH - RIGHT}", class_="rule"))
        parts.append(text(LEFT - 8, _y(tick) + 4, f"{tick:g}", "tick", "end"))
    return parts


def _line(points: Sequence[tuple[float, float]], class_: str) -> Markup:
    path = "L".join(f"{number(x)} {number(_y(value))}" for x, value in points)
    return tag("path", d=f"M{path}" if path else "M0 0", class_=class_)


def _legend(first: str, second: str) -> list[Markup]:
    y = HEIGHT - 5
    return [
        tag("path", d=f"M{LEFT} {y - 4}h26", class_="line"),
        text(LEFT + 32, y, first, "tick"),
        tag("path", d=f"M{LEFT + 110} {y - 4}h26", class_="line2"),
        text(LEFT + 142, y, second, "tick"),
    ]
