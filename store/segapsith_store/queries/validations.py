"""Stored clusterings and the series of validations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.evaluation.alignment import Side
from segapsith.evaluation.validation import ValidationSummary, summarize
from segapsith_store import codecs
from segapsith_store.store import Store

__all__ = [
    "ValidationRow",
    "labelled_side",
    "last_validations",
    "list_validations",
    "read_clustering",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationRow(ValidationSummary):
    """The main figures of one stored validation, and what it was made with."""

    run: int
    at: str
    lang: str
    clusterer: str | None
    similarity: str | None
    min_units: int | None
    word_cut: float | None
    last: int
    """Newest stories that were validated (0: all)."""


def list_validations(
    store: Store, lang: str | None = None, limit: int | None = None
) -> list[ValidationRow]:
    """Return the last `limit` validations, or all of them, oldest first."""
    rows = []
    for run, at, language, text in store.rows(
        "SELECT c.run, r.started_at, c.lang, c.result FROM comparisons c JOIN runs r ON r.id = c.run"
        " WHERE c.kind = 'validate' AND (? IS NULL OR c.lang = ?) ORDER BY c.id",
        [lang, lang],
    ):
        result = json.loads(text)
        rows.append(
            ValidationRow(
                run=run,
                at=at,
                lang=language,
                clusterer=result.get("clusterer"),
                similarity=result.get("similarity"),
                min_units=result.get("min_units"),
                word_cut=result.get("word_cut"),
                last=result.get("last") or 0,
                **summarize(result),
            )
        )
    return rows if limit is None else rows[-limit:]


def last_validations(store: Store) -> list[dict[str, Any]]:
    """Return the newest validation of each language as it was stored, with `run`, `lang`, `at`."""
    return [
        {**json.loads(text), "run": run, "lang": lang, "at": at}
        for lang, run, at, text in store.rows(
            "SELECT c.lang, c.run, r.started_at, c.result FROM comparisons c"
            " JOIN runs r ON r.id = c.run WHERE c.kind = 'validate' AND c.id IN"
            " (SELECT max(id) FROM comparisons WHERE kind = 'validate' GROUP BY lang)"
            " ORDER BY c.lang"
        )
    ]


def read_clustering(store: Store, run: int) -> dict[int, int] | None:
    """Return the cluster of each unit that a run computed; None if it computed no clustering."""
    row = store.row("SELECT units, labels FROM clusterings WHERE run = ?", [run])
    if row is None:
        return None
    units, labels = (codecs.integers_from(blob).tolist() for blob in row)
    return {unit: label for unit, label in zip(units, labels, strict=True) if label >= 0}


def labelled_side(
    store: Store, labels: Mapping[int, int], name: str, field: str
) -> tuple[Side, NDArray[np.int64]]:
    """Return labelled units as stretches of their documents, and the units in that order."""
    labelled = [
        (unit, uid, start, end)
        for unit, uid, start, end in store.rows(
            'SELECT u.id, d.uid, u.start, u."end" FROM units u'
            " JOIN documents d ON d.id = u.document ORDER BY u.id"
        )
        if unit in labels
    ]
    side = Side(
        name,
        [uid for _, uid, _, _ in labelled],
        [labels[unit] for unit, _, _, _ in labelled],
        [start for _, _, start, _ in labelled],
        [end for _, _, _, end in labelled],
        field=field,
    )
    return side, np.array([unit for unit, _, _, _ in labelled], dtype=np.int64)
