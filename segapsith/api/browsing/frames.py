"""Rows of a store as a table of pandas, Polars or Arrow, whichever is installed."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from segapsith.errors import UsageError
from segapsith.model import Result
from segapsith.plugin.contracts import Labeller
from segapsith_store import Store
from segapsith_store.queries import documents, domains, events, sections, topics, validations

__all__ = ["frame"]

_LISTS: dict[str, Callable[[Store, Labeller], Iterable[Result]]] = {
    "domains": lambda store, _: domains.list_domains(store, top=None),
    "units": lambda store, _: documents.iterate_units(store),
    "stories": lambda store, _: documents.iterate_documents(store),
    "topics": lambda store, _: topics.list_topics(store, top=None),
    "sections": lambda store, _: sections.list_sections(store, top=None),
    "events": lambda store, labeller: events.list_events(
        store, labels=events.EventLabels(labeller)
    ),
    "validations": lambda store, _: validations.list_validations(store, None, None),
}
SUBJECTS = (*_LISTS, "days")

LIBRARIES = ("pandas", "polars", "pyarrow")
"""In the order in which they are looked for."""


def frame(store: Store, what: str, library: str | None, labeller: Labeller) -> Any:
    """Return the rows about a subject; lists and objects in them are JSON texts."""
    if what not in SUBJECTS:
        raise UsageError(f"frame({what!r}): one of {', '.join(SUBJECTS)} is expected")
    if library is not None and library not in LIBRARIES:
        raise UsageError(f"library={library!r} should be one of {', '.join(LIBRARIES)}")
    module = _imported(LIBRARIES if library is None else (library,))
    records: Iterable[Mapping[str, Any]] = (
        domains.iterate_domain_days(store)
        if what == "days"
        else (row.as_json() for row in _LISTS[what](store, labeller))
    )
    rows = [_flat(row) for row in records]
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    if module.__name__ == "pyarrow":
        return module.table(columns)
    return module.DataFrame(columns)


def _imported(names: tuple[str, ...]) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise UsageError(
        f"a frame needs {' or '.join(names)}, which is not installed;"
        " run: pip install segapsith[frames]"
    )


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
        for name, value in row.items()
    }
