"""Ids of stories that come from feeds: the address of the feed, "#", and the guid of the item.

An address has no "#" and no blank (`io/addresses.py`), so the first "#" ends it. Blanks of a guid
are percent-encoded: an id is one word in a shell and in a table.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote

from segapsith import limits

__all__ = ["feed_uid", "former_uids", "guid_of", "of_former_uid", "written_guid"]

_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_BLANK = re.compile(r"\s")
_FORMER = re.compile(r"(https?://[^\s#]+) (\S.*)", re.IGNORECASE | re.DOTALL)

MAX_ADDRESS = 400
"""Characters of an address that stay in an id whose guid is too long."""


def feed_uid(url: str, guid: str) -> str:
    """Return the id of a feed's item; ids of items are unique within one feed only.

    >>> feed_uid("https://example.org/wire", "tag:1 b")
    'https://example.org/wire#tag:1%20b'
    """
    uid = f"{url}#{written_guid(guid)}"
    if len(uid) <= limits.MAX_UID_CHARS:
        return uid
    # over the form of schema 8 and before, so that items stored then are recognised
    digest = hashlib.sha256(f"{url} {guid}".encode("utf-8", "replace")).hexdigest()
    return f"{url[:MAX_ADDRESS]}#sha256:{digest}"


def written_guid(guid: str) -> str:
    """Return a guid as ids contain it.

    >>> written_guid("story 1 of 2")
    'story%201%20of%202'
    """
    return _BLANK.sub(lambda blank: quote(blank.group()), guid)


def guid_of(uid: str) -> str | None:
    """Return the guid in the id of a feed's item; None for other ids.

    >>> guid_of("https://example.org/wire#https://example.org/1"), guid_of("urn:1#2")
    ('https://example.org/1', None)
    """
    url, sign, guid = uid.partition("#")
    return guid if sign and _SCHEME.match(url) else None


def of_former_uid(uid: str) -> str:
    """Return the id that a document has now, given its id in schema 8 and before.

    >>> of_former_uid("https://example.org/wire story 1"), of_former_uid("a story")
    ('https://example.org/wire#story%201', 'a story')
    """
    former = _FORMER.fullmatch(uid)
    return feed_uid(*former.groups()) if former else uid


def former_uids(uid: str) -> list[str]:
    """Return the ids that a document may have had in schema 8 and before.

    >>> former_uids("https://example.org/wire#story%201")
    ['https://example.org/wire story%201', 'https://example.org/wire story 1']
    """
    guid = guid_of(uid)
    if guid is None:
        return []
    url = uid.partition("#")[0]
    return list(dict.fromkeys(f"{url} {form}" for form in (guid, guid.replace("%20", " "))))
