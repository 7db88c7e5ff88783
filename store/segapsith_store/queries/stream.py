"""The units that the domains were learned from, in the order in which they were learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.values import Bag
from segapsith.engine.order_sensitivity import StreamUnit
from segapsith.evaluation.validation import LearnedUnits
from segapsith.evaluation.views import Origin
from segapsith.lexicon.vocabulary import SCALE
from segapsith_store import codecs
from segapsith_store.queries.words import Words
from segapsith_store.store import Store

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["StoredStream", "iterate_origins", "iterate_stream", "learned_units", "read_stream"]


@dataclass(frozen=True, slots=True)
class StoredStream:
    """Units in the order in which they were learned, each with its domain."""

    bags: list[Bag]
    domains: list[int]
    n_units: int
    """All learned units; `bags` has the last ones."""
    significance: NDArray[np.float64] | None
    """By word number, if domains are weighted by significance."""
    stories: list[int]
    """Ordinal of the story of each unit."""


def iterate_stream(store: Store) -> Iterator[StreamUnit]:
    """Yield the learned units, oldest first."""
    for document, lang, blob in store.rows(
        "SELECT u.document, v.lang, u.words FROM assignments a JOIN units u ON u.id = a.unit"
        " JOIN versions v ON v.id = u.version ORDER BY u.id"
    ):
        bag = codecs.bag_from(blob)
        yield StreamUnit(document, lang, bag.words, bag.counts)


def read_stream(store: Store, lang: str | None = None, sample: int | None = None) -> StoredStream:
    """Return the last `sample` learned units, or all of them, with their domains."""
    condition, parameters = ("", []) if lang is None else (" WHERE v.lang = ?", [lang])
    source = (
        "FROM assignments a JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version"
        f" JOIN documents d ON d.id = u.document{condition}"
    )
    with store.frozen():
        rows = list(
            store.rows(
                f"SELECT u.words, a.domain, d.ordinal {source} ORDER BY u.id DESC LIMIT ?",
                [*parameters, -1 if sample is None else sample],
            )
        )[::-1]
        return StoredStream(
            [codecs.bag_from(blob) for blob, _, _ in rows],
            [domain for _, domain, _ in rows],
            store.number(f"SELECT count(*) {source}", parameters),
            Words(store).significance,
            [ordinal or 0 for _, _, ordinal in rows],
        )


def learned_units(
    store: Store, lang: str | None = None, domain: int | None = None, last: int = 0
) -> LearnedUnits:
    """Return the units that are in a domain as matrices of counts and weights.

    Inferred words are left out: they are no evidence for a clustering. `last` restricts the units
    to the newest `last` stories (0: all).
    """
    from scipy.sparse import csr_array  # slow to import

    with store.frozen():
        rows = list(_learned_rows(store, lang, domain, last))
        words = Words(store)
        bags = [codecs.bag_from(blob).observed for _, _, _, blob in rows]
        used, columns = np.unique(_joined([b.words for b in bags]), return_inverse=True)
        starts = np.concatenate([[0], np.cumsum([len(b.words) for b in bags], dtype=np.int64)])
        shape = (len(bags), len(used))

        def matrix(values: Sequence[NDArray[np.int32]]) -> csr_array:
            data = _joined(values).astype(np.float64)
            return csr_array((data, columns, starts), shape=shape)

        weights = matrix([b.weights for b in bags])
        weights.data /= SCALE
        return LearnedUnits(
            np.array([unit for unit, *_ in rows], dtype=np.int64),
            np.array([of for _, of, *_ in rows], dtype=np.int64),
            matrix([b.counts for b in bags]),
            weights,
            words.texts(used.tolist()),
            words.significance_of(used),
            [ordinal or 0 for _, _, ordinal, _ in rows],
        )


def _learned_rows(
    store: Store, lang: str | None, domain: int | None, last: int
) -> Iterator[tuple[int, int, int | None, bytes]]:
    """Yield unit, domain, ordinal of the story, and words of the selected units, by id."""
    conditions: dict[str, str | int] = {}
    source = (
        "assignments a JOIN units u ON u.id = a.unit JOIN domains m ON m.id = a.domain"
        " JOIN documents d ON d.id = u.document"
    )
    if last:
        conditions["d.ordinal > ?"] = store.number("SELECT max(ordinal) FROM documents") - last
    if lang is not None:
        conditions["m.lang = ?"] = lang
    if domain is not None:
        conditions["a.domain = ?"] = domain
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    yield from store.rows(
        f"SELECT u.id, a.domain, d.ordinal, u.words FROM {source}{where} ORDER BY u.id",
        list(conditions.values()),
    )


def _joined(parts: Sequence[NDArray[np.int32]]) -> NDArray[np.int32]:
    return np.concatenate(parts or [np.zeros(0, dtype=np.int32)])


def iterate_origins(store: Store, lang: str | None = None) -> Iterator[Origin]:
    """Yield where the units that are in a domain come from, the units of one text together."""
    condition, parameters = ("", []) if lang is None else (" WHERE m.lang = ?", [lang])
    for *head, title, body in store.rows(
        'SELECT u.id, u.version, u.start, u."end", v.lang, v.source, v.metadata, v.title, v.body'
        " FROM assignments a JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version"
        f" JOIN domains m ON m.id = a.domain{condition} ORDER BY u.version, u.id",
        parameters,
    ):
        text = f"{title}\n\n{body}" if title and body else title or body
        yield Origin(*[*head, text])
