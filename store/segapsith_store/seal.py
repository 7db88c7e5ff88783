"""A seal: the digest of a store, kept in it after a run, so that a byte that rots is noticed.

Sums and hashes can be computed again; a date or a name cannot. The night seals a store before it
is copied, so every backup carries its seal; so does an ingest that brought much. A later run ends
it: then it says nothing. While it holds, `status` need not compute the digest; `verify` does.
"""

from __future__ import annotations

import json
from typing import Any

from segapsith_store.digest import FORM, digest, keep_blocks
from segapsith_store.store import Store

__all__ = ["broken", "kept", "seal", "seal_after"]

FACT = "seal"
MUCH = 4
"""A run seals if it read at least this part of all documents: then the digest costs little beside."""


def seal(store: Store) -> str:
    """Keeps the digest of the store as it is after its last run; gives it."""
    keep_blocks(store)
    found = digest(store)
    value = {**_last_run(store), "digest": found, "form": FORM}
    store.change(
        lambda c: (
            c.execute(
                "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)",
                [FACT, json.dumps(value, sort_keys=True)],
            ).rowcount
        )
    )
    return found


def seal_after(store: Store, read: int) -> None:
    """Seals after a run that read much of what there is."""
    if read * MUCH >= store.number("SELECT count(*) FROM documents"):
        seal(store)


def kept(store: Store) -> str | None:
    """The digest that was kept after the last run, if any."""
    sealed: dict[str, Any] = store.facts().get(FACT) or {}
    wanted = {**_last_run(store), "form": FORM}
    return str(sealed["digest"]) if wanted.items() <= sealed.items() else None


def broken(store: Store, found: str) -> bool:
    """Whether the store was sealed after its last run, and its digest is now another one."""
    return kept(store) not in (None, found)


def _last_run(store: Store) -> dict[str, Any]:
    """The last run and how far it came: one that was stopped goes on under its number."""
    found = store.row("SELECT id, position FROM runs ORDER BY id DESC LIMIT 1") or (0, 0)
    return {"run": found[0], "position": found[1]}
