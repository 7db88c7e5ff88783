"""Validation: agreement over time, coverage, the heat map, and a verdict on each domain."""

from __future__ import annotations

from typing import Any

from segapsith.report.page import VERDICTS, validation_charts
from segapsith.web.ask import Ask
from segapsith.web.charts import Chart
from segapsith.web.pages.today import kappa_chart
from segapsith.web.render import Page

__all__ = ["validation_page"]

HISTORY = 120
"""Validations of the series."""


def validation_page(ask: Ask) -> Page:
    """Return the newest validation of each language, and the series."""
    browse, t = ask.wire.browse, ask.texts.text
    kind, span = ask.choice("verdict", VERDICTS, ""), ask.span(25)
    with ask.wire.reading():
        described = browse.activity().described
        names = {number: row.label for number, row in described.items()}
        last = browse.validations()
        history = ask.wire.validation.history(limit=HISTORY)
    of = ask.text("of", most=20)
    shown = next((one for one in last if one["lang"] == of), last[0] if last else None)
    values: dict[str, Any] = {
        "validations": last,
        "shown": shown,
        "history": history[::-1],
        "kinds": VERDICTS,
        "kind": kind,
        "span": span,
        "described": described,
    }
    charts: list[Chart | None] = [kappa_chart(t("Kappa over time"), history, t)]
    verdicts = [] if shown is None else shown.get("verdicts", [])
    listed = [one for one in verdicts if kind in ("", one["verdict"])]
    values |= {
        "verdicts": listed[span.offset : span.offset + span.limit],
        "total": len(listed),
        "counts": {name: sum(one["verdict"] == name for one in verdicts) for name in VERDICTS},
    }
    if shown is not None and shown["domains"]:
        charts += _charts(ask, validation_charts(names, shown, t))
    return Page("validation.html", t("Validation"), values, charts)


def _charts(ask: Ask, validation: dict[str, Any]) -> list[Chart | None]:
    t, drawn = ask.texts.text, validation["charts"]
    kappa = [(name, round(float(value), 4)) for name, value in validation["kappa"].items()]
    covered = validation["coverage"]
    bins = [
        (name, covered["bins"].get(name, 0), covered["reverse_bins"].get(name, 0))
        for name in covered["bins"]
    ]
    charts: list[Chart | None] = [
        Chart("agreement", t("Kappa, with the values by chance and at best"), drawn["kappa"],
              ("mapping", "kappa"), kappa),
        Chart("coverage", t("Domains and clusters by their largest overlap"), drawn["coverage"],
              ("overlap in %", "domains", "clusters"), bins),
    ]  # fmt: skip
    mantel = validation["mantel"]
    if mantel and drawn["mantel"]:
        rows = [
            (name, mantel[name]) for name in ("z", "expected", "sd", "z_max", "p") if name in mantel
        ]
        charts.append(
            Chart(
                "mantel",
                t("Mantel test against chance"),
                drawn["mantel"],
                ("figure", "value"),
                rows,
            )
        )
    if drawn["heat"]:
        table = validation["table"]
        cells = [
            (table["domains"][row], table["clusters"][column], n)
            for row, column, n in table["cells"]
        ]
        charts.append(
            Chart("heat", t("Domains (rows) in clusters (columns)"), drawn["heat"],
                  ("domain", "cluster", "units"), sorted(cells, key=lambda cell: -cell[2]))
        )  # fmt: skip
    return charts
