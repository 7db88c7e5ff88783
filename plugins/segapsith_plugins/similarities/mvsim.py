"""MVSim: co-similarities learned from several relations at once (Bisson & Grimal 2012).

Types of objects T_i, relations R between two types (n_i × n_j), one χ-Sim node per relation. With
S_i = I at first,

    each relation (i, j):  (S_i', S_j') = one step of χ-Sim on R from the present S_i and S_j
    each type i:           S_i <- ( S_i + λ^t F({S_i'}) ) / (1 + λ^t)          t = 1, 2, …

all at once, with F the mean, the minimum or the maximum, entry by entry, over the nodes of the
type. Pruning acts inside the nodes. The nodes of a round are independent, so they run in threads,
and their results are combined in the order of the relations.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, overload

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.arrays import Matrix, Rows, State, Views
from segapsith.plugin.contracts import Similarity
from segapsith.plugin.hookspecs import hookimpl
from segapsith_plugins._sparse_rows import (
    Floats,
    Precision,
    float_type,
    inverse,
    non_negative,
    require,
    unit_peaks,
)
from segapsith_plugins._views import Blocks, Cut, column_blocks, named_views, read_blocks
from segapsith_plugins.similarities._co_similarity import (
    TIE,
    congruence,
    max_bilinear,
    prune_lowest,
)
from segapsith_plugins.similarities._learned_rows import LearnedRows

__all__ = ["MvSim"]

ONE = "rows"
"""The name of a single matrix as a view."""


@dataclass(frozen=True)
class _Relation:
    """One matrix between two types, and how a self-relation is interpreted."""

    name: str
    rows: str
    columns: str
    matrix: Rows
    directed: bool = False
    """Whether it is a self-relation with two similarities, by outgoing and by incoming links."""


@dataclass(frozen=True)
class _Node:
    """Half of a relation's node: its matrix, its inputs and its output."""

    matrix: Rows
    """Objects of the output type × objects of the input type, to the power k."""
    takes: tuple[tuple[str, int], ...]
    """Similarities whose mean is in the middle of the product: type and copy."""
    feeds: tuple[tuple[str, int], ...]
    weight: float
    knows: NDArray[np.bool_]
    """Which objects of the output type are not empty in the matrix."""


class MvSim:
    """Similarity of rows learned from any number of views, with that of everything in them.

    `learn` accepts one matrix, or a mapping of view name to matrix over the same rows. By default
    each view has its own type of objects (its columns). `compare` is then defined only for these
    rows, given as the mapping, as its matrices side by side or as any one of them; `columns()`
    returns the similarities of the other types.

    - `k`, `prune`, `prune_population`: as in chi-sim, inside each node.
    - `iterations`: rounds. `damping`: λ in [0, 1); None replaces S by F in each round, and then
      one view is plain χ-Sim.
    - `combine`: F as `mean`, `min` or `max`; the default is `max`, and `mean` if views are
      weighted. `weights`: weights of the views in the mean, by name (a mapping, or a text such as
      `words:2,names:1`); the default weight is 1.
    - The paper prints no values of λ, F and the rounds. The defaults gave the best results over the
      data sets of the paper and the split matrices (docs/research/log): a poor or sparse view
      weakens the others in a mean, but not in a maximum.
    - `missing`: the similarities of an object that is empty in a view. `unlike` uses the zeros that
      χ-Sim gives, as in the paper; `unknown` leaves the view out of F for its pairs. Both are the
      same for the maximum, and for pairs that are in no other view.
    - `relations`: view name and its two types, for networks of any shape: several relations
      between two types, relations of a type with itself, relations that do not touch the rows:
      `relations={"text": ("doc", "word"), "title": ("doc", "word"), "cites": ("doc", "doc"),
      "near": ("word", "word")}, rows="doc"`. Views that are not named are (rows, own type).
    - `self_relations`: `symmetric` treats both sides of a self-relation as the same objects;
      `asymmetric` has two similarities, by outgoing and by incoming links, each computed from the
      other; `auto` is symmetric if the matrix is. Other nodes use the mean of the two, which is
      also the result.
    - `views`: divide one matrix into N blocks of columns (or into the given lists): word
      matrices become `views`² times smaller in total, and words of different blocks have
      similarity 0. `blocks`: `random` by `seed`, or `clusters`, which puts related words together.
    - `workers`: nodes that run at a time; None: one per core. The result does not depend on it.
    - `precision="single"` stores and multiplies float32.

    Columns that are empty everywhere are similar only to themselves and have no effect. A row that
    is empty in a view is similar only to itself there. A row that is empty in all views has
    similarity 0 with every row.
    `learn` replaces what was learned before.
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    unit_diagonal: ClassVar[bool] = True
    learned_rows_only: ClassVar[bool] = True
    takes_views: ClassVar[bool] = True

    def __init__(
        self,
        *,
        k: float = 1.0,
        prune: float = 0.2,
        prune_population: Literal["all", "nonzero"] = "all",
        iterations: int = 4,
        damping: float | None = 0.9,
        combine: Literal["mean", "min", "max"] | None = None,
        missing: Literal["unlike", "unknown"] = "unlike",
        weights: Mapping[str, float] | str | None = None,
        relations: Mapping[str, tuple[str, str]] | None = None,
        rows: str = ONE,
        self_relations: Literal["auto", "symmetric", "asymmetric"] = "auto",
        views: Cut = 1,
        blocks: Blocks = "random",
        seed: int | None = 0,
        workers: int | None = None,
        precision: Precision = "double",
    ) -> None:
        require(k > 0, "k", k, "> 0, or inf")
        require(0 <= prune < 1, "prune", prune, ">= 0 and < 1")
        populations = ("all", "nonzero")
        _choice("prune_population", prune_population, populations)
        require(isinstance(iterations, int) and iterations >= 1, "iterations", iterations, ">= 1")
        require(damping is None or 0 <= damping < 1, "damping", damping, ">= 0 and < 1, or none")
        if combine is None:
            combine = "mean" if weights else "max"
        _choice("combine", combine, ("mean", "min", "max"))
        _choice("missing", missing, ("unlike", "unknown"))
        _choice("self_relations", self_relations, ("auto", "symmetric", "asymmetric"))
        _choice("blocks", blocks, ("random", "clusters"))
        _choice("precision", precision, ("double", "single"))
        require(workers is None or workers >= 1, "workers", workers, ">= 1")
        self.k = float(k)
        self.prune = prune
        self.prune_population = prune_population
        self.iterations = iterations
        self.damping = damping
        self.combine = combine
        self.missing = missing
        self.weights = _weights(weights)
        if self.weights and combine != "mean":
            raise ValueError(f"weights belong to combine='mean', not to {combine!r}")
        self.relations = {
            name: _two_types(name, types) for name, types in (relations or {}).items()
        }
        self.rows = rows
        self.self_relations = self_relations
        self.blocks: Blocks = blocks
        self.seed = seed
        self.workers = workers
        self.precision: Precision = precision
        self._cut = read_blocks(views)
        self._dtype = float_type(precision)
        self._reset()

    def _reset(self) -> None:
        self._learned = LearnedRows.none("mvsim")
        self._similar: dict[str, Floats] = {}
        """Similarities of the objects that take part, by type."""
        self._parts: dict[str, NDArray[np.intp]] = {}
        """Objects that take part, by type."""
        self._sizes: dict[str, int] = {}
        self._blocks: list[NDArray[np.intp]] = []
        """Columns of each block, if one matrix was learned."""

    def learn(self, rows: Rows | Views) -> None:
        """Run the network of nodes over the rows, or over the views of a mapping."""
        if isinstance(rows, Mapping):
            if self._cut != 1:
                raise ValueError(
                    "views divides one matrix, but a mapping was given, which has its own views"
                )
            views = {n: non_negative(m, "mvsim") for n, m in named_views(rows, "mvsim").items()}
            blocks: list[NDArray[np.intp]] = []
            relations = self._read(views)
        else:
            if self.relations:
                raise ValueError("relations names the views of a mapping, but one matrix was given")
            views = {ONE: non_negative(rows, "mvsim")}
            blocks = column_blocks(views[ONE], self._cut, self.blocks, self.seed)
            parts = views[ONE].tocsc()
            relations = [
                _Relation(f"block {number}", self.rows, f"block {number}", parts[:, block].tocsr())
                for number, block in enumerate(blocks)
            ]
        over_rows = {r.name: r.matrix for r in relations if r.rows == self.rows}
        if not over_rows:
            raise ValueError(f"no view has rows of type {self.rows!r}; name their type with rows=")
        if not isinstance(rows, Mapping):
            over_rows = views
        sizes = _sizes(relations)
        unknown = set(self.weights) - {r.name for r in relations}
        if unknown:
            raise ValueError(
                f"weights name {', '.join(sorted(unknown))}, which is not a view"
                f" (known: {', '.join(r.name for r in relations)})"
            )
        self._reset()
        self._learned = LearnedRows(over_rows, "mvsim")
        self._sizes, self._blocks = sizes, blocks
        self._parts = self._taking_part(relations)
        self._similar = self._rounds(relations)

    def compare(self, left: Rows | Views, right: Rows | Views) -> Matrix:
        """Return the similarity of each pair of learned rows; raise for other rows.

        Views between other types in a mapping are ignored.
        """
        main = self._similar.get(self.rows, np.zeros((0, 0)))
        first = self._of_rows(left)
        return self._learned.picked(main, first, first if right is left else self._of_rows(right))

    def _of_rows(self, asked: Rows | Views) -> Rows | Views:
        """Return the argument of `compare` without the views between other types."""
        if not isinstance(asked, Mapping):
            return asked
        others = {name for name, types in self.relations.items() if types[0] != self.rows}
        return {name: rows for name, rows in asked.items() if name not in others}

    @overload
    def columns(self) -> Matrix | dict[str, Matrix]: ...
    @overload
    def columns(self, name: str) -> Matrix: ...
    def columns(self, name: str | None = None) -> Matrix | dict[str, Matrix]:
        """Return the similarities of the other objects.

        After one matrix: those of its columns, 0 between blocks. After a mapping: those of the type
        `name` (the columns of a view have its name), or all by type.
        """
        if name is not None:
            if name not in self._sizes:
                types = ", ".join(sorted(self._sizes))
                raise ValueError(f"mvsim has no type {name!r} (known: {types})")
            return self._whole(name)
        if self._blocks:
            return self._from_blocks()
        return {name: self._whole(name) for name in self._sizes if name != self.rows}

    def state(self) -> State:
        """Return the learned rows, and the similarities of each type with what they belong to."""
        names = {"types": list(self._sizes), "sizes": list(self._sizes.values())}
        text = json.dumps({**names, "blocks": len(self._blocks)})
        arrays: dict[str, NDArray[Any]] = {
            **self._learned.state(),
            "types": np.frombuffer(text.encode(), dtype=np.uint8),
        }
        for number, name in enumerate(self._sizes):
            arrays[f"similar{number}"] = self._similar[name]
            arrays[f"parts{number}"] = self._parts[name].astype(np.int64)
        for number, block in enumerate(self._blocks):
            arrays[f"block{number}"] = block.astype(np.int64)
        return arrays

    def restore(self, state: State) -> None:
        """Restore what `state` returned."""
        self._reset()
        self._learned = LearnedRows.restored(state, "mvsim")
        description = json.loads(bytes(np.asarray(state["types"], dtype=np.uint8)).decode())
        self._sizes = dict(zip(description["types"], description["sizes"], strict=True))
        for number, name in enumerate(self._sizes):
            self._similar[name] = np.array(state[f"similar{number}"], dtype=self._dtype)
            self._parts[name] = np.asarray(state[f"parts{number}"], dtype=np.intp)
        self._blocks = [
            np.asarray(state[f"block{number}"], dtype=np.intp)
            for number in range(description["blocks"])
        ]

    # --- the network

    def _read(self, views: Mapping[str, Rows]) -> list[_Relation]:
        """Return the relations of a mapping, in its order."""
        strangers = set(self.relations) - set(views)
        if strangers:
            raise ValueError(
                f"relations name {', '.join(sorted(strangers))}, but the views are"
                f" {', '.join(views)}"
            )
        relations = []
        for name, matrix in views.items():
            rows, columns = self.relations.get(name, (self.rows, name))
            if rows != columns:
                relations.append(_Relation(name, rows, columns, matrix))
                continue
            if matrix.shape[0] != matrix.shape[1]:
                raise ValueError(f"view {name!r} relates {rows} to itself, but is {matrix.shape}")
            directed = self.self_relations == "asymmetric" or (
                self.self_relations == "auto" and (matrix != matrix.T).nnz > 0
            )
            relations.append(_Relation(name, rows, columns, matrix, directed))
        return relations

    def _taking_part(self, relations: list[_Relation]) -> dict[str, NDArray[np.intp]]:
        """Return all rows, and of the other types the objects that are not empty everywhere."""
        used = {name: np.zeros(size, dtype=np.bool_) for name, size in self._sizes.items()}
        used[self.rows][:] = True
        for relation in relations:
            used[relation.rows] |= np.diff(relation.matrix.indptr) > 0
            used[relation.columns][relation.matrix.indices] = True
        return {name: np.flatnonzero(flags) for name, flags in used.items()}

    def _nodes(self, relations: list[_Relation]) -> tuple[list[_Node], dict[str, int]]:
        """Return the halves of all nodes in order, and the number of copies of each type."""
        copies = dict.fromkeys(self._sizes, 1)
        for relation in relations:
            if relation.directed:
                copies[relation.rows] = 2
        nodes = []
        for relation in relations:
            part = relation.matrix[self._parts[relation.rows]][:, self._parts[relation.columns]]
            every_row = tuple((relation.rows, c) for c in range(copies[relation.rows]))
            every_column = tuple((relation.columns, c) for c in range(copies[relation.columns]))
            takes, feeds = every_column, every_row
            back_takes, back_feeds = every_row, every_column
            if relation.directed:  # links are similar if their targets are, and vice versa
                takes, feeds = every_row[1:], every_row[:1]
                back_takes, back_feeds = every_row[:1], every_row[1:]
            weight = self.weights.get(relation.name, 1.0)
            turned = part.T.tocsr()
            for matrix, taken, fed in (
                (part, takes, feeds), (turned, back_takes, back_feeds),
            ):  # fmt: skip
                knows = np.diff(matrix.indptr) > 0
                nodes.append(_Node(self._powered(matrix), taken, fed, weight, knows))
        return nodes, copies

    def _rounds(self, relations: list[_Relation]) -> dict[str, Floats]:
        """Return the similarities of each type after all rounds."""
        nodes, copies = self._nodes(relations)
        similar: dict[tuple[str, int], Floats | None] = {
            (name, copy): None for name, n in copies.items() for copy in range(n)
        }
        masses = self._masses(nodes)
        for t in range(1, self.iterations + 1):
            combined = self._combined(nodes, similar, masses)
            for key, new in combined.items():
                similar[key] = self._damped(similar[key], new, t)
        return {
            name: _mean([similar[name, copy] for copy in range(n)], len(self._parts[name]))
            for name, n in copies.items()
        }

    def _masses(self, nodes: list[_Node]) -> dict[tuple[str, int], Floats]:
        """Return the total weight of the nodes in the mean.

        It is one number, or one per pair if some nodes lack objects.
        """
        masses: dict[tuple[str, int], Floats] = {}
        for node in nodes:
            weight = np.asarray(node.weight, self._dtype)
            if self.missing == "unknown" and not node.knows.all():
                weight = weight * np.outer(node.knows, node.knows)
            for key in node.feeds:
                masses[key] = masses[key] + weight if key in masses else weight
        return masses

    def _combined(
        self,
        nodes: list[_Node],
        similar: Mapping[tuple[str, int], Floats | None],
        masses: Mapping[tuple[str, int], Floats],
    ) -> dict[tuple[str, int], Floats]:
        """Return F over the outputs of one round, taken in the order of the nodes."""
        middles: dict[tuple[tuple[str, int], ...], Floats | None] = {}
        for node in nodes:
            if node.takes not in middles:
                taken = [similar[key] for key in node.takes]
                first = taken[0]
                middles[node.takes] = (
                    first if len(taken) == 1 or first is None else _mean(taken, len(first))
                )
        sums: dict[tuple[str, int], Floats] = {}
        for node, output in zip(nodes, self._outputs(nodes, middles), strict=True):
            if self.combine == "mean":
                output *= node.weight
            elif self.combine == "min" and self.missing == "unknown" and not node.knows.all():
                output[~np.outer(node.knows, node.knows)] = np.inf  # never the minimum
            for key in node.feeds:
                if key not in sums:
                    sums[key] = output.copy()
                elif self.combine == "mean":
                    sums[key] += output
                else:
                    combine = np.minimum if self.combine == "min" else np.maximum
                    combine(sums[key], output, out=sums[key])
        for key, total in sums.items():
            if self.combine == "mean":
                total *= inverse(masses[key])
            elif self.combine == "min":
                total[np.isinf(total)] = 0  # in no view
            np.fill_diagonal(total, 1)
        return sums

    def _outputs(
        self,
        nodes: list[_Node],
        middles: Mapping[tuple[tuple[str, int], ...], Floats | None],
    ) -> Iterator[Floats]:
        """Yield the output of each node for the present similarities, in order.

        Up to `workers` nodes run at once.
        """
        n_workers = self.workers or min(os.cpu_count() or 1, 8)
        if n_workers == 1 or len(nodes) == 1:
            yield from (self._step(node.matrix, middles[node.takes]) for node in nodes)
            return
        with ThreadPoolExecutor(n_workers) as pool:
            yield from pool.map(lambda node: self._step(node.matrix, middles[node.takes]), nodes)

    def _step(self, rows: Rows, middle: Floats | None) -> Floats:
        """Return half a step of χ-Sim: products, normalisation, pruning."""
        infinite = math.isinf(self.k)
        similar = max_bilinear(rows, middle, rows) if infinite else congruence(rows, middle)
        scale = inverse(np.sqrt(np.maximum(similar.diagonal(), 0)))
        similar *= scale[:, None]
        similar *= scale[None, :]
        if not infinite and self.k != 1.0:
            np.power(similar, 1.0 / self.k, out=similar)
        np.fill_diagonal(similar, 1)
        prune_lowest(similar, self.prune, self.prune_population, TIE[self.precision])
        return similar

    def _powered(self, rows: Rows) -> Rows:
        """Return the rows, scaled to a largest value of 1, to the power k."""
        scaled = unit_peaks(rows)
        data = np.power(scaled.data, 1.0 if math.isinf(self.k) else self.k).astype(self._dtype)
        return csr_array((data, scaled.indices, scaled.indptr), shape=scaled.shape)

    def _damped(self, old: Floats | None, new: Floats, t: int) -> Floats:
        if self.damping is None:
            return new
        share = self.damping**t
        new *= share / (1 + share)
        if old is None:
            new[np.diag_indices_from(new)] += 1 / (1 + share)
        else:
            new += old * (1 / (1 + share))
        np.fill_diagonal(new, 1)  # it was so, except for rounding
        return new

    def _whole(self, name: str) -> Matrix:
        """Return the similarities of all objects of a type, also of those that took no part."""
        whole = np.eye(self._sizes[name])
        part = self._parts[name]
        whole[np.ix_(part, part)] = self._similar[name]
        return whole

    def _from_blocks(self) -> Matrix:
        whole = np.eye(self._learned.views[ONE].shape[1])
        for number, block in enumerate(self._blocks):
            whole[np.ix_(block, block)] = self._whole(f"block {number}")
        return whole


def _mean(matrices: list[Floats | None], size: int) -> Floats:
    """Return the mean of the copies of a type; None is the identity."""
    copies = [np.eye(size) if matrix is None else matrix for matrix in matrices]
    if len(copies) == 1:
        return copies[0]
    mean: Floats = (copies[0] + copies[1]) / 2
    return mean


def _sizes(relations: list[_Relation]) -> dict[str, int]:
    """Return the number of objects of each type; raise a `ValueError` if two views differ."""
    sizes: dict[str, int] = {}
    for relation in relations:
        for name, size in zip(
            (relation.rows, relation.columns), relation.matrix.shape, strict=True
        ):
            if sizes.setdefault(name, size) != size:
                raise ValueError(
                    f"view {relation.name!r} has {size} {name}, but another one has {sizes[name]};"
                    " views should be over the same objects"
                )
    return sizes


def _choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    require(value in choices, name, repr(value), f"one of {', '.join(choices)}")


def _two_types(name: str, types: object) -> tuple[str, str]:
    if isinstance(types, tuple | list) and len(types) == 2:
        return str(types[0]), str(types[1])
    raise ValueError(f"relations[{name!r}]={types!r} should be the types of its rows and columns")


def _weights(given: Mapping[str, float] | str | None) -> dict[str, float]:
    """Return the setting `weights`; a text, as given after `--set`, is parsed.

    >>> _weights("words:2, names:0.5")
    {'words': 2.0, 'names': 0.5}
    """
    if isinstance(given, str):
        pairs = [entry.rpartition(":") for entry in given.split(",") if entry.strip()]
        try:
            given = {name.strip(): float(value) for name, _, value in pairs}
        except ValueError:
            raise ValueError(f"weights={given!r} should be as words:2,names:1") from None
    weights = {str(name): float(value) for name, value in (given or {}).items()}
    for name, value in weights.items():
        require(math.isfinite(value) and value > 0, f"weights[{name!r}]", value, "> 0")
    return weights


@hookimpl
def register_similarities() -> Mapping[str, type[Similarity]]:
    return {"mvsim": MvSim}
