"""Parts that the clustering tables share: cached scores, data sets, and printed figures.

A cell is a method on a data set. Its settings are either fixed, or the best of a grid by the score
that is reported, as the papers selected them. The tables show both.
"""

from __future__ import annotations

import json
import statistics
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from scipy.sparse import csr_array, load_npz

from segapsith import progress
from segapsith.arrays import Labels, Matrix, Rows, State, Views
from segapsith.errors import InputError, MissingInputError, UsageError, did_you_mean
from segapsith.evaluation import metrics
from segapsith.parallel.packing import Frozen
from segapsith.parallel.serial import Serial
from segapsith.parallel.tasks import Shared
from segapsith.plugin.registry import Registry, load_plugins
from segapsith_reproduce import Options
from segapsith_reproduce.t_tests import significance_table

__all__ = [
    "MOST_CELLS",
    "GridCell",
    "LabelledRows",
    "PluginCell",
    "Results",
    "Scores",
    "compute_cells",
    "compute_group",
    "hierarchical_labels",
    "in_groups",
    "is_present",
    "labelled_matrix",
    "mean_and_sd",
    "plugins",
    "scores_of",
    "selected",
    "settings_key",
    "significantly_better",
    "truncated",
]

Scores = dict[str, float]
Entry = TypeVar("Entry")


class Results(Generic[Entry]):
    """Figures by cell, cached in a file of JSON lines, or in memory only without a path.

    A line that is incomplete, because the program was stopped, is computed again.
    """

    def __init__(self, path: Path | None, tell: Callable[[str], None]) -> None:
        self.path, self.tell = path, tell
        self._scores: dict[str, Entry] = {}
        if path is not None and path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                    self._scores[entry["cell"]] = entry["scores"]
                except (ValueError, KeyError, TypeError):
                    continue

    def get(self, cell: Sequence[object], compute: Callable[[], Entry]) -> Entry:
        """Return the figures of a cell; compute and store them if they are missing."""
        name = " ".join(str(part) for part in cell)
        if name not in self._scores:
            self.tell(name)
            self._store(name, compute())
        return self._scores[name]

    def put(self, name: str, entry: Entry) -> None:
        """Store the figures of a cell that were computed elsewhere."""
        self.tell(name)
        self._store(name, entry)

    def __contains__(self, name: object) -> bool:
        return name in self._scores

    def __getitem__(self, name: str) -> Entry:
        return self._scores[name]

    def _store(self, name: str, entry: Entry) -> None:
        self._scores[name] = entry
        if self.path is not None:
            line = json.dumps({"cell": name, "scores": entry})
            with self.path.open("a", encoding="utf-8") as out:
                out.write(line + "\n")


_registry: list[Registry] = []


def plugins() -> Registry:
    """Return the built-in plugins, loaded once."""
    if not _registry:
        _registry.append(load_plugins(only_own=True))
    return _registry[0]


def scores_of(labels: Labels, classes: Sequence[object]) -> Scores:
    """Return every score that one of the tables shows; rows without a cluster count as errors."""
    pairs = [(label, c) for label, c in zip(labels.tolist(), classes, strict=True) if label >= 0]
    clusters, gold = [label for label, _ in pairs], [c for _, c in pairs]
    share = len(pairs) / max(len(classes), 1)
    entropy = metrics.entropy(clusters, gold)
    return {
        "micro_precision": metrics.micro_precision(clusters, gold) * share,
        "nmi": metrics.nmi(clusters, gold),
        "f": metrics.f_measure(clusters, gold),
        "entropy": entropy,
        "entropy_nats": entropy * float(np.log(max(len(set(gold)), 1))),
        "purity": metrics.purity(clusters, gold),
        "van_dongen": metrics.van_dongen(clusters, gold),
        "variation": metrics.variation_of_information(clusters, gold),
    }


def hierarchical_labels(
    similar: Matrix, k: int, linkage: str, *, distance_from: str | None = None
) -> Labels:
    """Return hierarchical clusters of a whole matrix of similarities.

    `distance_from` is that of `ahc`, by default the one that suits the linkage.
    """
    settings = {"k": k, "linkage": linkage, "distance_from": distance_from}
    clusterer = plugins().make("clusterer", "ahc", settings)
    numbers = csr_array(np.arange(1.0, len(similar) + 1)[:, None])  # each row holds its number

    def compare(left: Rows, right: Rows) -> Matrix:
        block: Matrix = similar[
            np.ix_(left.data.astype(np.intp) - 1, right.data.astype(np.intp) - 1)
        ]
        return block

    labels: Labels = clusterer.cluster(numbers, compare)
    return labels


def truncated(similarity: str, whole: State, rank: int) -> Any:
    """Return a latent measure with the first `rank` directions of one that learned more.

    The measure is restored, and its factors are not cut: the values of a row in a few directions
    may be rounding errors only, which the measure recognises.
    """
    measure = plugins().make("similarity", similarity, {"rank": rank})
    measure.restore({**whole, "vectors": np.asarray(whole["vectors"])[:, :rank]})
    return measure


def mean_and_sd(values: Iterable[float]) -> tuple[float, float]:
    """Return the mean and the standard deviation (n - 1), which is 0 for a single value."""
    listed = list(values)
    return statistics.fmean(listed), statistics.stdev(listed) if len(listed) > 1 else 0.0


def significantly_better(
    scores: Mapping[str, Sequence[float]], *, larger_is_better: bool = True
) -> str:
    """Return which methods are significantly better than which (paired t-tests, 95 %), in words."""
    table = significance_table(scores, larger_is_better=larger_is_better)
    beaten = {
        first: [second for second in scores if second != first and table.sign(first, second) == ">"]
        for first in table.order()
    }
    parts = [f"{first} than {', '.join(worse)}" for first, worse in beaten.items() if worse]
    return "; ".join(parts) or "none"


def selected(names: Sequence[str], default: Sequence[str], options: Options) -> list[str]:
    """Return the sets of `--sets`, or the default ones."""
    for name in options.sets:
        if name not in names:
            raise UsageError(
                f"no set of this table is called {name!r} (there are: {', '.join(names)})"
                f"{did_you_mean(name, names)}"
            )
    return [name for name in names if name in options.sets] or list(default)


def is_present(folder: Path, *matrices: str) -> bool:
    """Return whether a folder has labels and these matrices."""
    return all(
        (folder / name).is_file() for name in ("labels.txt", *(f"{m}.npz" for m in matrices))
    )


def labelled_matrix(folder: Path, *names: str) -> tuple[list[Rows], list[str]]:
    """Return matrices of a folder, and the class of each row."""
    matrices = [_loaded(folder / f"{name}.npz") for name in names]
    classes = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
    for name, matrix in zip(names, matrices, strict=True):
        if matrix.shape[0] != len(classes):
            raise InputError(
                f"{folder / f'{name}.npz'} has {matrix.shape[0]} rows, but there are"
                f" {len(classes)} labels"
            )
    return matrices, classes


def _loaded(path: Path) -> Rows:
    """Return a stored matrix; any other file is an input error."""
    try:
        return csr_array(load_npz(path)).astype(float)
    except FileNotFoundError as error:
        raise MissingInputError(f"there is no file {path}") from error
    except (EOFError, KeyError, OSError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path} is not a sparse matrix in the format of SciPy: {error}"
        ) from error


# -- grids: cells as tasks of workers --------------------------------------------------------
#
# The rows travel to a worker once. Cells that share costly values, such as the directions of a
# latent model, form a group, which one worker computes. Scores are stored in the order of the
# groups, so a table that was stopped continues with the groups that are missing.

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
