"""What proving and reporting read: clusterings, validations as a series, sentences of units."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.evaluation.alignment import Side
from segapsith.evaluation.validation import summarize
from segapsith_store import codecs
from segapsith_store.store import Store

__all__ = [
    "clustering",
    "domain_labels",
    "sentences",
    "side",
    "validations",
]


def clustering(store: Store, run: int) -> dict[int, int] | None:
    """The clusters of the units that a run computed, if it did."""
    found = store.row("SELECT units, labels FROM clusterings WHERE run = ?", [run])
    if found is None:
        return None
    units, labels = (codecs.integers_from(blob).tolist() for blob in found)
    return {unit: label for unit, label in zip(units, labels, strict=True) if label >= 0}


def side(
    store: Store, labels: Mapping[int, int], name: str, field: str
) -> tuple[Side, NDArray[np.int64]]:
    """Labelled units as stretches of their documents, and the units in that order."""
    chosen = [
        (unit, uid, start, end)
        for unit, uid, start, end in store.rows(
            'SELECT u.id, d.uid, u.start, u."end" FROM units u'
            " JOIN documents d ON d.id = u.document ORDER BY u.id"
        )
        if unit in labels
    ]
    return Side(
        name,
        [uid for _, uid, _, _ in chosen],
        [labels[unit] for unit, _, _, _ in chosen],
        [start for _, _, start, _ in chosen],
        [end for _, _, _, end in chosen],
        field=field,
    ), np.array([unit for unit, _, _, _ in chosen], dtype=np.int64)


def domain_labels(store: Store) -> dict[int, str]:
    """What domains are called."""
    return dict(store.rows("SELECT id, label FROM domains"))


def validations(
    store: Store, lang: str | None = None, limit: int | None = None
) -> list[dict[str, Any]]:
    """The validations so far, oldest first; `limit` keeps the last ones."""
    found = []
    for run, at, language, text in store.rows(
        "SELECT c.run, r.started_at, c.lang, c.result FROM comparisons c JOIN runs r ON r.id = c.run"
        " WHERE c.kind = 'validate' AND (? IS NULL OR c.lang = ?) ORDER BY c.id",
        [lang, lang],
    ):
        result = json.loads(text)
        found.append(
            {
                "run": run,
                "at": at,
                "lang": language,
                **{
                    name: result.get(name)
                    for name in ("clusterer", "similarity", "min_units", "word_cut")
                },
                "last": result.get("last") or 0,
                **summarize(result),
            }
        )
    return found if limit is None else found[-limit:]


_SENTENCE = re.compile(r"(?<=[.!?…»”])\s+(?=[\w«“\"'(—–-])|\n+")


def sentences(
    store: Store, units: Sequence[int], words: Mapping[int, Sequence[str]], most: int = 220
) -> dict[int, str]:
    """Of each unit the sentence that has most of the given words (by unit), cut to a length.

    Words are lemmas and sentences are not, so that their first five letters have to do.
    """
    shown: dict[int, str] = {}
    for unit in units:
        row = store.row("SELECT text FROM unit_texts WHERE id = ?", [unit])
        if row is None or not row[0]:
            continue
        stems = {part[:5].casefold() for word in words.get(unit, ()) for part in word.split()}
        parts = [part.strip() for part in _SENTENCE.split(row[0]) if part.strip()]
        if not parts:
            continue
        hits = [
            len({token[:5].casefold() for token in re.findall(r"\w+", part)} & stems)
            for part in parts
        ]
        shown[unit] = _cut(parts[int(np.argmax(hits))], most)
    return shown


def _cut(text: str, most: int) -> str:
    """A text of at most so many characters, cut between words.

    >>> _cut("the storm came at night", 16)
    'the storm came …'
    """
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1].rsplit(" ", 1)[0] + " …"
