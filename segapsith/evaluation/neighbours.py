"""The nearest neighbours of each row, in blocks: similarities of more rows than fit in memory.

Rows are cut into fixed blocks. An item is one block; its rows are compared with all blocks, one
after the other, and only the best `m` of each row are held. So memory grows with rows times m, and
the result does not depend on the number of workers.

A measure with a form of products (`HasProductForm`) is compared by a kernel: the block is spread
over the words once, and each other row is a sparse product with it, so only similarities that are
among the best so far are written anywhere. Other measures compare block by block.

A measure whose memory grows with the square of the rows (χ-Sim) or whose time does with their cube
(GVSM, one reference document per row) learns from a sample of the rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from segapsith.arrays import NeighbourGraph, Rows
from segapsith.evaluation.clustering import sample_rows
from segapsith.evaluation.worker_clustering import ClusterRecipe
from segapsith.jit import kernel
from segapsith.parallel.packing import Frozen
from segapsith.parallel.plugins import registry_of
from segapsith.parallel.tasks import Shared
from segapsith.plugin.contracts import Executor, ProductForm, Similarity, has_product_form

__all__ = [
    "BLOCK",
    "LEARNED_ROWS",
    "BlockCost",
    "BlockPlan",
    "block_cost",
    "form_of",
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
    if starts and form_of(measure) is not None:
        scaled = executor.map("neighbours", [(start, True) for start in starts], shared)
        shared["scaled"] = Frozen(csr_array(vstack(list(scaled), "csr")))
    parts: list[tuple[NDArray[np.int32], NDArray[np.float32]]] = []
    for part in executor.map("neighbours", [(start, False) for start in starts], shared):
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


@dataclass(frozen=True, slots=True)
class BlockCost:
    """What the neighbours of all rows cost in one process, measured with one pair of blocks."""

    seconds: float
    bytes: int


def block_cost(rows: Rows, measure: Similarity, plan: BlockPlan) -> BlockCost:
    """Estimate the cost from one pair of blocks."""
    block = csr_array(rows[: plan.block])
    n_blocks = -(-rows.shape[0] // plan.block)
    form = form_of(measure)
    if form is None:
        began = time.perf_counter()
        measure.compare(block, block)
        seconds = time.perf_counter() - began
        return BlockCost(seconds * n_blocks**2, 24 * plan.block**2)
    began = time.perf_counter()
    scaled = form.scaled(block)
    spread = form.spread(block)
    preparing = time.perf_counter() - began
    _largest_products(spread, scaled, 0, plan.m)  # the first call compiles
    began = time.perf_counter()
    _largest_products(spread, scaled, 0, plan.m)
    comparing = time.perf_counter() - began
    seconds = preparing * n_blocks + comparing * n_blocks**2
    return BlockCost(seconds, 2 * spread[1].nbytes + 12 * rows.nnz)


def form_of(measure: Similarity) -> ProductForm | None:
    """Return the form of products of a measure, if it has one."""
    return measure.product_form() if has_product_form(measure) else None


def _measure_of(shared: Shared) -> Similarity:
    def make() -> Similarity:
        plan: BlockPlan = shared["plan"]
        measure, _ = plan.recipe.make(registry_of(shared))
        assert measure is not None
        measure.restore(shared["learned"])
        return measure

    measure: Similarity = shared.once("measure", make, of="learned")
    return measure


def nearest_of_block(
    item: tuple[int, bool], shared: Shared
) -> Rows | tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return the neighbours of one block of rows: the task `neighbours`.

    An item is the first row of the block, and whether only its rows as they are multiplied are
    wanted.
    """
    start, only_scaled = item
    plan: BlockPlan = shared["plan"]
    rows: Rows = shared["rows"]
    measure = _measure_of(shared)
    left = csr_array(rows[start : start + plan.block])
    form = form_of(measure) if only_scaled or "scaled" in shared else None
    if form is not None and only_scaled:
        return form.scaled(left)
    if form is not None:
        numbers, products = _largest_products(form.spread(left), shared["scaled"], start, plan.m)
        values = form.finish(products).astype(np.float32)
        numbers[values <= 0] = -1
        return numbers, np.maximum(values, 0.0, out=values)
    numbers = np.full((left.shape[0], plan.m), -1, dtype=np.int32)
    values = np.zeros((left.shape[0], plan.m), dtype=np.float32)
    for other in range(0, rows.shape[0], plan.block):
        similar = measure.compare(left, csr_array(rows[other : other + plan.block]))
        _hold_best(numbers, values, similar.astype(np.float32), other, start)
    return numbers, values


def _largest_products(
    spread: tuple[NDArray[np.int64], NDArray[np.floating[Any]]], scaled: Rows, start: int, m: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the `m` largest products of each row of a block with all rows, and their numbers.

    `start` is the number of the first row of the block.
    """
    words, factors = spread
    places = np.full(max(scaled.shape[1], 1), -1, dtype=np.int64)
    inside = words < len(places)
    places[words[inside]] = np.flatnonzero(inside)
    numbers = np.full((factors.shape[1], m), -1, dtype=np.int32)
    products = np.zeros((factors.shape[1], m))
    _hold_largest(
        scaled.indptr.astype(np.int64), scaled.indices.astype(np.int64),
        scaled.data.astype(factors.dtype), places, np.ascontiguousarray(factors), start,
        numbers, products,
    )  # fmt: skip
    return numbers, products


@kernel
def _hold_largest(
    indptr: NDArray[np.int64],
    columns: NDArray[np.int64],
    data: NDArray[np.floating[Any]],
    places: NDArray[np.int64],
    spread: NDArray[np.floating[Any]],
    start: int,
    numbers: NDArray[np.int32],
    products: NDArray[np.float64],
) -> None:
    """Hold the largest products above 0 of each row of a block with all rows, largest first."""
    n_rows, m = products.shape
    least = products[:, m - 1].copy()
    sums = np.zeros(n_rows, spread.dtype)
    for other in range(indptr.size - 1):
        n_known = 0
        for entry in range(indptr[other], indptr[other + 1]):
            place = places[columns[entry]]
            if place >= 0:
                n_known += 1
                value, line = data[entry], spread[place]
                for row in range(n_rows):
                    sums[row] += value * line[row]
        if n_known == 0:
            continue
        for row in range(n_rows):
            product = sums[row]
            sums[row] = 0.0
            if product > least[row] and start + row != other:
                at = m - 1
                while at > 0 and products[row, at - 1] < product:
                    products[row, at] = products[row, at - 1]
                    numbers[row, at] = numbers[row, at - 1]
                    at -= 1
                products[row, at] = product
                numbers[row, at] = other
                least[row] = products[row, m - 1]


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
