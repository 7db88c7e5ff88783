"""A seal: the digest of a store, kept in it after a run, so that a byte that rots is noticed.

Sums and hashes can be computed again; a date or a name cannot. The night seals a store before it
is copied, so every backup carries its seal. A later run ends it: then it says nothing.
"""

from __future__ import annotations

import hashlib
import json

from segapsith_store.digest import _PARTS, digest
from segapsith_store.store import Store

__all__ = ["broken", "seal"]

FACT = "seal"
_FORM = hashlib.sha256(repr(_PARTS).encode()).hexdigest()[:16]
"""Of what is hashed: a release that hashes something else does not judge by old seals."""


def seal(store: Store) -> str:
    """Keeps the digest of the store as it is after its last run; gives it."""
    found = digest(store)
    value = {"run": _last_run(store), "digest": found, "form": _FORM}
    store.change(
        lambda c: (
            c.execute(
                "INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)",
                [FACT, json.dumps(value, sort_keys=True)],
            ).rowcount
        )
    )
    return found


def broken(store: Store, found: str) -> bool:
    """Whether the store was sealed after its last run, and its digest is now another one."""
    sealed = store.facts().get(FACT)
    return (
        isinstance(sealed, dict)
        and sealed.get("form") == _FORM
        and sealed.get("run") == _last_run(store)
        and sealed.get("digest") != found
    )


def _last_run(store: Store) -> int:
    return store.number("SELECT max(id) FROM runs")
