"""What is kept, in one SQLite file."""

from segapsith_store.store import Store

__all__ = ["Store"]
