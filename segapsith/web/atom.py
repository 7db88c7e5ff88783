"""Atom feeds: new and rising domains, alarms, and the stories of a domain, a topic or a search.

Ids of entries are made of what does not change (numbers and ids of the store), so that a reader
shows an entry once.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from starlette.responses import Response

from segapsith.io.markup import xml_text
from segapsith.web.ask import Ask
from segapsith.web.json_api import domains_asked, story_query
from segapsith.web.templating import story_path
from segapsith_store.queries.browsing.story_search import MARKS
from segapsith_store.queries.status import began

__all__ = ["ROUTES", "Entry", "atom"]

MOST = 50
_EPOCH = "1970-01-01T00:00:00+00:00"


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a feed."""

    key: str
    """What it is about; never changes."""
    title: str
    path: str
    updated: str
    summary: str = ""


def atom(ask: Ask, key: str, title: str, entries: Sequence[Entry]) -> Response:
    """Return a feed."""
    root, store = _root(ask), _store_key(ask)
    own = f"{root}{ask.here()}"
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>{escape(_tag(store, key))}</id>",
        f"<title>{xml_text(title)}</title>",
        f"<updated>{max((_moment(e.updated) for e in entries), default=_EPOCH)}</updated>",
        f'<link rel="self" href={quoteattr(own)}/>',
        "<author><name>SEGAPSITH</name></author>",
    ]
    for entry in entries:
        lines += [
            "<entry>",
            f"<id>{escape(_tag(store, entry.key))}</id>",
            f"<title>{xml_text(entry.title)}</title>",
            f"<updated>{_moment(entry.updated)}</updated>",
            f"<link href={quoteattr(root + ask.url(entry.path))}/>",
            *([f"<summary>{xml_text(entry.summary)}</summary>"] if entry.summary else []),
            "</entry>",
        ]
    lines.append("</feed>")
    return Response("\n".join(lines), media_type="application/atom+xml")


def _root(ask: Ask) -> str:
    scheme = ask.request.scope.get("scheme", "http")
    return f"{scheme}://{ask.request.headers['host']}"


def _tag(store: str, key: str) -> str:
    """Return a tag URI (RFC 4151) that is the same wherever the store or a backup is served."""
    return f"tag:segapsith,2026:{store}/{quote(key, safe='/')}"


def _store_key(ask: Ask) -> str:
    """Return what no other store has and no move changes: the beginning of its first run."""
    with ask.wire.reading() as store:
        return hashlib.sha256(json.dumps(began(store)).encode()).hexdigest()[:12]


def _moment(text: str | None) -> str:
    """Return a moment as Atom writes it (RFC 3339).

    >>> _moment("2026-03-01"), _moment("2026-03-01T05:06:07+00:00"), _moment("soon")
    ('2026-03-01T00:00:00+00:00', '2026-03-01T05:06:07+00:00', '1970-01-01T00:00:00+00:00')
    """
    try:
        moment = datetime.datetime.fromisoformat(text or "")
    except ValueError:
        return _EPOCH
    aware = moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)
    return aware.isoformat(timespec="seconds")


# -- feeds ---------------------------------------------------------------------------------------


def _changed(kind: str, title: str) -> Callable[[Ask], Response]:
    def feed(ask: Ask) -> Response:
        browse = ask.wire.browse
        with ask.wire.reading():
            news = browse.news(None, MOST)
            headlines = browse.headlines([change.id for change in news[kind]])
            activity = browse.activity()
            entries = [
                Entry(
                    f"{kind}/{change.id}/{news.since}",
                    change.label,
                    f"/domains/{change.id}",
                    activity.lifetime(change.id).last or "",
                    headlines[change.id].title if change.id in headlines else "",
                )
                for change in news[kind]
            ]
        return atom(ask, kind, ask.texts.text(title), entries)

    return feed


def alarms(ask: Ask) -> Response:
    entries = [
        Entry(
            f"alarm/{night.id}/{alarm['name']}",
            f"{night.night}: {alarm['reason']}",
            "/",
            night.finished_at or night.started_at,
            alarm.get("look", ""),
        )
        for night in ask.wire.browse.nights(30)
        for alarm in night.result.get("alarms", [])
    ]
    return atom(ask, "alarms", ask.texts.text("Alarms"), entries[:MOST])


def domain(ask: Ask) -> Response:
    number = ask.number_part("id")
    with ask.wire.reading():
        label = ask.wire.browse.domain(number, top=3, near=0).row.label
        stories = ask.wire.browse.stories_of(number, limit=MOST)
    entries = [_story(one.document, one.title, one.date, one.source) for one in stories]
    return atom(ask, f"domain/{number}", label, _once(entries))


def topic(ask: Ask) -> Response:
    number = ask.number_part("id")
    with ask.wire.reading():
        topic = ask.wire.browse.topic(number)
        entries = _found(ask, topic.domains)
    return atom(ask, f"topic/{number}", topic.label, entries)


def section(ask: Ask) -> Response:
    number = ask.number_part("id")
    with ask.wire.reading():
        section = ask.wire.browse.section(number)
        entries = _found(ask, ask.wire.browse.domains_of_sections([number]))
    return atom(ask, f"section/{number}", section.label, entries)


def search(ask: Ask) -> Response:
    query = story_query(ask)
    entries = _found(ask, domains_asked(ask) or None)
    key = "&".join(f"{n}={v}" for n, v in sorted(ask.given) if n not in ("token", "ui"))
    return atom(ask, f"search/{key}", query.words or ask.texts.text("Search"), entries)


def _found(ask: Ask, domains: Sequence[int] | None) -> list[Entry]:
    """Return the newest stories of a search."""
    from dataclasses import replace

    query = replace(story_query(ask), newest=True)
    hits = ask.wire.browse.search(query, domains=domains, limit=MOST)
    return [
        _story(
            hit.id,
            hit.title or hit.id,
            hit.date,
            hit.snippet.replace(MARKS[0], "").replace(MARKS[1], ""),
        )
        for hit in hits.stories
    ]


def _story(uid: str, title: str, date: str | None, summary: str) -> Entry:
    return Entry(f"story/{uid}", title, story_path(uid), date or "", summary)


def _once(entries: Sequence[Entry]) -> list[Entry]:
    """Return entries without repetitions: a story may have several units in a domain."""
    return list({entry.key: entry for entry in entries}.values())


ROUTES: tuple[tuple[str, Callable[[Ask], Response]], ...] = (
    ("/feeds/new.atom", _changed("new", "New domains")),
    ("/feeds/rising.atom", _changed("growing", "Rising domains")),
    ("/feeds/alarms.atom", alarms),
    ("/feeds/domains/{id:int}.atom", domain),
    ("/feeds/topics/{id:int}.atom", topic),
    ("/feeds/sections/{id:int}.atom", section),
    ("/feeds/search.atom", search),
)
