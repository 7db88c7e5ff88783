"""Ids as people give them: whole, or the guid alone of a story that came from a feed."""

from __future__ import annotations

from collections.abc import Sequence

from segapsith.errors import UsageError
from segapsith.intake.feed_ids import feed_uid, guid_of, written_guid
from segapsith.io.addresses import Address
from segapsith_store.store import Store

__all__ = ["document_id", "forgotten_id"]

MAX_NAMED = 3
"""Ids that the message about an ambiguous guid lists."""


def document_id(store: Store, given: str) -> str:
    """Return the id of the document that is meant: the given one, or the one with this guid.

    If no document fits, the given id is returned. A guid that several feeds use is an error.
    """
    with store.frozen():
        if store.document(given) is not None:
            return given
        written = written_guid(given)
        ending = f"#{written}"
        return _only(
            given,
            [
                uid
                for (uid,) in store.rows(
                    "SELECT uid FROM documents WHERE substr(uid, ?) = ? ORDER BY uid",
                    [-len(ending), ending],
                )
                if guid_of(uid) == written
            ],
        )


def forgotten_id(store: Store, given: str) -> str:
    """Return the id of the forgotten document that is meant, as `document_id` does.

    Tombstones have no ids, so that a guid alone is tried with the address of each known feed.
    """
    with store.frozen():
        if store.forgotten_uids([given]):
            return given
        urls = [
            Address.of(url).url
            for (url,) in store.rows("SELECT url FROM feeds WHERE url LIKE 'http%' ORDER BY url")
        ]
        return _only(given, sorted(store.forgotten_uids({feed_uid(url, given) for url in urls})))


def _only(given: str, uids: Sequence[str]) -> str:
    if len(uids) > 1:
        names = ", ".join(uids[:MAX_NAMED]) + (" …" if len(uids) > MAX_NAMED else "")
        raise UsageError(f"{given!r} is the guid of {len(uids)} documents: give one of {names}")
    return uids[0] if uids else given
