"""Who is who: cleaned text, the hash that recognises it, dates with a zone."""

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

__all__ = ["clean", "cleaned", "is_clean", "text_hash", "utc"]

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SPACES = re.compile(r"\s+")
_numeral = lru_cache(maxsize=1024)(str)  # nearly all counts are small


def clean(text: str) -> str:
    """The text with what no file can hold replaced, character for character.

    >>> clean("a\\x00b")
    'a\\ufffdb'
    """
    return _UNSTORABLE.sub("�", text)


def is_clean(text: str) -> bool:
    """Whether `clean` would leave the text as it is."""
    if text.isascii():
        return "\0" not in text
    return _UNSTORABLE.search(text) is None


def cleaned(document: Document) -> Document:
    """The document with clean texts; lengths stay, so offsets stay."""
    if _all_clean(document):
        return document  # the usual case, found in one look
    bag: Mapping[str, int] | None
    if document.bag is not None and is_clean("".join(document.bag)):
        bag = document.bag
    else:
        bag = _clean_bag(document.bag)
    return replace(
        document,
        uid=clean(document.uid).strip(),
        title=clean(document.title),
        body=clean(document.body),
        date=None if document.date is None else clean(document.date),
        lang=None if document.lang is None else clean(document.lang),
        source=clean(document.source),
        metadata={clean(k): _clean_json(v) for k, v in document.metadata.items()},
        bag=bag,
    )


def _all_clean(document: Document) -> bool:
    """Whether there is nothing to clean; metadata with more than texts in it are not looked at."""
    metadata = document.metadata
    return (
        document.uid == document.uid.strip()
        and all(type(value) is str for value in metadata.values())
        and is_clean(
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
                    *(document.bag or ()),
                ]
            )
        )
    )


def _clean_bag(bag: Mapping[str, int] | None) -> Mapping[str, int] | None:
    return None if bag is None else {clean(word): count for word, count in bag.items()}


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
    """SHA-256 of the text in its normal form: composed characters, single spaces.

    >>> text_hash(Document(body="Two  words\\n")) == text_hash(Document(body="Two words"))
    True
    """
    if document.bag is not None:
        given = list(document.bag)
        words = sorted(given)
        counts = document.bag.values() if words == given else map(document.bag.__getitem__, words)
        words.append(f"[{', '.join(map(_numeral, counts))}]")
        content = "\0".join(words)  # clean words have no NUL in them
    else:
        normal = unicodedata.normalize("NFKC", document.text)
        content = _SPACES.sub(" ", normal).strip()
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()


@lru_cache(maxsize=4096)  # wires share their days
def utc(date: str | None) -> str | None:
    """A date in UTC, ISO 8601; a bare day stays a day; None if it cannot be read.

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
