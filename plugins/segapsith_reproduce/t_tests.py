"""Paired t-tests between methods, and the table of all pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["PairedTest", "SignificanceTable", "paired_t_test", "significance_table"]


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The mean difference of pairs, and the probability of one as large by chance."""

    n: int
    mean: float
    sd: float
    t: float
    p: float
    """Two-sided."""

    def verdict(self, level: float = 0.05) -> str:
        """Return `>` if the first is significantly larger, `<` if it is smaller, `=` if neither."""
        return "=" if self.p > level or self.mean == 0 else (">" if self.mean > 0 else "<")


def paired_t_test(first: Sequence[float], second: Sequence[float]) -> PairedTest:
    """Return Student's t of paired values: the mean difference over its standard error.

    Fewer than two pairs give p = 1. Differences that are all equal and not 0 give an infinite t
    and p = 0.

    >>> round(paired_t_test([3, 4, 6], [1, 3, 3]).t, 4)
    3.4641
    """
    from scipy.stats import t as student

    if len(first) != len(second):
        raise ValueError(f"{len(first)} values cannot be paired with {len(second)}")
    apart = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not np.isfinite(apart).all():
        raise ValueError("values should be finite")
    n = len(apart)
    mean = float(apart.mean()) if n else 0.0
    if n < 2:
        return PairedTest(n, mean, 0.0, 0.0, 1.0)
    sd = float(apart.std(ddof=1))
    if sd <= 1e-15 * max(abs(mean), 1e-300):
        same = mean == 0
        return PairedTest(n, mean, 0.0, 0.0 if same else math.copysign(math.inf, mean), float(same))
    t = mean / (sd / math.sqrt(n))
    return PairedTest(n, mean, sd, t, float(2 * student.sf(abs(t), n - 1)))


@dataclass(frozen=True, slots=True)
class SignificanceTable:
    """Paired t-tests of every method against every other."""

    methods: tuple[str, ...]
    tests: Mapping[tuple[str, str], PairedTest]
    level: float
    larger_is_better: bool

    def sign(self, first: str, second: str) -> str:
        """Return `>` if the first method is significantly better than the second, `<` if worse, or
        `=`."""
        sign = self.tests[first, second].verdict(self.level)
        return sign if self.larger_is_better else sign.translate(str.maketrans("<>", "><"))

    def rows(self) -> list[list[str]]:
        """Return the table as text, one row per method, empty on the diagonal."""
        return [["" if a == b else self.sign(a, b) for b in self.methods] for a in self.methods]

    def order(self) -> list[str]:
        """Return the methods by the number of others that they beat, minus those that beat them."""
        points = {
            a: sum({">": 1, "<": -1, "=": 0, "": 0}[sign] for sign in row)
            for a, row in zip(self.methods, self.rows(), strict=True)
        }
        return sorted(self.methods, key=lambda a: (-points[a], self.methods.index(a)))


def significance_table(
    scores: Mapping[str, Sequence[float]], *, level: float = 0.05, larger_is_better: bool = True
) -> SignificanceTable:
    """Return paired t-tests of all pairs of methods; all have scores for the same cases in order.

    >>> table = significance_table({"a": [0.9, 0.8, 0.9], "b": [0.5, 0.3, 0.4]})
    >>> table.rows(), table.order()
    ([['', '>'], ['<', '']], ['a', 'b'])
    """
    methods = tuple(scores)
    tests = {
        (a, b): paired_t_test(scores[a], scores[b]) for a in methods for b in methods if a != b
    }
    return SignificanceTable(methods, tests, level, larger_is_better)
