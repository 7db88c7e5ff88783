"""Other clusterings of the same words: communities of a graph, and k-means.

Each rival receives the documents as the store has read them, and returns the cluster of each
document. Rows are TF-IDF, (1 + ln count) × rarity, with the rarity over all documents.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.engine.order_sensitivity import StreamUnit
from segapsith_plugins.clusterers.spherical_kmeans import SphericalKMeans

__all__ = [
    "LOUVAIN_EXTRA",
    "MIN_COSINE",
    "NEIGHBOURS",
    "TextRows",
    "carried_communities",
    "has_louvain",
    "k_means",
    "louvain",
    "nearest_links",
    "text_rows",
]

NEIGHBOURS = 10
"""Documents that each document is linked with at most in the graph."""

MIN_COSINE = 0.2
"""Least cosine of a link."""

LOUVAIN_WINDOW = 7
"""Days of the documents in a graph."""

BLOCK = 512
"""Rows whose cosines with all others are computed at once."""

LOUVAIN_EXTRA = "TF-IDF + Louvain needs networkx: pip install 'segapsith[dev]' or networkx"

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TextRows:
    """Documents as TF-IDF rows of length 1, in the order of the stream."""

    documents: Sequence[int]
    rows: csr_array


def text_rows(units: Sequence[StreamUnit]) -> TextRows:
    """Return one row per document, with the words of all its units."""
    documents = list(dict.fromkeys(unit.document for unit in units))
    number = {document: row for row, document in enumerate(documents)}
    words = np.concatenate([np.zeros(0, np.int64), *(unit.words for unit in units)])
    counts = np.concatenate([np.zeros(0), *(unit.counts for unit in units)])
    rows = np.repeat(
        np.array([number[unit.document] for unit in units], dtype=np.int64),
        [len(unit.words) for unit in units],
    )
    shape = (len(documents), int(words.max(initial=-1)) + 1)
    matrix = csr_array((counts.astype(np.float64), (rows, words)), shape=shape)
    matrix.sum_duplicates()
    frequency = np.bincount(matrix.indices, minlength=shape[1])
    rarity = np.log((len(documents) + 2) / (frequency + 1))
    matrix.data = (1 + np.log(np.maximum(matrix.data, 1))) * rarity[matrix.indices]
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    matrix.data /= np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(matrix.indptr))
    return TextRows(documents, matrix)


def k_means(texts: TextRows, k: int, seed: int) -> dict[int, int]:
    """Return the clusters of spherical k-means with a given number of clusters."""
    labels = SphericalKMeans(k=k, n_init=1, max_iterations=20, seed=seed).cluster(texts.rows)
    return dict(zip(texts.documents, labels.tolist(), strict=True))


def has_louvain() -> bool:
    """Return whether the package that finds communities is installed."""
    return find_spec("networkx") is not None


def louvain(texts: TextRows, days: Mapping[int, int], seed: int) -> dict[int, int]:
    """Return Louvain communities of a graph of the last seven days, day after day.

    The graph links each document with its nearest documents. Without the dates of all documents the
    whole stream is one window.
    """
    if not all(document in days for document in texts.documents):
        return dict(zip(texts.documents, _communities(texts.rows, seed).tolist(), strict=True))
    when = np.array([days[document] for document in texts.documents], dtype=np.int64)
    labels = np.full(len(when), -1, dtype=np.int64)
    for day in np.unique(when).tolist():
        window = np.flatnonzero((when > day - LOUVAIN_WINDOW) & (when <= day))
        communities = _communities(csr_array(texts.rows[window]), seed)
        labels[window] = carried_communities(communities, labels[window], int(labels.max()) + 1)
    return dict(zip(texts.documents, labels.tolist(), strict=True))


def carried_communities(communities: Ints, before: Ints, unused: int) -> Ints:
    """Return the clusters of a window: documents with a cluster keep it, others join one.

    A new document joins the cluster that most documents of its community had before. If there is
    none, its community becomes a cluster, numbered from `unused`.

    >>> carried_communities(np.array([0, 0, 1, 1]), np.array([5, -1, -1, -1]), 9).tolist()
    [5, 5, 9, 9]
    """
    result = before.copy()
    for community in range(int(communities.max(initial=-1)) + 1):
        members = np.flatnonzero(communities == community)
        new = members[before[members] < 0]
        known = before[members][before[members] >= 0]
        if len(new) and len(known):
            numbers, sizes = np.unique(known, return_counts=True)
            result[new] = numbers[np.argmax(sizes)]
        elif len(new):
            result[new] = unused
            unused += 1
    return result


def nearest_links(rows: csr_array) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """Return links of each row with its nearest rows, each pair once: both ends and the cosine."""
    n = rows.shape[0]
    lefts, rights, cosines = [], [], []
    across = csr_array(rows.T)
    for start in range(0, n, BLOCK):
        near = (rows[start : start + BLOCK] @ across).toarray()
        height = len(near)
        near[np.arange(height), np.arange(start, start + height)] = 0.0
        best = np.argsort(-near, axis=1, kind="stable")[:, :NEIGHBOURS]
        values = np.take_along_axis(near, best, axis=1)
        row, column = np.nonzero(values >= MIN_COSINE)
        lefts.append(row + start)
        rights.append(best[row, column])
        cosines.append(values[row, column])
    left, right = np.concatenate(lefts), np.concatenate(rights)
    low, high = np.minimum(left, right), np.maximum(left, right)
    _, first = np.unique(low * n + high, return_index=True)
    return low[first], high[first], np.concatenate(cosines)[first]


def _communities(rows: csr_array, seed: int) -> Ints:
    """Return the community of each row; networkx is imported by name, it is not a dependency."""
    networkx: Any = importlib.import_module("networkx")
    graph = networkx.Graph()
    graph.add_nodes_from(range(rows.shape[0]))
    low, high, cosines = nearest_links(rows)
    graph.add_weighted_edges_from(zip(low.tolist(), high.tolist(), cosines.tolist(), strict=True))
    labels = np.zeros(rows.shape[0], dtype=np.int64)
    for number, members in enumerate(networkx.community.louvain_communities(graph, seed=seed)):
        labels[list(members)] = number
    return labels
