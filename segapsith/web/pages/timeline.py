"""Several domains or topics over time, as counts or as a share of the stream."""

from __future__ import annotations

from segapsith.report.charts.days import BUCKETS
from segapsith.web.ask import Ask
from segapsith.web.charts import over_time
from segapsith.web.render import Page

__all__ = ["timeline_page"]

MEASURES = ("units", "share")


def timeline_page(ask: Ask) -> Page:
    """Return the timeline."""
    browse, t = ask.wire.browse, ask.texts.text
    by, measure = ask.choice("by", BUCKETS, "week"), ask.choice("measure", MEASURES, "units")
    with ask.wire.reading():
        series = browse.timeline(
            domains=ask.numbers("domain"),
            topics=ask.numbers("topic"),
            by=by,
            since=ask.day("since"),
            until=ask.day("until"),
        )
        values = {
            "series": series,
            "by": by,
            "measure": measure,
            "sizes": BUCKETS,
            "topics": browse.topics(40),
            "chosen_topics": ask.numbers("topic"),
            "chosen_domains": ask.numbers("domain"),
        }
    chart = None
    if series.starts:
        title = t("Share of the stream") if measure == "share" else t("Units over time")
        lines = {
            f"{one.label} ({t(one.kind)} {one.id})": one.share if measure == "share" else one.units
            for one in series.series
        }
        chart = over_time("timeline", title, series.starts, lines, percent=measure == "share")
    return Page("timeline.html", t("Timeline"), values, [chart])
