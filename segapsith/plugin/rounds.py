"""Clusterers whose work divides into parts: rounds of parts that do not depend on each other.

A clusterer with the ability `ClustersInParts` describes its search once. In one process the parts
are done in turn; a cluster of workers does those of a round at the same time. Both give the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from segapsith.arrays import Compare, Labels, Rows, Views
from segapsith.plugin.contracts import ClustersInParts

__all__ = ["cluster_in_turn", "run_rounds"]


def run_rounds(
    clusterer: ClustersInParts, prepared: Any, do: Callable[[Sequence[Any]], Sequence[Any]]
) -> Labels:
    """Return the labels; `do` returns the results of the parts of a round, in their order."""
    rounds = clusterer.rounds(prepared)
    try:
        parts = next(rounds)
        while True:
            parts = rounds.send(do(parts))
    except StopIteration as end:
        labels: Labels = end.value
        return labels


def cluster_in_turn(
    clusterer: ClustersInParts, rows: Rows | Views, compare: Compare | None
) -> Labels:
    """Return the labels; all parts are done here, one after the other."""
    prepared = clusterer.prepare(rows, compare)
    return run_rounds(
        clusterer, prepared, lambda parts: [clusterer.part(prepared, part) for part in parts]
    )
