"""Topics: groups of domains, and one of them over time."""

from __future__ import annotations

from segapsith.report.charts.days import BUCKETS
from segapsith.web.ask import Ask
from segapsith.web.charts import by_day
from segapsith.web.pages.domains import rows_of
from segapsith.web.pages.levels import crumbs_of
from segapsith.web.render import Page

__all__ = ["list_page", "topic_page"]


def list_page(ask: Ask) -> Page:
    """Return the list of topics, largest first."""
    browse, t = ask.wire.browse, ask.texts.text
    span = ask.span(24)
    with ask.wire.reading():
        listed = browse.topics(span.limit, span.offset)
        described = browse.activity().described
        values = {
            "topics": listed,
            "labels": {
                number: described[number].label
                for topic in listed
                for number in topic.domains[:6]
                if number in described
            },
            "total": browse.n_topics(),
            "span": span,
        }
    return Page("topics.html", t("Topics"), values)


def topic_page(ask: Ask) -> Page:
    """Return one topic: its words, its days and its domains."""
    browse, t = ask.wire.browse, ask.texts.text
    size = ask.choice("by", BUCKETS, "day")
    span = ask.span(25)
    with ask.wire.reading():
        topic = browse.topic(ask.number_part("id"))
        activity = browse.activity()
        numbers = [number for number in topic.domains if number in activity.described]
        shown = numbers[span.offset : span.offset + span.limit]
        values = {
            "topic": topic,
            "rows": rows_of(ask, activity, shown),
            "total": len(numbers),
            "span": span,
            "by": size,
            "run": activity.state.run,
        }
        chart = by_day("days", t("Units over time"), activity.by_day(*numbers), size=size)
    crumbs = crumbs_of(ask, topic=topic.id)[:-1]
    return Page("topic.html", topic.label, values, [chart], crumbs=crumbs)
