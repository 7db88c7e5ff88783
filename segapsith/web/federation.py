"""A federated view in the application: the file that `segapsith federate` wrote, read when it changes."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segapsith.errors import ConfigurationError, MissingInputError

__all__ = ["FederatedView"]

FILE = "federation.json"
PARTS = ("stores", "domains", "topics", "agreements", "is_exact", "threshold", "min_units")


class FederatedView:
    """The view in a directory, as the values of its JSON file."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._path = Path(folder) / FILE
        self._lock = threading.Lock()
        self._known: tuple[tuple[int, int, int], Mapping[str, Any]] | None = None

    def read(self) -> Mapping[str, Any]:
        """Return the view; the file is read again if `federate` has written it anew."""
        with self._lock:
            try:
                entry = self._path.stat()
                mark = (entry.st_ino, entry.st_mtime_ns, entry.st_size)
                if self._known is None or self._known[0] != mark:
                    self._known = (mark, self._parsed(self._path.read_bytes()))
            except FileNotFoundError as error:
                raise MissingInputError(
                    f"{self._path}: there is no such file; `segapsith federate` writes it"
                ) from error
            except OSError as error:
                raise ConfigurationError(f"{self._path}: cannot be read: {error}") from error
            return self._known[1]

    def _parsed(self, content: bytes) -> Mapping[str, Any]:
        try:
            view = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ConfigurationError(f"{self._path}: is not JSON: {error}") from error
        if not isinstance(view, dict) or any(part not in view for part in PARTS):
            raise ConfigurationError(f"{self._path}: was not written by `segapsith federate`")
        return view
