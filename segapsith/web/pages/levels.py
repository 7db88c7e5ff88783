"""Sections, the top level, and events, dated stretches of domains."""

from __future__ import annotations

from segapsith.errors import MissingInputError
from segapsith.report.charts.days import BUCKETS
from segapsith.web.ask import Ask
from segapsith.web.charts import by_day
from segapsith.web.render import Page

__all__ = ["crumbs_of", "events_page", "section_page", "sections_page"]


def crumbs_of(
    ask: Ask, topic: int | None = None, domain: int | None = None
) -> list[tuple[str, str]]:
    """Return the way down to a topic or a domain: sections, section, topic, domain."""
    browse, t = ask.wire.browse, ask.texts.text
    crumbs = [("/sections", t("Sections"))]
    if domain is not None and topic is None:
        topic = browse.topic_of(domain)
    if topic is not None:
        crumbs += [(f"/{kind}s/{number}", label) for kind, number, label in browse.way_to(topic)]
    row = None if domain is None else browse.activity().described.get(domain)
    if row is not None:
        crumbs.append((f"/domains/{domain}", row.label))
    return crumbs


def sections_page(ask: Ask) -> Page:
    """Return the list of sections, largest first."""
    browse, t = ask.wire.browse, ask.texts.text
    with ask.wire.reading():
        listed = browse.sections()
        labels = {topic: browse.topic(topic).label for one in listed for topic in one.topics[:5]}
    return Page("sections.html", t("Sections"), {"sections": listed, "labels": labels})


def section_page(ask: Ask) -> Page:
    """Return one section: its words, its days and its topics."""
    browse, t = ask.wire.browse, ask.texts.text
    size, span = ask.choice("by", BUCKETS, "day"), ask.span(24)
    with ask.wire.reading():
        section = browse.section(ask.number_part("id"))
        shown = section.topics[span.offset : span.offset + span.limit]
        values = {
            "section": section,
            "topics": [browse.topic(number) for number in shown],
            "total": len(section.topics),
            "span": span,
        }
        days = browse.activity().by_day(*browse.domains_of_sections([section.id]))
    chart = by_day("days", t("Units over time"), days, size=size)
    crumbs = [("/sections", t("Sections"))]
    return Page("section.html", section.label, values, [chart], crumbs=crumbs)


def events_page(ask: Ask) -> Page:
    """Return events, the latest first; one of them with its stories if `event` names it."""
    browse, t = ask.wire.browse, ask.texts.text
    span, number = ask.span(25), ask.number("domain", 0)
    least, event = ask.number("min_stories", 2, 1), ask.number("event", 0)
    with ask.wire.reading():
        listed = ask.wire.events.list(
            since=ask.day("since"),
            until=ask.day("until"),
            domain=number or None,
            min_stories=least,
            limit=span.limit + 1,
            offset=span.offset,
        )
        stories = browse.event_stories(event) if event else []
        if event and not stories:
            raise MissingInputError(f"there is no event {event}; `segapsith events` lists them")
        home = next((one.domain for one in stories if one.domain is not None), None)
        values = {
            "events": listed[: span.limit],
            "total": span.offset + len(listed),
            "span": span,
            "stories": stories,
            "chosen": event,
            "least": least,
            "labels": browse.activity().labels(event.domain for event in listed),
        }
        crumbs = crumbs_of(ask, domain=home) if home is not None else []
    return Page("events.html", t("Events"), values, crumbs=crumbs)
