"""Search for stories, with hits by day; a word with its domains and stories."""

from __future__ import annotations

from segapsith.lexicon.vocabulary import SCALE
from segapsith.report.charts.days import BUCKETS
from segapsith.web.ask import Ask
from segapsith.web.charts import Chart, by_day
from segapsith.web.json_api import domains_asked, story_query
from segapsith.web.render import Page

__all__ = ["search_page", "word_page"]

SOURCES = 60
"""Sources that the form offers."""

WORD_DOMAINS = 40
"""Domains on the page of a word."""


def search_page(ask: Ask) -> Page:
    """Return the stories that match, their days, and domains with the words."""
    browse, t = ask.wire.browse, ask.texts.text
    query, span = story_query(ask), ask.span(20, 100)
    domains, topics, sections = (ask.numbers(name) for name in ("domain", "topic", "section"))
    size = ask.choice("by", BUCKETS, "day")
    asked = any(
        (query.words, query.since, query.until, query.lang, query.source, domains, topics, sections)
    )
    with ask.wire.reading():
        hits = (
            browse.search(
                query, domains=domains_asked(ask) or None, limit=span.limit, offset=span.offset
            )
            if asked
            else None
        )
        columns = browse.columns()
        values = {
            "query": query,
            "hits": hits,
            "span": span,
            "domains": browse.domains_with(query.words, 8) if query.words else [],
            "langs": columns.languages(),
            "sources": [name for name in columns.count_sources() if name][:SOURCES],
            "topics": browse.topics(30),
            "sections": browse.sections(),
            "chosen_section": sections[0] if sections else None,
            "chosen_topic": topics[0] if topics else None,
            "domain": domains[0] if domains else None,
            "by": size,
        }
    chart: Chart | None = None
    if hits is not None:
        chart = by_day(
            "hits", t("Stories found by day"), hits.days, size=size, columns=("day", "stories")
        )
    return Page("search.html", t("Search"), values, [chart])


def word_page(ask: Ask) -> Page:
    """Return a word: how often it occurs, its domains, its newest stories."""
    t = ask.texts.text
    size = ask.choice("by", BUCKETS, "day")
    page = ask.wire.browse.word(ask.part("lang"), ask.part("word"), most=WORD_DOMAINS)
    chart = by_day(
        "stories", t("Stories with the word by day"), page.hits.days, size=size,
        columns=("day", "stories"),
    )  # fmt: skip
    values = {"page_word": page, "scale": SCALE, "by": size, "most": WORD_DOMAINS}
    return Page("word.html", page.word.word, values, [chart], crumbs=[("/search", t("Search"))])
