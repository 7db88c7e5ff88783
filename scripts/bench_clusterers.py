"""Compare the clusterers with common alternatives: one line each, with the ratio and its limit.

    PYTHONPATH=.:plugins:store python scripts/bench_clusterers.py entropy spherical

Compilation is never timed; both sides run one after the other on the same machine.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from scipy.sparse import csr_array, load_npz
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfTransformer

from segapsith_plugins.clusterers._entropy_search import (
    Partition,
    settle,
    split_and_merge,
    tables_for,
)
from segapsith_plugins.clusterers._row_algebra import canonical
from segapsith_plugins.clusterers.ahc import condensed_distances, merge_tree
from segapsith_plugins.clusterers.entropy_kmeans import (
    EntropyKMeans,
    conditional_entropy,
    is_single_move_optimum,
)
from segapsith_plugins.clusterers.spherical_kmeans import SphericalKMeans, total_cosine
from segapsith_plugins.similarities.gvsm import GvsmCov

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Result = TypeVar("Result")


def zipf_topics(
    n_units: int = 4935,
    n_words: int = 4380,
    n_topics: int = 71,
    *,
    mean_length: float = 55.0,
    topic_share: float = 0.6,
    topic_words: int = 200,
    seed: int = 0,
) -> tuple[csr_array, Ints]:
    """Return counts of units that mix the words of one topic with a common background, and the topics.

    Background and topics follow Zipf's law over their own ranking of the words. Topic sizes follow a
    flattened Zipf's law, unit lengths are log-normal.
    """
    rng = np.random.default_rng(seed)
    ranks = np.arange(1, n_words + 1)
    background = 1.0 / (ranks + 2.7) ** 1.05
    background /= background.sum()
    own = 1.0 / (np.arange(1, topic_words + 1) + 5.0)
    own /= own.sum()
    shares = 1.0 / (np.arange(1, n_topics + 1) + 10.0) ** 0.8
    labels = rng.choice(n_topics, size=n_units, p=shares / shares.sum())
    # words of middle frequency carry topics more than the commonest ones
    pull = background**0.4
    pull /= pull.sum()
    choices = [rng.choice(n_words, topic_words, replace=False, p=pull) for _ in range(n_topics)]
    lengths = np.maximum(8, rng.lognormal(np.log(mean_length), 0.5, n_units)).astype(int)
    cells = []
    for unit, (topic, length) in enumerate(zip(labels, lengths, strict=True)):
        n_own = rng.binomial(length, topic_share)
        words = np.concatenate(
            [
                rng.choice(choices[topic], n_own, p=own),
                rng.choice(n_words, length - n_own, p=background),
            ]
        )
        cells.append(np.stack([np.full(length, unit), words]))
    row, column = np.concatenate(cells, axis=1)
    counts = csr_array((np.ones(len(row), dtype=np.int64), (row, column)), shape=(n_units, n_words))
    counts.sum_duplicates()
    return counts, labels


def tf_idf(counts: csr_array) -> csr_array:
    """Return unit rows of tf-idf, with the 32-bit indices that scikit-learn needs."""
    weighted = csr_array(TfidfTransformer().fit_transform(counts.astype(np.float64)))
    weighted.indices = weighted.indices.astype(np.int32)
    weighted.indptr = weighted.indptr.astype(np.int32)
    return weighted


class PlainUnits:
    """Units and cluster sums in plain NumPy, with f(x) = x ln x in a table."""

    def __init__(self, counts: csr_array, labels: Ints, k: int) -> None:
        self.rows = [
            (counts.indices[a:b], counts.data[a:b].astype(np.int64))
            for a, b in pairwise(counts.indptr)
        ]
        self.masses = np.asarray(counts.sum(axis=1)).ravel().astype(np.int64)
        whole = np.arange(self.masses.sum() + 1, dtype=np.float64)
        self.f: Floats = whole * np.log(np.maximum(whole, 1.0))
        self.labels = labels.copy()
        self.sums = np.zeros((counts.shape[1], k), dtype=np.int64)
        self.totals = np.zeros(k, dtype=np.int64)
        for unit in range(len(self.rows)):
            self.put(unit, self.labels[unit], 1)

    def put(self, unit: int, cluster: int, sign: int) -> None:
        words, tallies = self.rows[unit]
        self.sums[words, cluster] += sign * tallies
        self.totals[cluster] += sign * self.masses[unit]

    def change(self, unit: int, b: int) -> float:
        """O * dH of moving a unit to b."""
        f, a = self.f, self.labels[unit]
        (words, n), mass = self.rows[unit], self.masses[unit]
        here, there = self.sums[words, a], self.sums[words, b]
        size, other = self.totals[a], self.totals[b]
        sides = f[size - mass] - f[size] + f[other + mass] - f[other]
        return float(sides - (f[here - n] - f[here] + f[there + n] - f[there]).sum())


def plain_sib(counts: csr_array, k: int, seed: int) -> Ints:
    """Run the sequential information bottleneck: take a unit out, and put it where it costs least."""
    rng = np.random.default_rng(seed)
    units = PlainUnits(counts, rng.integers(k, size=counts.shape[0]), k)
    f, moved = units.f, True
    while moved:
        moved = False
        for unit in rng.permutation(counts.shape[0]):
            (words, n), mass, old = units.rows[unit], units.masses[unit], units.labels[unit]
            units.put(unit, old, -1)
            sums = units.sums[words]
            costs = f[units.totals + mass] - f[units.totals]
            costs -= (f[sums + n[:, None]] - f[sums]).sum(axis=0)
            new = int(costs.argmin()) if costs.min() < costs[old] - 1e-9 else old
            units.put(unit, new, 1)
            units.labels[unit] = new
            moved = moved or new != old
    return units.labels


def plain_random_moves(counts: csr_array, k: int, seed: int, seconds: float) -> Ints:
    """Run the published search, one trial after the other.

    It ends when the time is over, or when n_units * k trials in a row bring no gain.
    """
    rng = np.random.default_rng(seed)
    n_units = counts.shape[0]
    units = PlainUnits(counts, np.zeros(n_units, dtype=np.int64), k)
    rejected, end = 0, time.perf_counter() + seconds
    while rejected < n_units * k and time.perf_counter() < end:
        for unit, other in zip(
            rng.integers(n_units, size=4096).tolist(),
            rng.integers(k - 1, size=4096).tolist(),
            strict=True,
        ):
            old = units.labels[unit]
            new = other + (other >= old)
            rejected += 1
            if units.change(unit, new) < -1e-9:
                units.put(unit, old, -1)
                units.put(unit, new, 1)
                units.labels[unit] = new
                rejected = 0
    return units.labels


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def line(
    what: str, ours: float, theirs: float, unit: str, *, at_most: float = 0, at_least: float = 0
) -> None:
    """Print what is measured, ours, theirs, the ratio ours/theirs, and its limit."""
    ratio = ours / theirs
    held = ratio >= at_least and (not at_most or ratio <= at_most)
    bar = f"<= {at_most:.4g}" if at_most else f">= {at_least:.4g}"
    print(
        f"{what:<54} ours {ours:9.4f} {unit:<5} theirs {theirs:9.4f} {unit:<5} "
        f"ratio {ratio:8.5f}  bar {bar:<11} {'held' if held else 'MISSED'}",
        flush=True,
    )


def bench_entropy(options: argparse.Namespace) -> None:
    """H_K and time on 4,935 units x 4,380 words, K = 71."""
    counts, _ = zipf_topics(seed=options.seed)
    weighted, k = tf_idf(counts), 71
    EntropyKMeans(k=3, n_init=2).cluster(counts[:200])  # compiled before it is timed
    theirs, times = [], []
    for seed in range(10):
        model, seconds = timed(partial(KMeans(k, n_init=1, random_state=seed).fit, weighted))
        theirs.append(conditional_entropy(counts, model.labels_))
        times.append(seconds)
    clusterer = EntropyKMeans(k=k, seed=options.seed)
    labels, seconds = timed(lambda: clusterer.cluster(counts, None))
    assert is_single_move_optimum(counts, labels, k)
    sib = [conditional_entropy(counts, plain_sib(counts, k, seed)) for seed in range(5)]
    ours = clusterer.entropy_
    line("entropy: H_K against the best of 10 KMeans", ours, min(theirs), "nats", at_most=1)
    line("entropy: H_K against the best of 5 plain sIB", ours, min(sib), "nats", at_most=1)
    one = float(np.median(times))
    line("entropy: time against one KMeans (median of 10)", seconds, one, "s", at_most=5)


def seconds_to(counts: csr_array, k: int, target: float, seed: int) -> float:
    """Return the time of our search to an entropy: random start, three sweeps, split and merge."""
    start = time.perf_counter()
    rng = np.random.default_rng(seed)
    units = canonical(counts)
    tables = tables_for(units)
    partition = Partition(units, rng.permutation(units.shape[0]) % k, k, tables)
    settle(partition, rng, 3)
    steps = split_and_merge(partition, rng, 100)
    while partition.loss() > target * tables.total:
        next(steps)  # StopIteration, should it end above the target
    seconds = time.perf_counter() - start
    assert conditional_entropy(counts, partition.labels) <= target
    return seconds


def bench_random_moves(options: argparse.Namespace) -> None:
    """Time to the entropy that naive random moves reach."""
    counts, _ = zipf_topics(seed=options.seed)
    seconds_to(counts[:500], 71, np.inf, 0)
    EntropyKMeans(k=5, n_init=1).cluster(counts[:200])  # compiled before it is timed
    naive, theirs = timed(lambda: plain_random_moves(counts, 71, options.seed, options.seconds))
    reached = conditional_entropy(counts, naive)
    ours = float(np.median([seconds_to(counts, 71, reached, seed) for seed in range(5)]))
    what = f"entropy: time to the {reached:.4f} of naive random moves"
    line(what, ours, theirs, "s", at_most=1 / 300)


def bench_spherical(options: argparse.Namespace) -> None:
    """Ten restarts on la12 against KMeans(n_init=10)."""
    weighted = tf_idf(csr_array(load_npz(options.data / "la12" / "matrix.npz")))
    SphericalKMeans(k=3, n_init=1).cluster(weighted[:200])
    model, theirs = timed(lambda: KMeans(6, n_init=10, random_state=options.seed).fit(weighted))
    clusterer = SphericalKMeans(k=6, n_init=10, seed=options.seed)
    _, ours = timed(lambda: clusterer.cluster(weighted, None))
    line("spherical: time of 10 restarts on la12", ours, theirs, "s", at_most=1)
    best = total_cosine(weighted, model.labels_)
    line("spherical: sum of cosines", clusterer.objective_, best, "", at_least=1)


def bench_ahc(options: argparse.Namespace) -> None:
    """Average linkage on the GVSM-COV similarities of 7,094 documents."""
    weighted = tf_idf(csr_array(load_npz(options.data / "classic" / "matrix.npz")))
    merge_tree(np.ones(3))
    measure = GvsmCov()
    measure.learn(weighted)
    where = np.flatnonzero(np.diff(weighted.indptr))
    distances, seconds = timed(
        lambda: condensed_distances(weighted, where, measure.compare, "one-minus")
    )
    print(f"ahc: similarities of {len(where)} documents by blocks took {seconds:.1f} s", flush=True)
    tree, theirs = timed(lambda: linkage(distances, "average"))
    ours_tree, ours = timed(lambda: merge_tree(distances, "average"))
    line(f"ahc: average linkage, {len(where)} documents", ours, theirs, "s", at_most=1)
    assert np.allclose(tree[:, 2], ours_tree[:, 2])


BENCHES = {
    "entropy": bench_entropy,
    "random-moves": bench_random_moves,
    "spherical": bench_spherical,
    "ahc": bench_ahc,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("which", nargs="*", default=list(BENCHES), help=f"of {', '.join(BENCHES)}")
    parser.add_argument(
        "--data",
        type=Path,
        default=Path(
            os.environ.get(
                "SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"
            )
        ),
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--seconds", type=float, default=120.0, help="seconds for naive random moves"
    )
    options = parser.parse_args()
    if unknown := set(options.which) - set(BENCHES):
        parser.error(f"no bench is called {', '.join(sorted(unknown))}")
    for name in options.which:
        BENCHES[name](options)


if __name__ == "__main__":
    main()
