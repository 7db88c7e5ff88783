"""Today: the last night, its alarms, what is new, rising and falling, feeds in trouble."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from segapsith.errors import UsageError
from segapsith.model import Record
from segapsith.report.charts import curves
from segapsith.web.ask import Ask
from segapsith.web.charts import Chart, by_day
from segapsith.web.render import Page

__all__ = ["kappa_chart", "today"]

DAYS = 60
"""Days of the chart of stories."""

NIGHTS = 30
MOST = 8
"""Domains of each kind."""

KINDS = ("new", "growing", "fading")


def today(ask: Ask) -> Page:
    """Return the page of today."""
    browse, t = ask.wire.browse, ask.texts.text
    with ask.wire.reading():
        since = _since(ask)
        news = browse.news(since, MOST)
        listed = {kind: list(news[kind]) for kind in KINDS}
        shown = [change.id for changes in listed.values() for change in changes]
        stories = browse.activity().stories_by_day
        nights = browse.nights(NIGHTS)
        values = {
            "news": news,
            "groups": _by_topic(ask, listed),
            "headlines": browse.headlines(shown),
            "night": next(iter(nights), None),
            "alarms": _alarms(nights),
            "troubled": [feed for feed in browse.feeds() if feed.failures],
            "status": browse.state(),
            "n_domains": len(browse.activity().described),
            "n_stories": len(set(browse.activity().documents.tolist())),
            "stream": browse.activity().stream,
        }
        validations = ask.wire.validation.history(limit=NIGHTS)
    charts = [
        by_day("stories", t("Stories by day"), _last(stories), columns=("day", "stories")),
        kappa_chart(t("Agreement of the last validations (kappa)"), validations),
    ]
    return Page("today.html", t("Today"), values, charts)


def _since(ask: Ask) -> str | int | None:
    moment = ask.moment("since")
    if isinstance(moment, int) and moment > ask.wire.browse.state().run:
        raise UsageError(f"there is no run {moment}")
    return moment


def _alarms(nights: Sequence[Any]) -> list[Mapping[str, Any]]:
    """Return the alarms of the last night that ended."""
    ended = next((night for night in nights if night.finished_at), None)
    return [] if ended is None else list(ended.result.get("alarms", []))


def _by_topic(
    ask: Ask, listed: Mapping[str, Sequence[Any]]
) -> list[tuple[Any, dict[str, list[Any]]]]:
    """Return the changed domains by topic, the topic with the most new units first."""
    groups: dict[int | None, dict[str, list[Any]]] = {}
    for kind, changes in listed.items():
        for change in changes:
            topic = ask.wire.browse.topic_of(change.id)
            groups.setdefault(topic, {name: [] for name in KINDS})[kind].append(change)
    weight = {
        topic: sum(change.after for changes in kinds.values() for change in changes)
        for topic, kinds in groups.items()
    }
    ranked = sorted(groups, key=lambda topic: (-weight[topic], topic or 0))
    return [
        (None if topic is None else ask.wire.browse.topic(topic), groups[topic]) for topic in ranked
    ]


def _last(stories: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of the last days of the stream."""
    if not stories:
        return {}
    newest = datetime.date.fromisoformat(max(stories))
    first = (newest - datetime.timedelta(days=DAYS - 1)).isoformat()
    return {day: count for day, count in stories.items() if day >= first}


def kappa_chart(title: str, validations: Sequence[Record]) -> Chart | None:
    """Return kappa over the last validations; None with fewer than two."""
    measured = [one for one in validations if one["kappa"] is not None]
    if len(measured) < 2:
        return None
    rows = [
        (one["run"], one["at"][:10], one["lang"], round(one["kappa"], 4), one["share"])
        for one in reversed(measured)
    ]
    columns = ("run", "date", "lang", "kappa", "share")
    return Chart("kappa", title, curves.over_time(measured, title), columns, rows)
