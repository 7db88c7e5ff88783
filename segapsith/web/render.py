"""Templates to pages: everything is escaped, links lead only to this application or to http(s)."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any
from urllib.parse import quote, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from segapsith.web.ask import Ask, story_path
from segapsith.web.charts import MOST_ROWS, Chart
from segapsith.web.texts import Texts, language_of
from segapsith_store.queries.story_search import MARKS

__all__ = ["Page", "asset", "login_page", "outside_link", "render"]

NAVIGATION = (
    ("/", "Today"),
    ("/topics", "Topics"),
    ("/domains", "Domains"),
    ("/timeline", "Timeline"),
    ("/map", "Map"),
    ("/validation", "Validation"),
    ("/compare", "Compare"),
    ("/runs", "Runs"),
    ("/feeds", "Feeds"),
    ("/watch", "Watch"),
    ("/cite", "Cite"),
)


@dataclass(frozen=True, slots=True)
class Page:
    """What a page shows: a template, its values, and its charts by name."""

    template: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    charts: Sequence[Chart | None] = ()
    crumbs: Sequence[tuple[str, str]] = ()
    """Path and name of the pages above this one."""
    status: int = 200

    def chart(self, name: str) -> Chart | None:
        """Return the chart with a name, if the page has it."""
        return next((one for one in self.charts if one is not None and one.name == name), None)


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("segapsith.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["marked"] = marked
    environment.globals["outside"] = outside_link
    environment.globals["story_path"] = story_path
    environment.globals["word_path"] = word_path
    environment.globals["most_rows"] = MOST_ROWS
    return environment


def render(page: Page, ask: Ask) -> str:
    """Return the HTML of a page."""
    template = _environment().get_template(page.template)
    texts = ask.texts
    return template.render(
        **page.values,
        page=page,
        ask=ask,
        t=texts.text,
        n=texts.number,
        count=texts.count,
        date=texts.date,
        url=ask.url,
        here=ask.here,
        texts=texts,
        charts={chart.name: chart for chart in page.charts if chart is not None},
        navigation=NAVIGATION,
        changes=ask.desk.options.allow_changes,
        asset=asset,
    )


def login_page(base_path: str, where: str, accepted: str) -> str:
    """Return the page that asks for the token."""
    texts = Texts(language_of(accepted))
    return (
        _environment()
        .get_template("login.html")
        .render(t=texts.text, texts=texts, base=base_path, where=where, asset=asset)
    )


def asset(name: str) -> str:
    """Return the path of a static file; its address changes with its content."""
    return f"/static/{name}?v={_mark(name)}"


@functools.cache
def _mark(name: str) -> str:
    import hashlib

    content = (files("segapsith.web") / "static" / name).read_bytes()
    return hashlib.sha256(content).hexdigest()[:10]


def marked(snippet: str) -> Markup:
    """Return a snippet with the found words marked; everything else is escaped.

    >>> str(marked(f"a < {MARKS[0]}b{MARKS[1]}"))
    'a &lt; <mark>b</mark>'
    """
    text = str(escape(snippet)).replace(MARKS[0], "<mark>").replace(MARKS[1], "</mark>")
    if text.count("<mark>") != text.count("</mark>"):
        return escape(snippet.replace(MARKS[0], "").replace(MARKS[1], ""))
    return Markup(text)


def outside_link(address: object) -> str | None:
    """Return an address of the web that a link may lead to; None for any other value.

    >>> outside_link("https://example.org/a"), outside_link("javascript:alert(1)")
    ('https://example.org/a', None)
    """
    if not isinstance(address, str) or len(address) > 2000 or address != address.strip():
        return None
    if any(ord(letter) < 33 or letter in "\"'<>\\" for letter in address):
        return None
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return address if parts.scheme in ("http", "https") and parts.netloc else None


def word_path(lang: str, word: str) -> str:
    """Return the path of the page of a word."""
    return f"/words/{quote(lang, safe='')}/{quote(word, safe='')}"
