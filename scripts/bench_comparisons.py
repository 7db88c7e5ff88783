"""Compare Mantel's test with that of scikit-bio on the same partitions, and time a million units.

scripts/bench comparisons [--units 4935] [--skip-peer]
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from segapsith.evaluation import compare


def partitions(n_units: int, n_classes: int, seed: int) -> tuple[list[int], list[int]]:
    """Return two partitions with uneven classes that agree on about half of the units."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, n_classes + 1)
    left = rng.choice(n_classes, n_units, p=shares / shares.sum())
    right = np.where(rng.random(n_units) < 0.5, left, rng.integers(0, n_classes, n_units))
    return left.tolist(), right.tolist()


def ours(left: list[int], right: list[int]) -> float:
    began = time.perf_counter()
    compare.mantel(left, right, permutations=999, seed=0)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=4935)
    parser.add_argument("--skip-peer", action="store_true", help="leave scikit-bio out")
    chosen = parser.parse_args()
    left, right = partitions(chosen.units, 71, 0)
    ours(left, right)  # compiles
    mine = sorted(ours(left, right) for _ in range(5))[2]
    print(f"mantel, 999 permutations, {chosen.units} units, 71 classes: {mine:.4f} s")
    million = partitions(10**6, 71, 1)
    print(f"the same for 1,000,000 units: {ours(*million):.2f} s")
    if chosen.skip_peer:
        return
    from skbio import DistanceMatrix
    from skbio.stats.distance import mantel as peer

    distances = [
        DistanceMatrix((np.not_equal.outer(labels, labels)).astype(float))
        for labels in (np.array(left), np.array(right))
    ]
    began = time.perf_counter()
    peer(*distances, method="pearson", permutations=999, alternative="greater", seed=0)
    theirs = time.perf_counter() - began
    print(f"scikit-bio: {theirs:.1f} s; ratio {theirs / mine:.0f} (bar: at least 1,000)")


if __name__ == "__main__":
    main()
