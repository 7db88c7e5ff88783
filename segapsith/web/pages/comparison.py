"""Two runs or days compared: what appeared, went, merged, split and grew."""

from __future__ import annotations

from segapsith.report.charts import gauges
from segapsith.web.ask import Ask
from segapsith.web.charts import Chart
from segapsith.web.render import Page

__all__ = ["compare_page"]

RUNS = 60
"""Runs that the form offers."""


def compare_page(ask: Ask) -> Page:
    """Return what differs between two runs or days."""
    browse, t = ask.wire.browse, ask.texts.text
    left, right = ask.moment("left"), ask.moment("right")
    with ask.wire.reading():
        runs = [run for run in ask.wire.runs(RUNS) if run.status != "undone"]
        if left is None:
            left = browse.run_before_last() or (runs[-1].id if runs else None)
        compared = None if left is None else browse.differences(left, right)
    chart = None
    if compared is not None:
        rows = [
            (t("appeared"), compared.n_appeared),
            (t("gone"), compared.n_gone),
            (t("merged"), compared.n_merged),
            (t("split"), compared.n_split),
            (t("renamed"), compared.n_renamed),
        ]
        title = t("Domains by what happened to them")
        bars = gauges.bars([(name, [n]) for name, n in rows], (t("domains"),), title)
        chart = Chart("changes", title, bars, (t("change"), t("domains")), rows)
    values = {"compared": compared, "left": left, "right": right, "runs": runs}
    return Page("compare.html", t("Compare"), values, [chart])
