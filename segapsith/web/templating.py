"""Templates and what they may link to: everything is escaped, links lead inside or to http(s)."""

from __future__ import annotations

import functools
import hashlib
from importlib.resources import files
from urllib.parse import quote, urlencode, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from segapsith.web.texts import COLUMNS, Texts, language_of
from segapsith_store.queries.browsing.story_search import MARKS

__all__ = [
    "asset",
    "environment",
    "login_page",
    "marked",
    "outside_link",
    "story_path",
    "with_code",
    "word_path",
]


MOST_ROWS = 60
"""Rows of the table of a chart on a page; its files have all of them."""


@functools.cache
def environment() -> Environment:
    """Return the templates with their filters."""
    made = Environment(
        loader=PackageLoader("segapsith.web"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["marked"] = marked
    made.filters["code"] = with_code
    made.globals["outside"] = outside_link
    made.globals["story_path"] = story_path
    made.globals["word_path"] = word_path
    made.globals["most_rows"] = MOST_ROWS
    made.globals["column_names"] = COLUMNS
    return made


def login_page(base_path: str, where: str, accepted: str) -> str:
    """Return the page that asks for the token."""
    texts = Texts(language_of(accepted))
    return (
        environment()
        .get_template("login.html")
        .render(t=texts.text, texts=texts, base=base_path, where=where, asset=asset)
    )


def asset(name: str) -> str:
    """Return the path of a static file; its address changes with its content."""
    return f"/static/{name}?v={_mark(name)}"


@functools.cache
def _mark(name: str) -> str:
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
    return Markup(text)  # noqa: S704 - escaped above


def with_code(text: str) -> Markup:
    """Return a text of the interface with what stands between backticks as code.

    >>> str(with_code("The command `segapsith topics` makes them, 1 < 2."))
    'The command <code>segapsith topics</code> makes them, 1 &lt; 2.'
    """
    parts = [escape(part) for part in text.split("`")]
    code = Markup("<code>{}</code>")
    return Markup("").join(code.format(part) if i % 2 else part for i, part in enumerate(parts))


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


def story_path(uid: str) -> str:
    """Return the path of the page of a story.

    >>> story_path("feed a/b?"), story_path("..")
    ('/stories/feed%20a%2Fb%3F', '/stories?id=..')
    """
    if uid.strip(".") == "":
        return f"/stories?{urlencode({'id': uid})}"
    return f"/stories/{quote(uid, safe='')}"
