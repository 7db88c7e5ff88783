"""Rivals: rows, links, communities and k-means on a few texts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from segapsith.engine.order_sensitivity import StreamUnit
from segapsith_reproduce.streams import rivals
from segapsith_reproduce.streams.rivals import (
    carried_communities,
    k_means,
    louvain,
    nearest_links,
    text_rows,
)

BOATS, STARS = (0, 1, 2), (3, 4, 5)


def _unit(document: int, words: tuple[int, ...], also: int) -> StreamUnit:
    all_words = np.array([*words, also], dtype=np.int32)
    return StreamUnit(document, "en", all_words, np.ones(len(all_words), dtype=np.int32))


UNITS = [_unit(10 + n, BOATS if n % 2 else STARS, 6 + n) for n in range(12)]
PARTS = [[10 + n for n in range(12) if n % 2 == part] for part in (0, 1)]


def _partition(groups: dict[int, int]) -> list[list[int]]:
    return sorted([d for d in groups if groups[d] == g] for g in set(groups.values()))


def test_a_document_is_one_row_of_length_one() -> None:
    units = [*UNITS, _unit(10, BOATS, 0)]
    texts = text_rows(units)
    assert list(texts.documents) == list(range(10, 22))
    assert np.allclose(texts.rows.multiply(texts.rows).sum(axis=1), 1)
    assert set(texts.rows[[0]].indices.tolist()) >= {*BOATS, *STARS}


def test_links_are_those_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((40, 6)) * (rng.random((40, 6)) < 0.5)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    cosines = rows @ rows.T - 2 * np.eye(40)
    expected = set()
    for i in range(40):
        for j in np.argsort(-cosines[i], kind="stable")[: rivals.NEIGHBOURS].tolist():
            if cosines[i, j] >= rivals.MIN_COSINE:
                expected.add((min(i, j), max(i, j)))
    low, high, values = nearest_links(csr_array(rows))
    assert set(zip(low.tolist(), high.tolist(), strict=True)) == expected
    assert values == pytest.approx(cosines[low, high])


def test_k_means_finds_the_given_number_of_subjects() -> None:
    assert _partition(k_means(text_rows(UNITS), 2, seed=0)) == PARTS


@pytest.mark.slow
def test_communities_are_carried_from_day_to_day() -> None:
    pytest.importorskip("networkx")
    texts = text_rows(UNITS)
    days = {document: 700_000 + (document - 10) // 4 for document in texts.documents}
    assert _partition(louvain(texts, days, seed=0)) == PARTS
    assert _partition(louvain(texts, {}, seed=0)) == PARTS
    apart = {document: 700_000 + 20 * (document - 10) for document in texts.documents}
    assert len(_partition(louvain(texts, apart, seed=0))) == 12


def test_a_community_joins_the_cluster_of_most_of_its_documents() -> None:
    found, before = np.array([0, 0, 0, 0, 1]), np.array([7, 8, 8, -1, 3])
    assert carried_communities(found, before, 9).tolist() == [7, 8, 8, 8, 3]
