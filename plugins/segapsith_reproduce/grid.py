"""The cells of a table as tasks: each is a method with its settings on one set of rows.

The rows travel to a worker once. Cells that share costly values, such as the directions of a
latent model, form a group, which one worker computes. Scores are stored in the order of the groups,
so a table that was stopped continues with the groups that are missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Protocol

from segapsith import progress
from segapsith.arrays import Rows, State, Views
from segapsith.parallel.packing import Frozen
from segapsith.parallel.serial import Serial
from segapsith.parallel.tasks import Shared
from segapsith_reproduce import Options
from segapsith_reproduce.cells import (
    Results,
    Scores,
    hierarchical_labels,
    plugins,
    scores_of,
    truncated,
)

__all__ = [
    "MOST_CELLS", "GridCell", "LabelledRows", "PluginCell", "compute_cells", "compute_group",
    "in_groups", "settings_key",
]  # fmt: skip

MOST_CELLS = 64
"""Cells of a group at most."""


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """The rows of a set, in one matrix or in several views, and the class of each."""

    rows: Rows | Views
    classes: Sequence[str]

    @property
    def matrix(self) -> Rows:
        """The rows of a set that has one matrix."""
        assert not isinstance(self.rows, Mapping)
        return self.rows

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(set(self.classes))


class GridCell(Protocol):
    """A frozen dataclass that computes the scores of one cell from the rows of the table."""

    @property
    def name(self) -> str:
        """The name of the cell in stored results."""

    def scores(self, rows: Mapping[str, LabelledRows]) -> Scores:
        """Return the scores; `rows` are all sets of the table, by name."""


def in_groups(cells: Sequence[GridCell], most: int = MOST_CELLS) -> Iterator[Sequence[GridCell]]:
    """Yield the cells in groups of at most `most`.

    >>> [len(group) for group in in_groups(range(5), 2)]  # any sequence
    [2, 2, 1]
    """
    for start in range(0, len(cells), most):
        yield cells[start : start + most]


def compute_cells(
    results: Results[Scores],
    options: Options,
    groups: Iterable[Sequence[GridCell]],
    rows: Callable[[], Mapping[str, LabelledRows]],
) -> None:
    """Compute the cells that `results` lacks, in the workers of the options, and store them.

    `rows` is called if there is such a cell.
    """
    missing = [[cell for cell in group if cell.name not in results] for group in groups]
    missing = [group for group in missing if group]
    if not missing:
        return
    shared = {name: Frozen(held) for name, held in rows().items()}
    computed = (options.executor or Serial()).map("reproduce", missing, shared)
    for n_done, (group, scores) in enumerate(zip(missing, computed, strict=True), 1):
        for cell, of_cell in zip(group, scores, strict=True):
            results.put(cell.name, of_cell)
        progress.report(n_done, len(missing))


def compute_group(group: Sequence[GridCell], shared: Shared) -> list[Scores]:
    """Return the scores of each cell of a group: the task `reproduce`."""
    return [cell.scores(shared) for cell in group]


@dataclass(frozen=True, slots=True)
class PluginCell:
    """A similarity with Ward linkage, or a clusterer that needs none, on one set."""

    name: str
    rows: str
    """The name of the set."""
    plugin: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    distance: str = ""
    """How a similarity becomes a distance; empty for a clusterer."""
    seed: int = 0
    """The seed of a clusterer."""
    most: int = 0
    """With `lsa`: the number of directions that are computed once for all cells of the set."""

    def scores(self, rows: Mapping[str, LabelledRows]) -> Scores:
        """Return the scores."""
        held = rows[self.rows]
        if not self.distance:
            settings = {**self.settings, "k": held.n_classes, "seed": self.seed}
            labels = plugins().make("clusterer", self.plugin, settings).cluster(held.rows, None)
            return scores_of(labels, held.classes)
        if self.plugin == "lsa":
            measure = truncated("lsa", _directions(held, self.most), self.settings["rank"])
        else:
            measure = plugins().make("similarity", self.plugin, dict(self.settings))
            measure.learn(held.rows)
        similar = measure.compare(held.rows, held.rows)
        labels = hierarchical_labels(similar, held.n_classes, "ward", distance_from=self.distance)
        return scores_of(labels, held.classes)


@lru_cache(maxsize=1)
def _directions(held: LabelledRows, rank: int) -> State:
    """Return the latent directions of a set."""
    measure = plugins().make("similarity", "lsa", {"rank": rank})
    measure.learn(held.rows)
    state: State = measure.state()
    return state


def settings_key(settings: Mapping[str, Any]) -> str:
    """Return settings as a part of a cell's name."""
    return json.dumps(dict(settings), sort_keys=True)
