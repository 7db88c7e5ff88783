"""Parts that the clustering tables share: cached scores, data sets, and printed figures.

A cell is a method on a data set. Its settings are either fixed, or the best of a grid by the score
that is reported, as the papers selected them. The tables show both.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.sparse import csr_array, load_npz

from segapsith.arrays import Labels, Matrix, Rows, State
from segapsith.errors import InputError, MissingInputError, UsageError, did_you_mean
from segapsith.evaluation import metrics
from segapsith.plugin.registry import Registry, load_plugins
from segapsith_reproduce import Options
from segapsith_reproduce.t_tests import significance_table

__all__ = [
    "Results",
    "Scores",
    "hierarchical_labels",
    "labelled_matrix",
    "mean_and_sd",
    "missing_note",
    "plugins",
    "present",
    "scores_of",
    "selected",
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


def present(data: Path, names: Iterable[str], file: str = "labels.txt") -> list[str]:
    """Return the data sets that exist: folders with that file."""
    listed = list(names)
    existing = [name for name in listed if (data / name / file).is_file()]
    if not existing:
        raise MissingInputError(
            f"{data} has none of {', '.join(listed)}; name another directory with --data"
        )
    return existing


def missing_note(data: Path, names: Iterable[str], file: str = "labels.txt") -> list[str]:
    """Return a note that names the data sets that are missing."""
    absent = [name for name in names if not (data / name / file).is_file()]
    return [f"Missing, and left out of every mean: {', '.join(absent)}."] if absent else []


def labelled_matrix(folder: Path, *names: str) -> tuple[list[Rows], list[str]]:
    """Return matrices of a folder, and the class of each row."""
    matrices: list[Any] = [csr_array(load_npz(folder / f"{n}.npz")).astype(float) for n in names]
    classes = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
    for name, matrix in zip(names, matrices, strict=True):
        if matrix.shape[0] != len(classes):
            raise InputError(
                f"{folder / f'{name}.npz'} has {matrix.shape[0]} rows, but there are"
                f" {len(classes)} labels"
            )
    return matrices, classes
