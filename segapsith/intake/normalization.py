"""Normal forms: text that can be stored, its hash, and dates in UTC."""

from __future__ import annotations

import datetime
import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import cast

from segapsith.model import Document, Json

__all__ = ["clean", "clean_bag", "cleaned", "is_clean", "text_hash", "utc"]

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SPACES = re.compile(r"\s+")


def clean(text: str) -> str:
    """Replace the characters that cannot be stored (NUL, surrogates), one for one.

    >>> clean("a\\x00b")
    'a\\ufffdb'
    """
    return _UNSTORABLE.sub("�", text)


def is_clean(text: str) -> bool:
    """Return whether `clean` would not change the text."""
    if text.isascii():
        return "\0" not in text
    return _UNSTORABLE.search(text) is None


def cleaned(document: Document) -> Document:
    """Return the document with clean texts of unchanged length; the bag is left to `clean_bag`."""
    if _is_all_clean(document):
        return document  # the usual case, one search
    return replace(
        document,
        uid=clean(document.uid).strip(),
        title=clean(document.title),
        body=clean(document.body),
        date=None if document.date is None else clean(document.date),
        lang=None if document.lang is None else clean(document.lang),
        source=clean(document.source),
        metadata={clean(k): _clean_json(v) for k, v in document.metadata.items()},
    )


def _is_all_clean(document: Document) -> bool:
    """Return whether nothing needs cleaning; False if the metadata contain more than strings."""
    metadata = document.metadata
    for value in metadata.values():
        if type(value) is not str:
            return False
    return document.uid == document.uid.strip() and is_clean(
        "".join(
            [
                document.uid,
                document.title,
                document.body,
                document.date or "",
                document.lang or "",
                document.source,
                *metadata,
                *cast("Iterable[str]", metadata.values()),
            ]
        )
    )


def clean_bag(bag: Mapping[str, int]) -> Mapping[str, int]:
    """Return the bag with clean words."""
    if is_clean("".join(bag)):
        return bag
    return {clean(word): count for word, count in bag.items()}


def _clean_json(value: Json) -> Json:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {clean(str(k)): _clean_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_json(v) for v in value]
    return value


def text_hash(document: Document) -> str:
    """Return the SHA-256 of the normalised text: composed characters (NFKC), single spaces.

    Bags have other hashes, see `BagBatch.hashes`.

    >>> text_hash(Document(body="Two  words\\n")) == text_hash(Document(body="Two words"))
    True
    """
    normal = unicodedata.normalize("NFKC", document.text)
    content = _SPACES.sub(" ", normal).strip()
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()


@lru_cache(maxsize=4096)  # the stories of a wire share their dates
def utc(date: str | None) -> str | None:
    """Return a date in UTC as ISO 8601, a day without a time as a day, or None if it is invalid.

    >>> utc("2026-03-02T06:15:00+01:00"), utc("1998-01-04"), utc("soon")
    ('2026-03-02T05:15:00+00:00', '1998-01-04', None)
    >>> utc("Mon, 02 Mar 2026 06:15:00 +0100")
    '2026-03-02T05:15:00+00:00'
    """
    if not date:
        return None
    text = date.strip()
    try:
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
            return datetime.date.fromisoformat(text).isoformat()
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except (TypeError, ValueError, IndexError, OverflowError):
            return None
    try:
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=datetime.UTC)
        return moment.astimezone(datetime.UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        return None
