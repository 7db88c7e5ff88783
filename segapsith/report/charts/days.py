"""Counts over time: bars with an axis of dates, and several lines in one chart."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from segapsith.report.charts.svg import number, picture, shorten, tag, text

__all__ = ["BUCKETS", "Line", "bucket_of", "buckets", "day_axis", "lines", "sums"]

WIDTH, HEIGHT = 960.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 12.0, 14.0, 30.0
BUCKETS = ("day", "week", "month")
MOST_BUCKETS = 400
"""Bars or points of a chart; the oldest are left out."""

MARK_CHARS = 46


@dataclass(frozen=True, slots=True)
class Line:
    """A named line: one value per bucket."""

    name: str
    values: Sequence[float]


def bucket_of(day: str, size: str) -> str:
    """Return the first day of the week or month of a day, or the day itself.

    >>> bucket_of("2026-03-11", "week"), bucket_of("2026-03-11", "month")
    ('2026-03-09', '2026-03-01')
    """
    if size == "day":
        return day
    date = datetime.date.fromisoformat(day)
    first = date.replace(day=1) if size == "month" else date - datetime.timedelta(date.weekday())
    return first.isoformat()


def buckets(first: str, last: str, size: str) -> list[str]:
    """Return every bucket from one day to another, the newest `MOST_BUCKETS` of them.

    >>> buckets("2026-01-30", "2026-03-02", "month")
    ['2026-01-01', '2026-02-01', '2026-03-01']
    """
    at = datetime.date.fromisoformat(bucket_of(last, size))
    stop = datetime.date.fromisoformat(bucket_of(first, size))
    starts: list[str] = []
    while at >= stop and len(starts) < MOST_BUCKETS:
        starts.append(at.isoformat())
        step = {"day": 1, "week": 7, "month": 1}[size]
        try:
            at -= datetime.timedelta(step)
        except OverflowError:
            break
        at = datetime.date.fromisoformat(bucket_of(at.isoformat(), size))
    return starts[::-1]


def sums(counts: Mapping[str, int], starts: Sequence[str], size: str) -> list[int]:
    """Return the counts of days added up in buckets.

    >>> sums({"2026-03-01": 2, "2026-03-02": 3}, ["2026-02-01", "2026-03-01"], "month")
    [0, 5]
    """
    at = {start: 0 for start in starts}
    for day, count in counts.items():
        start = bucket_of(day, size)
        if start in at:
            at[start] += count
    return list(at.values())


def day_axis(
    starts: Sequence[str],
    values: Sequence[float],
    label: str,
    *,
    marks: Mapping[str, str] | None = None,
    unit: str = "",
) -> Markup:
    """Draw one bar per bucket; `marks` names buckets, such as days with a burst."""
    most = max(values, default=0) or 1
    width = (WIDTH - LEFT - RIGHT) / max(1, len(starts))
    parts = [*_grid(most), *_dates(starts)]
    named = marks or {}
    for i, (start, value) in enumerate(zip(starts, values, strict=True)):
        if not value:
            continue
        top = _y(value / most)
        parts.append(
            tag(
                "rect", tag("title", f"{start}: {_figure(value)} {unit}".strip()),
                x=LEFT + i * width + min(1.0, width * 0.1), y=top,
                width=max(width - min(2.0, width * 0.2), 0.8), height=HEIGHT - BOTTOM - top,
                class_="bar mark-bar" if start in named else "bar",
            )
        )  # fmt: skip
    parts += _named(starts, values, most, named)
    return picture(WIDTH, HEIGHT, label, parts)


def _named(
    starts: Sequence[str], values: Sequence[float], most: float, named: Mapping[str, str]
) -> list[Markup]:
    """Return the names of marked buckets, as many as have room beside each other."""
    width = (WIDTH - LEFT - RIGHT) / max(1, len(starts))
    places = sorted(
        ((value, i) for i, value in enumerate(values) if starts[i] in named and named[starts[i]]),
        reverse=True,
    )
    parts: list[Markup] = []
    taken: list[tuple[float, float]] = []
    for value, i in places:
        x = LEFT + (i + 0.5) * width
        name = shorten(named[starts[i]], MARK_CHARS)
        extent = 6.4 * len(name)
        left = x if x + extent < WIDTH - RIGHT else max(LEFT, x - extent)
        if any(left < end and begin < left + extent for begin, end in taken):
            continue
        taken.append((left, left + extent))
        y = max(TOP - 2, _y(value / most) - 5)
        parts.append(text(left, y, name, "tick", "start"))
    return parts


def lines(
    starts: Sequence[str], drawn: Sequence[Line], label: str, *, percent: bool = False
) -> Markup:
    """Draw several lines over the same buckets, with a legend below."""
    most = max((value for line in drawn for value in line.values), default=0) or 1
    step = (WIDTH - LEFT - RIGHT) / max(1, len(starts) - 1)
    parts = [*_grid(most, percent), *_dates(starts, centred=False)]
    rows = 0
    for place, line in enumerate(drawn):
        points = "L".join(
            f"{number(LEFT + i * step)} {number(_y(value / most))}"
            for i, value in enumerate(line.values)
        )
        colour = f"s{place % 8 + 1}"
        name = tag("title", line.name)
        parts.append(
            tag("path", name, d=f"M{points}" if points else "M0 0", class_=f"series {colour}")
        )
        x, y = LEFT + (place % 2) * (WIDTH - LEFT) / 2, HEIGHT + 14 + 20 * (place // 2)
        parts.append(tag("path", d=f"M{number(x)} {number(y - 4)}h24", class_=f"series {colour}"))
        parts.append(text(x + 30, y, shorten(line.name, 54), "tick"))
        rows = place // 2 + 1
    return picture(WIDTH, HEIGHT + 8 + 20 * rows, label, parts)


def _y(share: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:.2f}"


def _grid(most: float, percent: bool = False) -> list[Markup]:
    parts = []
    middle = not percent and most == int(most) and most % 2 == 1
    for share in (0.0, 1.0) if middle else (0.0, 0.5, 1.0):  # half a story is no count
        value = most * share
        if percent:
            written = f"{100 * value:.3g} %"
        else:
            written = f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
        parts.append(tag("path", d=f"M{LEFT} {number(_y(share))}H{WIDTH - RIGHT}", class_="rule"))
        parts.append(text(LEFT - 6, _y(share) + 4, written, "tick", "end"))
    return parts


def _dates(starts: Sequence[str], centred: bool = True) -> list[Markup]:
    """Return about six dates below the axis."""
    if not starts:
        return []
    every = max(1, (len(starts) + 5) // 6)
    steps = max(1, len(starts) if centred else len(starts) - 1)
    width = (WIDTH - LEFT - RIGHT) / steps
    parts = []
    for i in range(0, len(starts), every):
        x = LEFT + (i + (0.5 if centred else 0)) * width
        anchor = "start" if x < LEFT + 30 else "end" if x > WIDTH - 40 else "middle"
        parts.append(text(x, HEIGHT - 10, starts[i], "tick", anchor))
    return parts
