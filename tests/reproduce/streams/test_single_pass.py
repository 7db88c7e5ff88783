"""The single pass against its definition, document by document."""

from __future__ import annotations

import numpy as np

from segapsith.engine import clock
from segapsith.engine.order_sensitivity import StreamUnit
from segapsith_reproduce.streams.single_pass import SinglePass


def _by_definition(bags: list[dict[int, int]], threshold: float) -> list[int]:
    seen: dict[int, int] = {}
    frozen: dict[int, int] = {}
    n_frozen = 0
    sums: list[dict[int, float]] = []
    labels = []
    for number, bag in enumerate(bags, 1):
        row = {
            w: (1 + np.log(c)) * np.log((n_frozen + 2) / (frozen.get(w, 0) + 1))
            for w, c in bag.items()
        }
        length = np.sqrt(sum(v * v for v in row.values())) or 1.0
        row = {w: v / length for w, v in row.items()}
        cosines = [
            sum(v * of.get(w, 0.0) for w, v in row.items())
            / (np.sqrt(sum(v * v for v in of.values())) or 1.0)
            for of in sums
        ]
        best = int(np.argmax(cosines)) if cosines else 0
        if not cosines or cosines[best] <= 0 or cosines[best] < threshold:
            best = len(sums)
            sums.append({})
        for w, v in row.items():
            sums[best][w] = sums[best].get(w, 0.0) + v
        labels.append(best)
        for w in bag:
            seen[w] = seen.get(w, 0) + 1
        if clock.ticks(number):
            frozen, n_frozen = dict(seen), number
    return labels


def test_documents_join_the_nearest_sum() -> None:
    rng = np.random.default_rng(0)
    bags = [
        {int(w): int(rng.integers(1, 4)) for w in rng.choice(30, 6, replace=False)}
        for _ in range(80)
    ]
    units = [
        StreamUnit(
            7 + n, "en", np.array(list(bag), np.int32), np.array(list(bag.values()), np.int32)
        )
        for n, bag in enumerate(bags)
    ]
    for threshold in (0.1, 0.3, 0.6):
        found = SinglePass(units).labels(threshold)
        assert list(found) == list(range(7, 87))
        assert list(found.values()) == _by_definition(bags, threshold)
