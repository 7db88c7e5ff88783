"""A page and its HTML."""

from __future__ import annotations

from pathlib import Path

import pytest
from markupsafe import Markup
from starlette.requests import Request

from segapsith.web.ask import Ask
from segapsith.web.charts import Chart
from segapsith.web.desk import Desk
from segapsith.web.render import NAVIGATION, Page, render
from segapsith.web.security import WebOptions
from segapsith.web.texts import Texts


def test_a_page_knows_its_charts() -> None:
    chart = Chart("days", "Days", Markup("<svg></svg>"), ("day",), [])
    page = Page("x.html", "x", charts=[None, chart])
    assert page.chart("days") is chart and page.chart("other") is None


@pytest.mark.parametrize("path", [path for path, _ in NAVIGATION])
def test_the_present_page_is_marked_in_the_navigation(shown_path: Path, path: str) -> None:
    scope = {"type": "http", "path": path, "query_string": b"", "headers": []}
    ask = Ask(Request(scope), Desk(shown_path, WebOptions()), Texts("en"))
    values = {"error": "<b>", "between": [], "known_run": 0, "busy": ""}
    page = render(Page("error.html", "<i>", values, crumbs=[("/x", "<u>")]), ask)
    assert page.count('aria-current="page"') == 2  # in the navigation and in the crumbs
    assert "<b>" not in page and "<i>" not in page and "<u>" not in page
