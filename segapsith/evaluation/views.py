"""Units seen from several sides: their words, the names in them, where they come from, and
what their agency filed them under.

Only what is listed here enters. Labels that a data set brings (`label`, `labels`, `event`, `topic`,
`section`, `tags`) have no view. Every column belongs to a language, so that units of two languages
share none.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack

from segapsith.arrays import Rows, Views
from segapsith.errors import UsageError, did_you_mean
from segapsith.lexicon.proper_names import names

__all__ = ["VIEWS", "Origin", "chosen", "make_views", "side_by_side"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a unit comes from: its place in a text, and what came with the text."""

    unit: int
    version: int
    start: int
    end: int
    lang: str
    source: str
    metadata: str
    """JSON, as it is kept."""
    text: str


Counts = dict[str, float]


def _names(origins: Sequence[Origin]) -> list[Counts]:
    """Names of each unit of one text; what a name is, is seen from the whole text."""
    found: list[Counts] = [{} for _ in origins]
    for name in names(origins[0].text, origins[0].lang):
        for counts, origin in zip(found, origins, strict=True):
            if origin.start <= name.start < origin.end:
                counts[name.name] = counts.get(name.name, 0.0) + 1.0
    return found


def _source(origins: Sequence[Origin]) -> list[Counts]:
    return [{origin.source: 1.0} if origin.source else {} for origin in origins]


def _filed(key: str) -> Callable[[Sequence[Origin]], list[Counts]]:
    """A view of one field of the metadata, each of its entries a column."""

    def entries(origins: Sequence[Origin]) -> list[Counts]:
        given = json.loads(origins[0].metadata or "{}").get(key) or []
        listed = given if isinstance(given, list) else str(given).split(",")
        plain = {str(entry).strip().casefold(): 1.0 for entry in listed if str(entry).strip()}
        return [dict(plain) for _ in origins]

    return entries


_MADE: dict[str, Callable[[Sequence[Origin]], list[Counts]]] = {
    "names": _names,
    "source": _source,
    "subjects": _filed("subjects"),
    "keywords": _filed("keywords"),
}

VIEWS = ("words", *_MADE)
"""Views that a store can give."""


def chosen(text: str) -> tuple[str, ...]:
    """The views of a list with commas; a `UsageError` that names what there is.

    >>> chosen("words, names")
    ('words', 'names')
    """
    wanted = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in wanted:
        if name not in VIEWS:
            hint = did_you_mean(name, VIEWS)
            raise UsageError(f"no view is called {name!r} (known: {', '.join(VIEWS)}){hint}")
    if not wanted:
        raise UsageError(f"--views names no view (known: {', '.join(VIEWS)})")
    return wanted


def make_views(
    wanted: Sequence[str], words: Rows, units: Sequence[int], origins: Iterable[Origin]
) -> dict[str, Rows]:
    """The views by name, their rows in the order of `units`; `words` are the counts of these.

    `origins` come text by text, the units of one text together.
    """
    row = {unit: number for number, unit in enumerate(units)}
    others = [name for name in wanted if name != "words"]
    entries: dict[str, list[tuple[int, str, float]]] = {name: [] for name in others}
    for together in _by_text(origins) if others else ():
        for name in others:
            for origin, counts in zip(together, _MADE[name](together), strict=True):
                key = f"{origin.lang} "
                entries[name] += [(row[origin.unit], key + c, n) for c, n in counts.items()]
    made = {
        name: words if name == "words" else _matrix(entries[name], len(units)) for name in wanted
    }
    empty = [name for name, rows in made.items() if rows.nnz == 0]
    if empty and len(units):
        raise UsageError(
            f"the units have nothing for the view {', '.join(empty)}; leave it out of --views"
        )
    return made


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
    """Rows × what occurs in them, columns in alphabetical order."""
    columns = {name: number for number, name in enumerate(sorted({c for _, c, _ in entries}))}
    rows = np.array([r for r, _, _ in entries], dtype=np.int64)
    places = np.array([columns[c] for _, c, _ in entries], dtype=np.int64)
    values = np.array([n for _, _, n in entries], dtype=np.float64)
    return csr_array((values, (rows, places)), shape=(n_rows, len(columns)))


def side_by_side(views: Views | Mapping[str, Rows]) -> Rows:
    """The views of the same rows as one matrix."""
    matrices = list(views.values())
    return matrices[0] if len(matrices) == 1 else csr_array(hstack(matrices, format="csr"))
