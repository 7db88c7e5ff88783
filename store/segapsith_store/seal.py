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

__all__ = ["FACT", "SEAL_LEAST", "SEAL_SHARE", "is_broken", "seal", "sealed_digest"]

FACT = "seal"
"""Name of the fact that holds the seal."""

SEAL_SHARE, SEAL_LEAST = 0.25, 8
"""A run that read at least this share of all documents, and at least this number, seals the store:
compared with such a run, computing the digest takes little time."""


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
