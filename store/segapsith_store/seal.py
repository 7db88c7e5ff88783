"""The seal: the digest of a store, stored in it after a run, so that damage is noticed.

Sums and hashes can be computed again; a date or a name cannot. The night seals a store before it
is copied, so every backup has a seal; a large ingest seals it as well. The next run ends the seal.
While it is valid, `status` reads the digest from it; `verify` computes the digest.
"""

from __future__ import annotations

import json
from typing import Any

from segapsith_store.digest import FORM, digest, keep_blocks
from segapsith_store.store import Store

__all__ = ["FACT", "is_broken", "seal", "seal_after", "sealed_digest"]

FACT = "seal"
"""Name of the fact that holds the seal."""

MUCH = 4
"""A run seals the store if it read at least one in `MUCH` of all documents: compared with such a
run, the digest costs little."""


def seal(store: Store) -> str:
    """Store the digest of the store as it is after its last run, and return it."""
    keep_blocks(store)
    value = {**_last_run(store), "digest": digest(store), "form": FORM}
    store.change(
        lambda c: (
            c.execute(
                "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)",
                [FACT, json.dumps(value, sort_keys=True)],
            ).rowcount
        )
    )
    return str(value["digest"])


def seal_after(store: Store, read: int) -> None:
    """Seal the store if a run read a large part of its documents."""
    if read * MUCH >= store.number("SELECT count(*) FROM documents"):
        seal(store)


def sealed_digest(store: Store) -> str | None:
    """Return the digest that was stored after the last run; None if the store is not sealed."""
    with store.frozen():
        sealed: dict[str, Any] = store.facts().get(FACT) or {}
        present = {**_last_run(store), "form": FORM}
    return str(sealed["digest"]) if present.items() <= sealed.items() else None


def is_broken(store: Store, computed: str) -> bool:
    """Return whether the store is sealed with a digest other than the computed one."""
    return sealed_digest(store) not in (None, computed)


def _last_run(store: Store) -> dict[str, Any]:
    """Return the last run and its position: a run that was stopped continues under its number."""
    run, position = store.row("SELECT id, position FROM runs ORDER BY id DESC LIMIT 1") or (0, 0)
    return {"run": run, "position": position}
