"""What the tables of clustering share: scores that are kept and not computed twice, sets, cells.

A cell is a method on a data set. Its parameters are either fixed, or the best of a grid by the very
score that is reported, as the papers chose them (their oracle); both are shown.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, load_npz

from segapsith.arrays import Labels, Matrix, Rows, State
from segapsith.errors import InputError, MissingInputError, UsageError, did_you_mean
from segapsith.evaluation import metrics
from segapsith.plugin.registry import Registry, load_plugins
from segapsith_reproduce import Options
from segapsith_reproduce.t_tests import significance_table

__all__ = [
    "Printed",
    "Results",
    "best_of",
    "compared",
    "grouped",
    "labelled_matrix",
    "measured",
    "missing_note",
    "of_fewer_directions",
    "plugins",
    "present",
    "spread_of",
    "wanted",
]

Scores = dict[str, float]


class Results:
    """Scores by name, in a file of JSON lines; what is there is not computed again.

    A line that was cut off by a kill is computed again; the rest stays. None keeps nothing.
    """

    def __init__(self, path: Path | None, tell: Callable[[str], None]) -> None:
        self.path, self.tell = path, tell
        self._known: dict[str, Scores] = {}
        if path is not None and path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                    self._known[entry["cell"]] = entry["scores"]
                except (ValueError, KeyError, TypeError):
                    continue

    def get(self, cell: Sequence[object], compute: Callable[[], Scores]) -> Scores:
        """The scores of a cell, computed and kept unless they were."""
        name = " ".join(str(part) for part in cell)
        if name not in self._known:
            self.tell(name)
            self._known[name] = compute()
            if self.path is not None:
                line = json.dumps({"cell": name, "scores": self._known[name]})
                with self.path.open("a", encoding="utf-8") as out:
                    out.write(line + "\n")
        return self._known[name]


_registry: list[Registry] = []


def plugins() -> Registry:
    """The built-in plugins, loaded once."""
    if not _registry:
        _registry.append(load_plugins(only_own=True))
    return _registry[0]


def measured(labels: Labels, classes: Sequence[object]) -> Scores:
    """Every score that one of the tables prints."""
    kept = [(label, c) for label, c in zip(labels.tolist(), classes, strict=True) if label >= 0]
    found, gold = [label for label, _ in kept], [c for _, c in kept]
    share = len(kept) / max(len(classes), 1)
    entropy = metrics.entropy(found, gold)
    return {
        "micro_precision": metrics.micro_precision(found, gold) * share,
        "nmi": metrics.nmi(found, gold),
        "f": metrics.f_measure(found, gold),
        "entropy": entropy,
        "entropy_nats": entropy * float(np.log(max(len(set(gold)), 1))),
        "purity": metrics.purity(found, gold),
        "van_dongen": metrics.van_dongen(found, gold),
        "variation": metrics.variation_of_information(found, gold),
    }


def grouped(similar: Matrix, k: int, linkage: str) -> Labels:
    """Hierarchical clusters of a whole matrix of similarities."""
    made = plugins().make("clusterer", "ahc", {"k": k, "linkage": linkage})
    places = csr_array(np.arange(1.0, len(similar) + 1)[:, None])  # each row says which it is

    def compare(left: Rows, right: Rows) -> Matrix:
        chosen: Matrix = similar[
            np.ix_(left.data.astype(np.intp) - 1, right.data.astype(np.intp) - 1)
        ]
        return chosen

    labels: Labels = made.cluster(places, compare)
    return labels


def of_fewer_directions(similarity: str, whole: State, rank: int) -> Any:
    """A latent measure that has the first directions of one that learned more.

    Restored rather than cut from the factors, since what a row has in few directions may be no
    more than rounding, which only the measure can tell.
    """
    measure = plugins().make("similarity", similarity, {"rank": rank})
    measure.restore({**whole, "vectors": np.asarray(whole["vectors"])[:, :rank]})
    return measure


def spread_of(values: Iterable[float]) -> tuple[float, float]:
    """The mean and the standard deviation (n - 1) of some values; 0 where there is one."""
    listed = list(values)
    return statistics.fmean(listed), statistics.stdev(listed) if len(listed) > 1 else 0.0


def best_of(n: int, values: Iterable[float], *, larger_is_better: bool = True) -> float:
    """The best of n of the values, on average over all choices of n: as much luck for everyone.

    The best of a large grid lies higher than that of a small one even where the settings change
    nothing but noise. All values are taken where there are no more than n.

    >>> best_of(2, [1.0, 2.0, 3.0])
    2.6666666666666665
    """
    listed = sorted(values, reverse=not larger_is_better)
    n = min(n, len(listed))
    ways = math.comb(len(listed), n)
    return math.fsum(
        value * (math.comb(i, n - 1) / ways) for i, value in enumerate(listed) if i >= n - 1
    )


def compared(scores: Mapping[str, Sequence[float]], *, larger_is_better: bool = True) -> str:
    """Which methods are significantly better than which, by paired t-tests (95 %), as a sentence."""
    found = significance_table(scores, larger_is_better=larger_is_better)
    beaten = {
        first: [second for second in scores if second != first and found.sign(first, second) == ">"]
        for first in found.order()
    }
    told = [f"{first} than {', '.join(worse)}" for first, worse in beaten.items() if worse]
    return "; ".join(told) or "none than another"


@dataclass(frozen=True, slots=True)
class Printed:
    """A figure of a paper: what it lies between, and its deviation where one is printed."""

    low: float
    high: float
    deviation: float | None = None

    def __str__(self) -> str:
        """
        >>> str(Printed(0.78, 0.8)), str(Printed(0.5, 0.5, 0.02))
        ('.78 to .80', '.50 ± .02')
        """
        shown = [f"{value:.2f}".lstrip("0") for value in (self.low, self.high)]
        text = shown[0] if self.low == self.high else " to ".join(shown)
        return text if self.deviation is None else f"{text} ± {f'{self.deviation:.2f}'.lstrip('0')}"

    def reached(self, ours: float, *, larger_is_better: bool = True) -> bool:
        """Whether ours is no worse than the better end less a deviation, or less three points."""
        slack = 1e-9 + (0.03 if self.deviation is None else self.deviation)
        if larger_is_better:
            return ours >= self.high - slack
        return ours <= self.low + slack


def wanted(known: Sequence[str], usual: Sequence[str], options: Options) -> list[str]:
    """The sets that were asked for, or the usual ones if none was."""
    for name in options.sets:
        if name not in known:
            raise UsageError(
                f"no set of this table is called {name!r} (known: {', '.join(known)})"
                f"{did_you_mean(name, known)}"
            )
    return [name for name in known if name in options.sets] or list(usual)


def present(data: Path, names: Iterable[str], file: str = "labels.txt") -> list[str]:
    """The data sets that are there: folders with that file."""
    listed = list(names)
    found = [name for name in listed if (data / name / file).is_file()]
    if not found:
        raise MissingInputError(f"{data} has none of {', '.join(listed)}; name another with --data")
    return found


def missing_note(data: Path, names: Iterable[str], file: str = "labels.txt") -> list[str]:
    """A line that names the data sets that are not there."""
    absent = [name for name in names if not (data / name / file).is_file()]
    return [f"Not present, and left out of every average: {', '.join(absent)}."] if absent else []


def labelled_matrix(folder: Path, *names: str) -> tuple[list[Rows], list[str]]:
    """Matrices of a folder, and the class of each of their rows."""
    matrices: list[Any] = [csr_array(load_npz(folder / f"{n}.npz")).astype(float) for n in names]
    classes = (folder / "labels.txt").read_text(encoding="utf-8").splitlines()
    for name, matrix in zip(names, matrices, strict=True):
        if matrix.shape[0] != len(classes):
            raise InputError(
                f"{folder / f'{name}.npz'} has {matrix.shape[0]} rows, but there are"
                f" {len(classes)} labels"
            )
    return matrices, classes
