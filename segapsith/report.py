"""One self-contained page: domains, their days, and whether they hold. No script, no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from segapsith.compare import BINS

__all__ = ["page"]


def page(
    status: Mapping[str, Any],
    domains: Sequence[Mapping[str, Any]],
    days: Mapping[int, Mapping[str, int]],
    validations: Sequence[Mapping[str, Any]],
    titles: Mapping[int, Sequence[str]],
) -> str:
    """The report as HTML. Every text is escaped; the style is allowed by its hash alone."""
    from jinja2 import Environment, StrictUndefined

    room = files("segapsith") / "templates"
    style = (room / "report.css").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = environment.from_string((room / "report.html").read_text("utf-8"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    calendar = sorted({day for counts in days.values() for day in counts})
    return template.render(
        style=style,
        style_hash=digest,
        status=status,
        domains=domains,
        first=calendar[0] if calendar else "",
        last=calendar[-1] if calendar else "",
        sparks={number: _spark(calendar, counts) for number, counts in days.items()},
        validations=[_shown(v) for v in validations],
        titles=titles,
    )


def _spark(calendar: Sequence[str], counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """One bar a day: its place, its height, what it says when pointed at."""
    most = max(counts.values(), default=1)
    width = 160 / max(len(calendar), 1)
    return [
        {
            "x": round(i * width, 2),
            "width": round(max(width - 1, 0.5), 2),
            "height": round(24 * counts.get(day, 0) / most, 2),
            "title": f"{day}: {counts.get(day, 0)}",
        }
        for i, day in enumerate(calendar)
    ]


def _shown(validation: Mapping[str, Any]) -> dict[str, Any]:
    """A validation with bars for its table of coverage."""
    bins = validation.get("coverage", {}).get("bins", {})
    most = max(bins.values(), default=0) or 1
    bars = [
        {"name": f"{name} %", "count": count, "width": round(260 * count / most, 1), "y": 22 * i}
        for i, (name, count) in enumerate((name, bins[name]) for name in BINS if name in bins)
    ]
    return {**validation, "bars": bars, "bars_height": 22 * len(bars)}
