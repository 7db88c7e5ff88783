"""Clusterers side by side with what is commonly used: one line each, with the ratio and the bar."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array


def zipf_topics(
    n_units: int = 4935,
    n_words: int = 4380,
    n_topics: int = 71,
    *,
    mean_length: float = 55.0,
    topic_share: float = 0.6,
    topic_words: int = 200,
    seed: int = 0,
) -> tuple[csr_array, np.ndarray]:
    """Counts of units that mix the words of one topic with a common background, and the topics.

    Background and topics are Zipf over their own ranking of the words, topic sizes are Zipf
    too (flattened), unit lengths log-normal.
    """
    rng = np.random.default_rng(seed)
    ranks = np.arange(1, n_words + 1)
    background = 1.0 / (ranks + 2.7) ** 1.05
    background /= background.sum()
    own = 1.0 / (np.arange(1, topic_words + 1) + 5.0)
    own /= own.sum()
    shares = 1.0 / (np.arange(1, n_topics + 1) + 10.0) ** 0.8
    labels = rng.choice(n_topics, size=n_units, p=shares / shares.sum())
    # words of middle frequency carry topics more than the commonest ones
    pull = background**0.4
    pull /= pull.sum()
    choices = [rng.choice(n_words, topic_words, replace=False, p=pull) for _ in range(n_topics)]
    lengths = np.maximum(8, rng.lognormal(np.log(mean_length), 0.5, n_units)).astype(int)
    cells = []
    for unit, (topic, length) in enumerate(zip(labels, lengths, strict=True)):
        n_own = rng.binomial(length, topic_share)
        words = np.concatenate(
            [
                rng.choice(choices[topic], n_own, p=own),
                rng.choice(n_words, length - n_own, p=background),
            ]
        )
        cells.append(np.stack([np.full(length, unit), words]))
    row, column = np.concatenate(cells, axis=1)
    counts = csr_array((np.ones(len(row), dtype=np.int64), (row, column)), shape=(n_units, n_words))
    counts.sum_duplicates()
    return counts, labels
