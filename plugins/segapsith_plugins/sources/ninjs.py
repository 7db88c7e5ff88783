"""ninjs 1.x to 3.x: single objects, arrays, and one object per line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO

from segapsith import Document, Reject, hookimpl
from segapsith.io.encoding import repaired
from segapsith.io.html import text_of
from segapsith_plugins.sources._dates import dated
from segapsith_plugins.sources._json_values import beginning, is_by_lines, values

if TYPE_CHECKING:
    from segapsith.model import Json

_TYPICAL_KEYS = (
    "versioncreated", "pubstatus", "representationtype", "body_text", "body_html", "body_xhtml",
    "description_text", "headlines", "bodies", "firstcreated", "altids", "copyrightholder",
    "usageterms", "slugline", "associations", "renditions", "infosource", "infosources",
)  # fmt: skip
_KEY = re.compile(r'"([A-Za-z_$]{2,30})"\s*:')
_TAKEN = frozenset(
    {"uri", "headline", "headlines", "title", "language", "version", "pubstatus", "embargoed"}
    | {"subject", "subjects", "keywords", "byline", "by", "dateline", "located", "urgency"}
    | {"bodies", "descriptions", "body_text", "body_html", "body_xhtml", "section", "slugline"}
)


class NinJs:
    """A source of ninjs: each object with a `uri` is a document.

    Associated pictures remain in its metadata.
    """

    example = (
        b'{"uri": "urn:x:1", "type": "text", "versioncreated": "2026-03-02T06:15:00Z", '
        b'"headline": "Flood", "body_xhtml": "<p>The river rose.</p>"}\n'
    )

    def sniff(self, head: bytes) -> float:
        start = beginning(head)
        if not start:
            return 0.0
        keys = {key.lower() for key in _KEY.findall(start)}
        if "ninjs" in start[:2000].lower() and "uri" in keys:
            return 0.97
        n_typical = sum(key in keys for key in _TYPICAL_KEYS)
        if "uri" in keys and n_typical >= 1:
            return 0.95
        return 0.92 if n_typical >= 3 else 0.0

    def follows(self, head: bytes) -> bool:
        return is_by_lines(head)

    def read(self, stream: BinaryIO, name: str) -> Iterator[Document | Reject]:
        for numbered in values(stream, name):
            if isinstance(numbered, Reject):
                yield numbered
                continue
            where, value = numbered
            if isinstance(value, list):
                inner = [one for element in value for one in list(_items(element, 4)) or [element]]
            else:
                inner = list(_items(value, 4)) or [value]
            for number, one in enumerate(inner, 1):
                at = f"{where}, element {number}" if isinstance(value, list) or inner[1:] else where
                yield _document(one, at)


def _is_item(value: Mapping[str, object]) -> bool:
    return any(key in value for key in ("uri", "headline", "headlines", "bodies"))


def _items(value: object, depth: int) -> Iterator[object]:
    """Yield the items in a response of an agency, which may wrap them in any way."""
    if isinstance(value, dict) and _is_item(value):
        yield value
    elif depth and isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _items(inner, depth - 1)


def _document(value: object, where: str) -> Document | Reject:
    if not isinstance(value, dict):
        return Reject(where, f"it is a {type(value).__name__}, not an object")
    item: dict[str, object] = {str(key).lower(): v for key, v in value.items()}
    uid = _string(item.get("uri")) or _string(item.get("guid"))
    title = _string(item.get("headline")) or _one_of(item.get("headlines"), "main", "headline")
    title = title or _string(item.get("title")) or _string(item.get("name"))
    if "<" in title:
        title = text_of(title)
    body = _body(item)
    if not title and not body:
        return Reject(uid or where, "it has neither a title nor a text")
    date, original = dated(
        next(
            (
                _string(item[k])
                for k in ("versioncreated", "contentcreated", "firstcreated")
                if _string(item.get(k))
            ),
            None,
        )
    )
    located = item.get("located")
    metadata: dict[str, Json] = {
        str(key): field
        for key, field in value.items()
        if str(key).lower() not in _TAKEN and not str(key).lower().startswith("body_")
    }
    metadata |= {
        key: field
        for key, field in {
            "version": _plain(item.get("version")),
            "status": _string(item.get("pubstatus")),
            "urgency": _plain(item.get("urgency")),
            "embargo": _string(item.get("embargoed")),
            "dateline": _string(item.get("dateline")) or _string(located),
            "byline": text_of(_string(item.get("byline")) or _string(item.get("by"))),
            "slug": _string(item.get("slugline")),
            "section": _section(item),
            "subjects": _named(item.get("subject") or item.get("subjects")),
            "keywords": _named(item.get("keywords")),
        }.items()
        if field not in ("", None, [])
    }
    return Document(
        uid=uid,
        title=repaired(" ".join(title.split())),
        body=repaired(body),
        date=date,
        lang=_string(item.get("language")) or None,
        source=_source(item),
        metadata=metadata | original,
    )


def _string(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _plain(value: object) -> Json:
    return value if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _body(item: Mapping[str, object]) -> str:
    """Return the running text; marked-up text, which has paragraphs, is preferred to plain text."""
    for key in ("body_xhtml", "body_html"):
        if text := text_of(_string(item.get(key))):
            return text
    if text := _string(item.get("body_text")):
        return text
    bodies = item.get("bodies")
    best = ""
    for body in bodies if isinstance(bodies, list) else []:
        if isinstance(body, dict):
            kind = _string(body.get("contentType") or body.get("contenttype"))
            given = _string(body.get("value"))
            text = text_of(given) if "html" in kind or "xml" in kind or "</" in given else given
            best = max(best, text, key=len)
    if best:
        return best
    for key, value in item.items():
        if key.startswith("body_") and (text := text_of(_string(value))):
            return text
    for key in ("description_text", "description_html", "description"):
        if text := text_of(_string(item.get(key))):
            return text
    return text_of(_one_of(item.get("descriptions"), "main", "summary"))


def _one_of(values: object, *roles: str) -> str:
    """Return the value of the first entry with one of these roles, else of the first entry."""
    entries = [v for v in values if isinstance(v, dict)] if isinstance(values, list) else []
    for role in roles:
        for entry in entries:
            if _string(entry.get("role")).rpartition(":")[2].lower() == role:
                return _string(entry.get("value"))
    return next((_string(e.get("value")) for e in entries if _string(e.get("value"))), "")


def _named(values: object) -> list[Json]:
    """Return codes with their names, or plain words."""
    names: list[Json] = []
    for value in values if isinstance(values, list) else [values]:
        if isinstance(value, dict):
            code = (
                _string(value.get("code"))
                or _string(value.get("qcode"))
                or _string(value.get("uri"))
            )
            named = " ".join(p for p in (code, _string(value.get("name"))) if p)
        else:
            named = _string(value)
        if named and named not in names:
            names.append(named)
    return names


def _section(item: Mapping[str, object]) -> str:
    if section := _string(item.get("section")):
        return section
    services = item.get("service") or item.get("services") or item.get("sections")
    return ", ".join(str(s) for s in _named(services))


def _source(item: Mapping[str, object]) -> str:
    for key in ("source", "provider", "copyrightholder"):
        if text := _string(item.get(key)):
            return text
    sources = _named(item.get("infosource") or item.get("infosources"))
    return str(sources[0]) if sources else ""


@hookimpl
def register_sources() -> Mapping[str, type[NinJs]]:
    return {"ninjs": NinJs}
