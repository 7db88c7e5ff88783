"""Saved searches with the number of stories since the last visit, kept in a cookie of the browser.

Nothing about a reader is stored in the store: the cookie holds the searches and the last run that
was seen with each.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.responses import HTMLResponse, RedirectResponse, Response

from segapsith.errors import UsageError
from segapsith.web.ask import Ask
from segapsith.web.render import Page, render
from segapsith_store.queries.browsing.story_search import StoryQuery

__all__ = ["COOKIE", "Saved", "change_watch", "read_saved", "watch_page", "written"]

COOKIE = "segapsith_watch"
MOST = 12
FIELDS = ("q", "since", "until", "lang", "source", "section", "topic", "domain")
MOST_QUERY = 200


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved search and the last document that its reader has seen."""

    query: str
    seen: int

    def fields(self) -> dict[str, str]:
        """Return what it searches for."""
        return {n: v for n, v in parse_qsl(self.query) if n in FIELDS}


def read_saved(text: str) -> list[Saved]:
    """Return the searches in a cookie; a damaged cookie has none.

    >>> read_saved(written([Saved("q=oil", 3)]))
    [Saved(query='q=oil', seen=3)]
    >>> read_saved("?")
    []
    """
    try:
        pairs = json.loads(base64.urlsafe_b64decode(text.encode() + b"=="))
        return [Saved(str(query)[:MOST_QUERY], int(seen)) for query, seen in pairs][:MOST]
    except (ValueError, TypeError, RecursionError):
        return []


def written(saved: list[Saved]) -> str:
    """Return searches as the value of a cookie."""
    pairs = [[one.query, one.seen] for one in saved]
    return base64.urlsafe_b64encode(json.dumps(pairs).encode()).decode().rstrip("=")


def watch_page(ask: Ask) -> Page | Response:
    """Return the saved searches with what is new; then everything counts as seen."""
    saved = read_saved(ask.request.cookies.get(COOKIE, ""))
    with ask.wire.reading():
        newest = ask.wire.browse.newest_document()
        rows = [
            {
                "saved": one,
                "fields": one.fields(),
                "place": place,
                "hits": _hits(ask, one.fields(), 0),
                "new": _hits(ask, one.fields(), one.seen),
            }
            for place, one in enumerate(saved)
        ]
    page = Page("watch.html", ask.texts.text("Watch"), {"rows": rows, "most": MOST})
    response = HTMLResponse(render(page, ask))
    if saved and ask.text("keep") != "1":
        _keep(ask, response, [Saved(one.query, newest) for one in saved])
    return response


def _hits(ask: Ask, fields: Mapping[str, str], seen: int) -> Any:
    """Return the newest stories of a search, of the documents after `seen`."""
    browse = ask.wire.browse
    try:
        domains = [int(fields["domain"])] if fields.get("domain", "").isdigit() else []
        if fields.get("topic", "").isdigit():
            domains += browse.topic(int(fields["topic"])).domains
        if fields.get("section", "").isdigit():
            domains += browse.domains_of_sections([int(fields["section"])])
        query = StoryQuery(
            fields.get("q", ""),
            fields.get("since") or None,
            fields.get("until") or None,
            fields.get("lang") or None,
            fields.get("source") or None,
            newest=True,
        )
        return browse.search(query, domains=domains or None, limit=3, after=seen)
    except ValueError as error:
        raise UsageError(f"a saved search cannot be read: {error}") from error


def change_watch(ask: Ask, form: Mapping[str, str]) -> Response:
    """Save a search, or remove one; only the cookie changes."""
    saved = read_saved(ask.request.cookies.get(COOKIE, ""))
    if "remove" in form:
        if not form["remove"].isdigit():
            raise UsageError("remove should be a number")
        place = int(form["remove"])
        saved = [one for i, one in enumerate(saved) if i != place]
    else:
        query = urlencode({n: form[n].strip() for n in FIELDS if form.get(n, "").strip()})
        if not query:
            raise UsageError(ask.texts.text("Name at least one word to watch."))
        if len(query) > MOST_QUERY:
            raise UsageError(f"a saved search should have at most {MOST_QUERY} characters")
        saved = [one for one in saved if one.query != query]
        saved.append(Saved(query, ask.wire.browse.newest_document()))
        if len(saved) > MOST:
            raise UsageError(ask.texts.text("At most {n} searches can be saved.", n=MOST))
    response = RedirectResponse(ask.url("/watch", keep="1"), 303)
    _keep(ask, response, saved)
    return response


def _keep(ask: Ask, response: Response, saved: list[Saved]) -> None:
    response.set_cookie(
        COOKIE, written(saved), max_age=31_536_000, httponly=True, samesite="strict",
        path=f"{ask.desk.options.base_path}/",
    )  # fmt: skip
