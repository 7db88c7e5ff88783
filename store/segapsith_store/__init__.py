"""What is kept, in one SQLite file."""

import importlib
import sys

# Where pandas is installed, sqlite-utils imports it for a type of column that no store has, and that
# takes longer than all the rest. Whoever wants pandas can still import it afterwards.
_absent = "pandas" not in sys.modules
if _absent:
    sys.modules["pandas"] = None  # type: ignore[assignment]  # Python's own way to say: not there
try:
    importlib.import_module("sqlite_utils")
finally:
    if _absent:
        del sys.modules["pandas"]

from segapsith_store.store import Store

__all__ = ["Store"]
