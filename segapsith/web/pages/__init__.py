"""The pages: each takes what was asked for and returns what its template shows."""

from __future__ import annotations

from collections.abc import Callable

from starlette.responses import Response

from segapsith.web.ask import Ask
from segapsith.web.pages import (
    comparison,
    domains,
    federation,
    journal,
    levels,
    maps,
    search,
    stories,
    timeline,
    today,
    topics,
    validation,
    watch,
)
from segapsith.web.render import Page

__all__ = ["ROUTES"]

ROUTES: tuple[tuple[str, Callable[[Ask], Page | Response]], ...] = (
    ("/", today.today),
    ("/sections", levels.sections_page),
    ("/sections/{id:int}", levels.section_page),
    ("/events", levels.events_page),
    ("/topics", topics.list_page),
    ("/topics/{id:int}", topics.topic_page),
    ("/domains", domains.list_page),
    ("/domains/{id:int}", domains.domain_page),
    ("/domains/{id:int}/merge/preview", domains.merge_preview),
    ("/domains/{id:int}/split/preview", domains.split_preview),
    ("/stories", stories.story_by_parameter),
    ("/stories/{uid:path}", stories.story_page),
    ("/units/{id:int}", stories.unit_page),
    ("/search", search.search_page),
    ("/words/{lang}/{word}", search.word_page),
    ("/timeline", timeline.timeline_page),
    ("/compare", comparison.compare_page),
    ("/validation", validation.validation_page),
    ("/map", maps.map_page),
    ("/runs", journal.runs_page),
    ("/feeds", journal.feeds_page),
    ("/cite", journal.cite_page),
    ("/watch", watch.watch_page),
    ("/federation", federation.federation_page),
)
"""Paths and their pages; every path also has the data behind its charts."""
