"""Charts of scores: dots with intervals by data set, ours against printed figures, and curves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from segapsith.report.charts.svg import number, picture, standalone, tag, text

__all__ = ["Score", "Section", "against_printed", "by_set", "curves", "sheet"]

WIDTH = 960.0
LEFT, RIGHT = 150.0, 24.0
COLOURS = (
    "#1f6f8b", "#c2702b", "#5a8f3c", "#8c4f9f", "#b23a48", "#7a7a2a", "#3d6cc2", "#8a6d4f",
    "#2f9e8f", "#777777",
)  # fmt: skip
STYLE = "".join(
    f".m{i} {{ fill: {colour}; stroke: {colour} }} .w{i} {{ stroke: {colour}; fill: none;"
    f" stroke-width: 1.6 }} .l{i} {{ stroke: {colour}; fill: none; stroke-width: 2.2 }}"
    for i, colour in enumerate(COLOURS)
)


@dataclass(frozen=True, slots=True)
class Score:
    """The score of a method on a set, its interval, and the printed range."""

    case: str
    method: str
    value: float
    low: float
    high: float
    printed: tuple[float, float] | None = None
    source: str = "printed"
    """Name of the source of the printed range."""

    @property
    def description(self) -> str:
        """The score in words."""
        text = f"{self.case}, {self.method}: {self.value:.3f}"
        if self.low < self.high:
            text += f" ({self.low:.3f} to {self.high:.3f})"
        if self.printed is not None:
            low, high = (f"{value:.2f}" for value in self.printed)
            text += f", {self.source} {low if low == high else f'{low} to {high}'}"
        return text


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a sheet: a heading, elements that start at y = 0, and their height."""

    heading: str
    parts: Sequence[Markup]
    height: float


def sheet(label: str, sections: Sequence[Section]) -> str:
    """Return an SVG file with sections below each other."""
    parts: list[Markup] = []
    y = 8.0
    for section in sections:
        parts.append(text(16, y + 18, section.heading, "heading"))
        parts.append(tag("g", *section.parts, transform=f"translate(0 {number(y + 30)})"))
        y += 30 + section.height + 18
    return standalone(picture(WIDTH, y, label, parts), STYLE)


def by_set(heading: str, scores: Sequence[Score]) -> Section:
    """Draw one band per set with one dot per method, in front of the printed range."""
    methods = list(dict.fromkeys(score.method for score in scores))
    cases = list(dict.fromkeys(score.case for score in scores))
    low, high = _span([v for s in scores for v in (s.low, s.high, *(s.printed or ()))])

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)

    parts, legend = _legend(methods)
    band, top = 10.0 * len(methods) + 10, legend + 8
    bottom = top + band * len(cases)
    for tick in _ticks(low, high):
        parts.append(
            tag("path", d=f"M{number(x(tick))} {number(top)}V{number(bottom)}", class_="rule")
        )
        parts.append(text(x(tick), bottom + 16, f"{tick:g}", "tick", "middle"))
    for i, case in enumerate(cases):
        y = top + band * i
        parts.append(tag("path", d=f"M16 {number(y)}H{number(WIDTH - RIGHT)}", class_="rule"))
        parts.append(text(LEFT - 12, y + band / 2 + 4, case, "leaf", "end"))
        ranges = {s.printed for s in scores if s.case == case and s.printed is not None}
        for left, right in sorted(ranges):
            parts.append(
                tag("rect", tag("title", f"{case}, printed: {left:.2f} to {right:.2f}"),
                    x=x(left), y=y, width=max(3.0, x(right) - x(left)), height=band, class_="band")
            )  # fmt: skip
        for score in scores:
            if score.case == case:
                at = methods.index(score.method)
                parts += _dot(x, y + 10.0 * (at + 1), score, at % len(COLOURS))
    return Section(heading, parts, bottom + 22)


def against_printed(heading: str, scores: Sequence[Score]) -> Section:
    """Draw ours (vertical) against the printed figures (horizontal), one point per cell.

    The solid line is equality, the dashed one three points below it.
    """
    cells = [score for score in scores if score.printed is not None]
    methods = list(dict.fromkeys(score.method for score in cells))
    values = [v for s in cells for v in (s.value, *(s.printed or ()))]
    low, high = _span(values)
    sources = dict.fromkeys(score.source for score in cells)
    size = 380.0
    parts, legend = _legend(methods)
    top = legend + 8

    def x(value: float) -> float:
        return LEFT + size * (value - low) / (high - low)

    def y(value: float) -> float:
        return top + size * (1 - (value - low) / (high - low))

    for tick in _ticks(low, high):
        parts.append(
            tag("path", d=f"M{LEFT} {number(y(tick))}h{size}M{number(x(tick))} {number(top)}v{size}",
                class_="rule")
        )  # fmt: skip
        parts.append(text(LEFT - 8, y(tick) + 4, f"{tick:g}", "tick", "end"))
        parts.append(text(x(tick), top + size + 16, f"{tick:g}", "tick", "middle"))
    parts.append(
        tag("path", d=f"M{LEFT} {number(y(low))}L{LEFT + size} {number(top)}", class_="axis")
    )
    shifted = (
        f"M{number(x(low + 0.03))} {number(y(low))}L{number(x(high))} {number(y(high - 0.03))}"
    )
    parts.append(tag("path", d=shifted, class_="line2"))
    for score in cells:
        left, right = score.printed or (0.0, 0.0)
        at = methods.index(score.method) % len(COLOURS)
        across = y(score.value)
        parts.append(
            tag(
                "path", d=f"M{number(x(left))} {number(across)}H{number(x(right))}", class_=f"w{at}"
            )
        )
        parts.append(
            tag("circle", tag("title", score.description), cx=x((left + right) / 2), cy=across, r=4,
                class_=f"m{at}")
        )  # fmt: skip
    parts.append(text(LEFT + size / 2, top + size + 34, " or ".join(sources), "tick", "middle"))
    parts.append(text(LEFT - 44, top + size / 2 + 4, "ours", "tick", "end"))
    return Section(heading, parts, top + size + 40)


def curves(
    heading: str, name: str, lines: Mapping[str, Sequence[tuple[float, float, float]]]
) -> Section:
    """Draw one line of (x, value, deviation) per name, with the deviations as whiskers."""
    places = [at for points in lines.values() for at, _, _ in points]
    first, last = min(places, default=0.0), max(places, default=1.0)
    values = [v for points in lines.values() for _, m, sd in points for v in (m - sd, m + sd)]
    low, high = _span(values)
    parts, legend = _legend(list(lines))
    top, size = legend + 8, 240.0

    def x(at: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (at - first) / (last - first or 1.0)

    def y(value: float) -> float:
        return top + size * (1 - (value - low) / (high - low))

    for tick in _ticks(low, high):
        parts.append(
            tag("path", d=f"M{LEFT} {number(y(tick))}H{number(WIDTH - RIGHT)}", class_="rule")
        )
        parts.append(text(LEFT - 8, y(tick) + 4, f"{tick:g}", "tick", "end"))
    for at in sorted(set(places)):
        parts.append(text(x(at), top + size + 16, f"{at:g}", "tick", "middle"))
    for i, (line, points) in enumerate(lines.items()):
        path = "L".join(f"{number(x(at))} {number(y(value))}" for at, value, _ in points)
        parts.append(tag("path", d=f"M{path}" if path else "M0 0", class_=f"l{i % len(COLOURS)}"))
        for at, value, sd in points:
            whisker = f"M{number(x(at))} {number(y(value - sd))}V{number(y(value + sd))}"
            parts.append(tag("path", d=whisker, class_=f"w{i % len(COLOURS)}"))
            title = f"{line}, {name} {at:g}: {value:.3f} ± {sd:.3f}"
            parts.append(
                tag("circle", tag("title", title), cx=x(at), cy=y(value), r=3.5,
                    class_=f"m{i % len(COLOURS)}")
            )  # fmt: skip
    parts.append(text(WIDTH / 2, top + size + 34, name, "tick", "middle"))
    return Section(heading, parts, top + size + 40)


def _dot(x: Callable[[float], float], y: float, score: Score, at: int) -> list[Markup]:
    whisker = f"M{number(x(score.low))} {number(y)}H{number(x(score.high))}"
    return [
        tag("path", d=whisker, class_=f"w{at}"),
        tag(
            "circle",
            tag("title", score.description),
            cx=x(score.value),
            cy=y,
            r=3.6,
            class_=f"m{at}",
        ),
    ]


def _legend(names: Sequence[str]) -> tuple[list[Markup], float]:
    """Return the legend of the colours and its height."""
    parts: list[Markup] = []
    x, y = LEFT, 10.0
    for i, name in enumerate(names):
        width = 24.0 + 7.4 * len(name)
        if x + width > WIDTH - RIGHT and x > LEFT:
            x, y = LEFT, y + 18
        parts.append(tag("circle", cx=x, cy=y - 4, r=4, class_=f"m{i % len(COLOURS)}"))
        parts.append(text(x + 9, y, name, "tick"))
        x += width
    return parts, y + 8


def _span(values: Sequence[float]) -> tuple[float, float]:
    """Return the tenths that enclose all values.

    >>> _span([0.31, 0.855]), _span([0.5])
    ((0.3, 0.9), (0.5, 0.6))
    """
    low = math.floor(min(values, default=0.0) * 10 + 1e-9) / 10
    high = math.ceil(max(values, default=1.0) * 10 - 1e-9) / 10
    return low, max(high, round(low + 0.1, 1))


def _ticks(low: float, high: float) -> list[float]:
    steps = round((high - low) * 10)
    every = max(1, steps // 10)
    return [round(low + i / 10, 1) for i in range(0, steps + 1, every)]
