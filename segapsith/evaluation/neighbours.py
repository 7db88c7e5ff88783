"""The nearest neighbours of each row, in blocks: similarities of more rows than fit in memory.

Rows are cut into fixed blocks. An item is one block; its rows are compared with all blocks, one
after the other, and only the best `m` of each row are held. So memory grows with rows times m, and
the result does not depend on the number of workers.

A measure whose memory grows with the square of the rows (χ-Sim) or whose time does with their cube
(GVSM, one reference document per row) learns from a sample of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import NeighbourGraph, Rows
from segapsith.evaluation.clustering import sample_rows
from segapsith.evaluation.worker_clustering import ClusterRecipe
from segapsith.parallel.packing import Frozen
from segapsith.parallel.plugins import registry_of
from segapsith.parallel.tasks import Shared
from segapsith.plugin.contracts import Executor, Similarity

__all__ = [
    "BLOCK",
    "LEARNED_ROWS",
    "BlockPlan",
    "learn_from",
    "nearest_neighbours",
    "nearest_of_block",
]

BLOCK = 1024
"""Rows of a block."""

LEARNED_ROWS = 4096
"""Rows that a measure learns from at most; more are sampled."""


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """What all blocks have in common, besides the rows and what the measure learned."""

    recipe: ClusterRecipe
    m: int
    """Neighbours of each row."""
    block: int = BLOCK
    """Rows of a block."""


def learn_from(measure: Similarity, rows: Rows, most: int = LEARNED_ROWS, *, seed: int = 0) -> None:
    """Let a measure learn from the rows, or from a sample of `most` of them."""
    measure.learn(sample_rows(rows, most, seed)[0])


def nearest_neighbours(
    executor: Executor,
    plugins: Mapping[str, Frozen],
    rows: Rows,
    measure: Similarity,
    plan: BlockPlan,
    *,
    on_block: Callable[[int, int], None] | None = None,
) -> NeighbourGraph:
    """Return the most similar other rows of each row.

    Only similarities above 0 count. Of equal ones the earlier row is nearer. `measure` is that of
    the plan's recipe, and has learned (`learn_from`).
    """
    shared = {
        **plugins,
        "rows": Frozen(rows),
        "plan": Frozen(plan),
        "learned": Frozen(dict(measure.state())),
    }
    starts = range(0, rows.shape[0], plan.block)
    parts: list[tuple[NDArray[np.int32], NDArray[np.float32]]] = []
    for part in executor.map("neighbours", starts, shared):
        parts.append(part)
        if on_block is not None:
            on_block(len(parts), len(starts))
    if not parts:
        none = np.zeros((0, plan.m))
        return NeighbourGraph(none.astype(np.int32), none.astype(np.float32))
    return NeighbourGraph(
        np.concatenate([numbers for numbers, _ in parts]),
        np.concatenate([values for _, values in parts]),
    )


def nearest_of_block(start: int, shared: Shared) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the neighbours of one block of rows: the task `neighbours`."""
    plan: BlockPlan = shared["plan"]
    rows: Rows = shared["rows"]

    def make() -> Similarity:
        measure, _ = plan.recipe.make(registry_of(shared))
        assert measure is not None
        measure.restore(shared["learned"])
        return measure

    measure = shared.once("measure", make, of="learned")
    left = csr_array(rows[start : start + plan.block])
    numbers = np.full((left.shape[0], plan.m), -1, dtype=np.int32)
    values = np.zeros((left.shape[0], plan.m), dtype=np.float32)
    for other in range(0, rows.shape[0], plan.block):
        similar = measure.compare(left, csr_array(rows[other : other + plan.block]))
        _hold_best(numbers, values, similar.astype(np.float32), other, start)
    return numbers, values


def _hold_best(
    numbers: NDArray[np.int32],
    values: NDArray[np.float32],
    similar: NDArray[np.float32],
    other: int,
    start: int,
) -> None:
    """Replace neighbours by nearer ones of another block; rows are not their own neighbours."""
    m = numbers.shape[1]
    if other == start:
        np.fill_diagonal(similar, 0.0)
    if similar.shape[1] > m:  # all values of the m-th place stay, so that the earlier row wins
        least = np.partition(similar, similar.shape[1] - m, axis=1)[:, -m]
        floor = np.maximum(least, values[:, -1])
    else:
        floor = values[:, -1]
    nearer = similar >= np.maximum(floor, np.float32(np.finfo(np.float32).tiny))[:, None]
    for row in np.flatnonzero(nearer.any(axis=1)).tolist():
        places = np.flatnonzero(nearer[row])
        all_values = np.concatenate([values[row], similar[row, places]])
        all_numbers = np.concatenate([numbers[row], (places + other).astype(np.int32)])
        best = np.argsort(-all_values, kind="stable")[:m]
        values[row], numbers[row] = all_values[best], all_numbers[best]
