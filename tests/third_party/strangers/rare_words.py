"""Rare words: the cosine, after words that many learned rows have are made light."""

import numpy as np

from segapsith import hookimpl


class RareWords:
    bounds = (0.0, 1.0)

    def __init__(self, *, floor=0.1):
        if not 0 < floor <= 1:
            raise ValueError(f"floor={floor} should be > 0 and <= 1")
        self.floor = floor
        self.weights = np.ones(0)

    def learn(self, rows):
        n_rows, share = max(rows.shape[0], 1), (rows > 0).sum(axis=0)
        self.weights = np.maximum(1 - share / n_rows, self.floor)

    def compare(self, left, right):
        a, b = (self.weighted(rows) for rows in (left, right))
        lengths = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
        return np.minimum(a @ b.T / np.where(lengths > 0, lengths, 1), 1)

    def weighted(self, rows):
        weights = np.ones(rows.shape[1])  # a word that was not learned is rare
        known = min(len(weights), len(self.weights))
        weights[:known] = self.weights[:known]
        return np.abs(rows.toarray()) * weights

    def state(self):
        return {"weights": self.weights}

    def restore(self, state):
        self.weights = state["weights"]


@hookimpl
def register_similarities():
    return {"rare-words": RareWords}
