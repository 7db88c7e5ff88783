"""Domains: the list with filters, one domain, and previews of merging and splitting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from segapsith.domains.timeline import Timeline
from segapsith.domains.trends import Trend, trend
from segapsith.errors import MissingInputError, UsageError
from segapsith.report.charts import curves
from segapsith.report.charts.days import BUCKETS
from segapsith.web.ask import Ask
from segapsith.web.charts import by_day
from segapsith.web.pages.levels import crumbs_of
from segapsith.web.render import Page
from segapsith_store.queries.browsing.activity import Activity, Described, Lifetime

__all__ = ["DomainRow", "domain_page", "list_page", "merge_preview", "rows_of", "split_preview"]

SORTS = ("size", "recent", "newest", "oldest", "name")
STATUSES = ("open", "retired")
STORIES = 15
"""Stories of a domain on its page."""

SPARK_BARS = 40
EVENTS = 6
"""Events of a domain on its page."""


@dataclass(frozen=True, slots=True)
class DomainRow:
    """A domain in a list."""

    row: Described
    lifetime: Lifetime
    trend: Trend
    spark: Markup | None


def rows_of(ask: Ask, activity: Activity, numbers: Sequence[int]) -> list[DomainRow]:
    """Return the rows of some domains, with their days as small bars on a common axis."""
    axis = Timeline.of(activity.stream.days)
    rows = []
    for number in numbers:
        days = activity.by_day(number)
        spark = curves.day_bars(axis, days, SPARK_BARS) if days else None
        rows.append(
            DomainRow(
                activity.described[number],
                activity.lifetime(number),
                trend(days, activity.stream),
                spark,
            )
        )
    return rows


# -- the list ------------------------------------------------------------------------------------


def list_page(ask: Ask) -> Page:
    """Return the list of domains: filtered, sorted and paged."""
    browse, t = ask.wire.browse, ask.texts.text
    span, as_of = ask.span(25), ask.moment("as_of")
    with ask.wire.reading():
        activity = browse.activity(as_of)
        filtered = _filtered(ask, activity)
        filtered.sort(key=_order(ask.choice("sort", SORTS, "size"), activity))
        shown = [row.id for row in filtered[span.offset : span.offset + span.limit]]
        values = {
            "rows": rows_of(ask, activity, shown),
            "total": len(filtered),
            "span": span,
            "langs": sorted({row.lang for row in activity.described.values()}),
            "sorts": SORTS,
            "statuses": STATUSES,
            "as_of": as_of,
        }
    return Page("domains.html", t("Domains"), values)


def _filtered(ask: Ask, activity: Activity) -> list[Described]:
    least = ask.number("min_units", 1, 1)
    lang, status = ask.text("lang", most=20), ask.choice("status", STATUSES, "")
    words = [word.lower() for word in ask.text("q").split()]
    named = ask.text("named") == "1"
    topics = ask.numbers("topic")
    members = {d for number in topics for d in ask.wire.browse.topic(number).domains}
    matching = _with_words(ask, words)
    return [
        row
        for row in activity.described.values()
        if row.units >= least
        and lang in ("", row.lang)
        and status in ("", row.status)
        and (row.named or not named)
        and (not topics or row.id in members)
        and (not words or row.id in matching or all(word in row.label.lower() for word in words))
    ]


def _with_words(ask: Ask, words: Sequence[str]) -> set[int]:
    """Return the domains whose best words contain all the words."""
    if not words:
        return set()
    return {hit.id for hit in ask.wire.browse.domains_with(" ".join(words), 5000)}


def _order(sort: str, activity: Activity) -> Callable[[Described], Any]:
    """Return the key of a list of domains; those without a date come last."""
    spans = activity.spans
    if sort == "size":
        return lambda row: (-row.units, row.id)
    if sort == "recent":
        recent = spans.by_domain("recent")
        return lambda row: (-recent[row.id], -row.units, row.id)
    if sort == "name":
        return lambda row: (row.label.lower(), row.id)
    first, dated = spans.by_domain("first"), spans.by_domain("dated")
    if sort == "newest":
        return lambda row: (not dated[row.id], -first[row.id], -row.id)
    return lambda row: (not dated[row.id], first[row.id], row.id)


# -- one domain ----------------------------------------------------------------------------------


def domain_page(ask: Ask) -> Page:
    """Return one domain, now or as of a run or date."""
    browse, t = ask.wire.browse, ask.texts.text
    number, as_of = ask.number_part("id"), ask.moment("as_of")
    size, span = ask.choice("by", BUCKETS, "day"), ask.span(STORIES, 100)
    with ask.wire.reading():
        domain = browse.domain(number, as_of=as_of)
        activity = browse.activity(as_of)
        values = {
            "domain": domain,
            "stories": browse.stories_of(number, as_of=as_of, limit=span.limit, offset=span.offset),
            "total": domain.lifetime.units,
            "events": ask.wire.events.list(domain=number, min_stories=2, limit=EVENTS)
            if as_of is None
            else [],
            "span": span,
            "as_of": as_of,
            "by": size,
            "run": browse.state().run,
            "heaviest": max((word.weight for word in domain.words), default=1.0) or 1.0,
            "labels": activity.labels(_named(domain)),
        }
    marks = {peak.burst.day: peak.story.title if peak.story else "" for peak in domain.peaks}
    chart = by_day("days", t("Units over time"), domain.days, size=size, marks=marks)
    crumbs = crumbs_of(ask, topic=domain.topic)
    words = ", ".join(word.word for word in domain.words[:4])  # of a domain that is gone now
    title = domain.row.label or words or t("Domain {n}", n=number)
    return Page("domain.html", title, values, [chart], crumbs=crumbs)


def _named(domain: Any) -> set[int]:
    """Return the other domains that the verdict on a domain names."""
    verdict = domain.verdict or {}
    return {one["domain"] for one in verdict.get("domains", []) if "domain" in one}


# -- previews ------------------------------------------------------------------------------------


def merge_preview(ask: Ask) -> Page:
    """Return what merging this domain with others would give."""
    ask.desk.check_changes()
    t, number = ask.texts.text, ask.number_part("id")
    others = [other for other in ask.numbers("with", 8) if other != number]
    if not others:
        raise UsageError(t("Name at least one other domain."))
    with ask.wire.reading():
        preview = ask.wire.browse.merge_preview([number, *others])
        values = {
            "preview": preview,
            "number": number,
            "others": others,
            "run": ask.wire.browse.state().run,
        }
    crumbs = [("/domains", t("Domains")), (f"/domains/{number}", preview.parts[0].row.label)]
    return Page("merge.html", t("Merge domains"), values, crumbs=crumbs)


def split_preview(ask: Ask) -> Page:
    """Return the parts that splitting this domain would give.

    Computing them imports the compiler of kernels, so pages that only read do not offer it.
    """
    ask.desk.check_changes()
    t, number = ask.texts.text, ask.number_part("id")
    parts = ask.number("parts", 2, 2, 6)
    activity = ask.wire.browse.activity()
    if number not in activity.described:
        raise MissingInputError(f"there is no domain {number}")
    values = {
        "number": number,
        "row": activity.described[number],
        "preview": ask.wire.domains.split_preview(number, parts=parts),
        "parts": parts,
        "run": activity.state.run,
    }
    crumbs = [("/domains", t("Domains")), (f"/domains/{number}", activity.described[number].label)]
    return Page("split.html", t("Split domain"), values, crumbs=crumbs)
