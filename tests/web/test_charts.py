"""Charts with their data, as files."""

from __future__ import annotations

import csv
import io
import json

from markupsafe import Markup

from segapsith.web.charts import Chart, by_day, chart_response, over_time

CHART = Chart(
    "days",
    "Days",
    Markup("<svg class='picture'></svg>"),
    ("day", "label"),
    [("2026-01-01", "=1+1"), ("x", 3)],
)


def test_a_chart_is_a_table_in_three_forms() -> None:
    rows = list(csv.reader(io.StringIO(bytes(chart_response(CHART, "csv").body).decode())))
    assert rows == [["day", "label"], ["2026-01-01", "'=1+1"], ["x", "3"]]
    assert json.loads(bytes(chart_response(CHART, "json").body))[0] == {
        "day": "2026-01-01",
        "label": "=1+1",
    }
    assert b"<style>" in bytes(chart_response(CHART, "svg").body)


def test_days_without_counts_give_no_chart() -> None:
    assert by_day("days", "Days", {}) is None
    chart = by_day("days", "Days", {"2026-01-01": 2, "2026-01-05": 1}, size="week")
    assert chart is not None and chart.rows == [("2026-01-05", 1), ("2025-12-29", 2)]


def test_lines_have_a_column_each() -> None:
    chart = over_time("t", "T", ["2026-01-01"], {"a": [1.0], "b": [0.5]})
    assert chart.columns == ["from", "a", "b"] and chart.rows == [["2026-01-01", 1.0, 0.5]]
