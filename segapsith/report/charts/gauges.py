"""Kappa on its scale, Mantel's Z against its distribution, bars, and shares as one bar."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from segapsith.report.charts.svg import number, picture, tag, text

__all__ = ["bars", "kappa", "mantel", "shares"]

WIDTH = 460.0


def kappa(
    values: Mapping[str, Any],
    interval: Mapping[str, float] | None,
    translate: Callable[[str], str] = str,
) -> Markup:
    """Draw kappa between chance and full agreement, with its interval and the best mapping."""
    low, high = min(-0.1, float(values["random"])), 1.0

    def x(value: float) -> float:
        return 20 + (WIDTH - 40) * (value - low) / (high - low)

    greedy = float(values["greedy"])
    parts = [tag("path", d=f"M{number(x(low))} 62H{number(x(high))}", class_="axis")]
    for tick in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        parts.append(tag("path", d=f"M{number(x(tick))} 58V66", class_="axis"))
        parts.append(text(x(tick), 82, f"{tick:g}", "tick", "middle"))
    if interval is not None:
        left, right = x(interval["low"]), x(interval["high"])
        parts.append(
            tag("rect", x=left, y=55, width=max(2.0, right - left), height=14, class_="interval")
        )
    chance, best = x(float(values["random"])), x(float(values["optimal"]))
    parts += [
        tag("path", d=f"M{number(chance)} 50V74", class_="mark soft-mark"),
        text(max(chance, 50), 44, translate("by chance"), "tick", "middle"),
        tag("circle", cx=best, cy=62, r=4, class_="mark-ring"),
        tag("circle", cx=x(greedy), cy=62, r=7, class_="dot"),
        text(min(max(x(greedy), 30), WIDTH - 40), 34, f"{greedy:.2f}", "figure", "middle"),
    ]
    spoken = f"kappa {greedy:.3f}, {translate('by chance')} {float(values['random']):.3f}"
    return picture(WIDTH, 92, spoken, parts)


def mantel(test: Mapping[str, Any], translate: Callable[[str], str] = str) -> Markup:
    """Draw the sampled values of Z as bars, the observed and the largest possible one as lines."""
    law = test.get("law") or {"low": test["expected"], "high": test["expected"], "counts": []}
    low = float(min(law["low"], test["z"]))
    high = float(max(law["high"], test["z"], test["z_max"]))
    margin = 0.06 * (high - low or 1.0)
    low, high = low - margin, high + margin

    def x(value: float) -> float:
        return 20 + (WIDTH - 40) * (value - low) / (high - low)

    counts = law["counts"]
    most = max(counts, default=0) or 1
    step = (law["high"] - law["low"]) / max(1, len(counts))
    parts = [
        tag(
            "rect",
            x=x(law["low"] + i * step), y=96 - 60 * count / most,
            width=max(1.0, x(law["low"] + step) - x(law["low"])), height=60 * count / most,
            class_="bar",
        )
        for i, count in enumerate(counts) if count
    ]  # fmt: skip
    z, best = x(test["z"]), x(test["z_max"])
    parts += [
        tag("path", d=f"M20 96H{number(WIDTH - 20)}", class_="axis"),
        tag("path", d=f"M{number(best)} 66V96", class_="mark soft-mark"),
        tag("path", d=f"M{number(z)} 34V96", class_="mark"),
        text(min(max(z, 40), WIDTH - 60), 26, translate("observed"), "figure-small", "middle"),
        text(
            min(max(x(test["expected"]), 50), WIDTH - 50),
            114,
            translate("by chance"),
            "tick",
            "middle",
        ),
        text(min(best, WIDTH - 30), 114, translate("maximum"), "tick", "end"),
    ]
    spoken = (
        f"Mantel Z {test['z']}, {test['z_score']:.0f}"
        f" {translate('standard deviations above chance')},"
        f" p {test['p']:.3f}"
    )
    return picture(WIDTH, 120, spoken, parts)


def bars(rows: Sequence[tuple[str, Sequence[int]]], names: Sequence[str], label: str) -> Markup:
    """Draw one group of bars per row; `names` are the names of the bars of a group."""
    most = max((value for _, values in rows for value in values), default=0) or 1
    parts, y = [], 6.0
    for name, values in rows:
        parts.append(text(86, y + 8 * len(values) + 4, name, "leaf", "end"))
        for i, value in enumerate(values):
            width = 300 * value / most
            parts.append(
                tag("rect", tag("title", f"{names[i]}: {value}"), x=94, y=y + 15 * i, width=width,
                    height=13, class_=f"bar bar{i}")
            )  # fmt: skip
            parts.append(text(100 + width, y + 15 * i + 11, str(value), "tick"))
        y += 15 * len(values) + 9
    return picture(WIDTH, y, label, parts)


def shares(counts: Mapping[str, int], label: str) -> Markup:
    """Draw the parts of a whole as one bar, coloured by verdict."""
    total = sum(counts.values()) or 1
    parts, x = [], 0.0
    for kind, count in counts.items():
        width = 960 * count / total
        if count:
            parts.append(
                tag("rect", tag("title", f"{kind}: {count}"), x=x, y=0, width=width, height=26,
                    class_=f"post v-{kind}")
            )  # fmt: skip
        x += width
    return picture(960, 26, label, parts, "picture strip", stretched=True)
