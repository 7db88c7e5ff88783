"""Views of units: their words, the proper names in them, their source, and subjects or keywords.

Labels that a data set brings (`label`, `labels`, `event`, `topic`, `section`, `tags`) have no view.
Every column belongs to one language, so units of two languages share no column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapsith.arrays import Views
from segapsith.errors import UsageError, did_you_mean
from segapsith.lexicon import proper_names

if TYPE_CHECKING:
    from segapsith.arrays import Rows

__all__ = ["VIEWS", "Origin", "make_views", "parse_views", "side_by_side"]


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a unit: its position in a text, and the metadata of the text."""

    unit: int
    version: int
    start: int
    end: int
    lang: str
    source: str
    metadata: str
    """JSON, as stored."""
    text: str


Counts = dict[str, float]


def _names(origins: Sequence[Origin]) -> list[Counts]:
    """Return the proper names of each unit of one text; they are recognised in the whole text."""
    counts_by_unit: list[Counts] = [{} for _ in origins]
    for name in proper_names.names(origins[0].text, origins[0].lang):
        for counts, origin in zip(counts_by_unit, origins, strict=True):
            if origin.start <= name.start < origin.end:
                counts[name.name] = counts.get(name.name, 0.0) + 1.0
    return counts_by_unit


def _source(origins: Sequence[Origin]) -> list[Counts]:
    return [{origin.source: 1.0} if origin.source else {} for origin in origins]


def _metadata_entries(key: str) -> Callable[[Sequence[Origin]], list[Counts]]:
    """Return a view of one field of the metadata, with a column for each of its entries."""

    def entries(origins: Sequence[Origin]) -> list[Counts]:
        value = json.loads(origins[0].metadata or "{}").get(key) or []
        listed = value if isinstance(value, list) else str(value).split(",")
        counts = {str(entry).strip().casefold(): 1.0 for entry in listed if str(entry).strip()}
        return [dict(counts) for _ in origins]

    return entries


_VIEW_ENTRIES: dict[str, Callable[[Sequence[Origin]], list[Counts]]] = {
    "names": _names,
    "source": _source,
    "subjects": _metadata_entries("subjects"),
    "keywords": _metadata_entries("keywords"),
}

VIEWS = ("words", *_VIEW_ENTRIES)
"""Names of the views of a store."""


def parse_views(text: str) -> tuple[str, ...]:
    """Return the views of a comma-separated list; raise `UsageError` for an unknown one.

    >>> parse_views("words, names")
    ('words', 'names')
    """
    views = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in views:
        if name not in VIEWS:
            hint = did_you_mean(name, VIEWS)
            raise UsageError(f"no view is called {name!r} (known: {', '.join(VIEWS)}){hint}")
    if not views:
        raise UsageError(f"--views names no view (known: {', '.join(VIEWS)})")
    return views


def make_views(
    names: Sequence[str], words: Rows, units: Sequence[int], origins: Iterable[Origin]
) -> dict[str, Rows]:
    """Return the views by name, with rows in the order of `units`.

    `words` are the word counts of the units. `origins` are ordered by text.
    """
    row = {unit: number for number, unit in enumerate(units)}
    others = [name for name in names if name != "words"]
    entries: dict[str, list[tuple[int, str, float]]] = {name: [] for name in others}
    for text_origins in _by_text(origins) if others else ():
        for name in others:
            unit_counts = _VIEW_ENTRIES[name](text_origins)
            for origin, counts in zip(text_origins, unit_counts, strict=True):
                key = f"{origin.lang} "
                entries[name] += [(row[origin.unit], key + c, n) for c, n in counts.items()]
    views = {
        name: words if name == "words" else _matrix(entries[name], len(units)) for name in names
    }
    empty = [name for name, rows in views.items() if rows.nnz == 0]
    if empty and len(units):
        raise UsageError(
            f"no unit has an entry in the view {', '.join(empty)}; leave it out of --views"
        )
    return views


def _by_text(origins: Iterable[Origin]) -> Iterable[list[Origin]]:
    together: list[Origin] = []
    for origin in origins:
        if together and together[0].version != origin.version:
            yield together
            together = []
        together.append(origin)
    if together:
        yield together


def _matrix(entries: list[tuple[int, str, float]], n_rows: int) -> Rows:
    """Return the entries as a matrix, columns in alphabetical order."""
    from scipy.sparse import csr_array  # slow to import

    columns = {name: number for number, name in enumerate(sorted({c for _, c, _ in entries}))}
    rows = np.array([r for r, _, _ in entries], dtype=np.int64)
    places = np.array([columns[c] for _, c, _ in entries], dtype=np.int64)
    values = np.array([n for _, _, n in entries], dtype=np.float64)
    return csr_array((values, (rows, places)), shape=(n_rows, len(columns)))


def side_by_side(views: Views | Mapping[str, Rows]) -> Rows:
    """Return the views of the same rows as one matrix."""
    from scipy.sparse import csr_array, hstack  # slow to import

    matrices = list(views.values())
    return matrices[0] if len(matrices) == 1 else csr_array(hstack(matrices, format="csr"))
