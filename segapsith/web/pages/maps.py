"""The map of domains: similar ones are near each other."""

from __future__ import annotations

from segapsith.report.charts import maps
from segapsith.web.ask import Ask
from segapsith.web.charts import Chart
from segapsith.web.render import Page

__all__ = ["map_page"]

MOST = 60
COLOURS = 8


def map_page(ask: Ask) -> Page:
    """Return the map of the largest domains of a language, coloured by topic."""
    browse, t = ask.wire.browse, ask.texts.text
    most = ask.number("most", MOST, 2, MOST)
    with ask.wire.reading():
        drawn = browse.map(ask.text("lang", most=20) or None, most)
        topic_of = [browse.topic_of(row.id) for row in drawn.domains]
    ranked = sorted(
        {topic for topic in topic_of if topic is not None},
        key=lambda topic: (-topic_of.count(topic), topic),
    )
    colours = {topic: i + 1 for i, topic in enumerate(ranked[:COLOURS])}
    groups = [colours.get(topic, 0) if topic is not None else 0 for topic in topic_of]
    title = t("Map of domains")
    chart = None
    if len(drawn.domains) > 1:
        shown = [
            {
                "id": row.id,
                "label": row.label,
                "units": row.units,
                "words": [{"word": word} for word in row.label.split(", ")],
            }
            for row in drawn.domains
        ]
        link = ask.url("/domains/{}")
        svg = maps.draw(shown, drawn.similarities, groups, title, link=link)
        rows = [
            (row.id, row.label, row.units, topic)
            for row, topic in zip(drawn.domains, topic_of, strict=True)
        ]
        chart = Chart("map", title, svg, ("id", "label", "units", "topic"), rows)
    values = {"drawn": drawn, "colours": [browse.topic(topic) for topic in colours], "most": most}
    return Page("map.html", t("Map"), values, [chart])
