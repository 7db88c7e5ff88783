"""Today: the last night, its alarms, what is new, rising and falling, feeds in trouble."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from segapsith.errors import UsageError
from segapsith.model import Record
from segapsith.report.charts import curves
from segapsith.web.advice import ADVICE
from segapsith.web.ask import Ask
from segapsith.web.charts import Chart, by_day
from segapsith.web.render import Page

__all__ = ["kappa_chart", "today"]

DAYS = 60
"""Days of the chart of stories."""

NIGHTS = 30
MOST = 4
"""Domains of each kind in a section."""


KINDS = (("new", "New"), ("rising", "Rising"), ("falling", "Falling"), ("active", "Active"))


def today(ask: Ask) -> Page:
    """Return the page of today."""
    browse, t = ask.wire.browse, ask.texts.text
    with ask.wire.reading():
        since = _since(ask)
        today = browse.today() if since is None else browse.today(since, MOST)
        stories = browse.activity().stories_by_day
        nights = browse.nights(NIGHTS)
        values = {
            "today": today,
            "kinds": KINDS,
            "most": MOST,
            "night": next(iter(nights), None),
            "alarms": _alarms(nights),
            "advice": ADVICE,
            "troubled": [feed for feed in browse.feeds() if feed.failures],
            "status": browse.state(),
            "n_domains": len(browse.activity().described),
            "n_stories": browse.counts()["documents"],
            "stream": browse.activity().stream,
        }
        validations = ask.wire.validation.history(limit=NIGHTS)
    charts = [
        by_day("stories", t("Stories by day"), _last(stories), columns=("day", "stories")),
        kappa_chart(t("Agreement of the last validations (kappa)"), validations, t),
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


def _last(stories: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of the last days of the stream."""
    if not stories:
        return {}
    newest = datetime.date.fromisoformat(max(stories))
    first = (newest - datetime.timedelta(days=DAYS - 1)).isoformat()
    return {day: count for day, count in stories.items() if day >= first}


def kappa_chart(
    title: str, validations: Sequence[Record], translate: Callable[[str], str]
) -> Chart | None:
    """Return kappa over the last validations; None with fewer than two."""
    measured = [one for one in validations if one["kappa"] is not None]
    if len(measured) < 2:
        return None
    rows = [
        (one["run"], one["at"][:10], one["lang"], round(one["kappa"], 4), one["share"])
        for one in reversed(measured)
    ]
    columns = ("run", "date", "lang", "kappa", "share")
    return Chart("kappa", title, curves.over_time(measured, title, translate), columns, rows)
