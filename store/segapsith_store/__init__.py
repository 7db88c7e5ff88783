"""The store: one SQLite file with everything that was learned."""

from segapsith_store.store import Store

__all__ = ["Store"]
