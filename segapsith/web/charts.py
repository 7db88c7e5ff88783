"""Charts of pages: a picture, its table, and the same data as CSV, JSON and an SVG file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from segapsith.report.charts import days as day_charts
from segapsith.report.charts.svg import STYLE, standalone
from segapsith.web.security import svg_policy

__all__ = ["ENDINGS", "Chart", "by_day", "chart_response", "over_time"]

ENDINGS = ("csv", "json", "svg")


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its data."""

    name: str
    title: str
    svg: Markup
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


def by_day(
    name: str,
    title: str,
    counts: Mapping[str, int],
    *,
    size: str = "day",
    span: tuple[str, str] | None = None,
    marks: Mapping[str, str] | None = None,
    columns: tuple[str, str] = ("day", "units"),
) -> Chart | None:
    """Return counts by day as bars; None without any date."""
    if not counts:
        return None
    first, last = span or (min(counts), max(counts))
    starts = day_charts.buckets(first, last, size)
    values = day_charts.sums(counts, starts, size)
    named = {day_charts.bucket_of(day, size): text for day, text in (marks or {}).items()}
    peak = max(zip(values, starts, strict=True))
    spoken = f"{title}: {starts[0]} – {starts[-1]}, {peak[1]}: {peak[0]}"
    svg = day_charts.day_axis(starts, values, spoken, marks=named)
    rows = [row for row in zip(starts, values, strict=True) if row[1]]
    return Chart(name, title, svg, columns, rows[::-1])


def over_time(
    name: str,
    title: str,
    starts: Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    percent: bool = False,
) -> Chart:
    """Return several lines over the same buckets."""
    drawn = [day_charts.Line(key, values) for key, values in series.items()]
    svg = day_charts.lines(starts, drawn, title, percent=percent)
    rows = [
        [start, *(round(values[i], 6) for values in series.values())]
        for i, start in enumerate(starts)
    ]
    return Chart(name, title, svg, ["from", *series], rows[::-1])


def chart_response(chart: Chart, ending: str) -> Response:
    """Return the data of a chart as a file."""
    if ending == "svg":
        style = _file_style()
        content = standalone(chart.svg, style)
        return Response(
            content,
            media_type="image/svg+xml",
            headers={"content-security-policy": svg_policy(STYLE + style)},
        )
    if ending == "json":
        rows = [dict(zip(chart.columns, row, strict=True)) for row in chart.rows]
        return Response(json.dumps(rows, ensure_ascii=False), media_type="application/json")
    return Response(
        _csv(chart.columns, chart.rows),
        media_type="text/csv",
        headers={"content-disposition": f'attachment; filename="{chart.name}.csv"'},
    )


def _csv(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([[_cell(value) for value in row] for row in rows])
    return out.getvalue()


def _cell(value: Any) -> Any:
    """Return a value that no spreadsheet takes for a formula.

    >>> _cell("=1+1"), _cell("oil"), _cell(-3)
    ("'=1+1", 'oil', -3)
    """
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value


def _file_style() -> str:
    """Return the colours of charts for a file that stands alone."""
    return (files("segapsith.web") / "static" / "chart.css").read_text("utf-8")
