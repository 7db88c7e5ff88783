"""Compare the similarities with a plain computation: one line each.

    python scripts/bench_similarities.py [chi] [blocked] [gvsm] [paper] [--data DIR] [--repeats N]

chi      χ-Sim, 4 iterations, 1,600 x 2,000, against the formula in dense NumPy: time, memory
blocked  χ-Sim with pruning on tdt2 (9,394 x 36,771), word matrices in blocks: peak memory
gvsm     gvsm-cov on classic (7,094 x 41,681) and SciPy's average linkage, against one
         n x n x n float32 product and the same linkage
paper    F of gvsm-cov with average and complete linkage on re0, k1a, tr31, fbis

Each line: what is measured, ours, theirs, ratio, limit. The figures depend on the machine, so none of
this is a test.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import csr_array, load_npz
from scipy.spatial.distance import squareform

from segapsith.arrays import Matrix, Rows
from segapsith_plugins.similarities.chi_sim import ChiSim
from segapsith_plugins.similarities.gvsm import GvsmCov

PRINTED = {("re0", "average"): 0.50, ("k1a", "average"): 0.54}
"""F of table 5 of the paper, where it is quoted with the data sets."""


def line(what: str, ours: str, theirs: str, ratio: str, bar: str) -> None:
    print(f"{what} | ours {ours} | theirs {theirs} | ratio {ratio} | bar {bar}", flush=True)


def seconds(job: Callable[[], object], repeats: int) -> float:
    """Return the time of the best of some runs."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        job()
        best = min(best, time.perf_counter() - start)
    return float(best)


def megabytes(job: Callable[[], object]) -> float:
    """Return the peak of the allocated memory."""
    tracemalloc.start()
    job()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 2**20


# --- χ-Sim ------------------------------------------------------------------------------


def topical_counts(n_rows: int, n_words: int, seed: int = 0) -> Rows:
    """Return counts of about 100 tokens per row, from eight topics over Zipf-distributed words."""
    rng = np.random.default_rng(seed)
    base = 1 / np.arange(1, n_words + 1)
    topics = base * rng.gamma(0.3, size=(8, n_words))
    topics /= topics.sum(axis=1, keepdims=True)
    mixed = 0.7 * topics + 0.3 * base / base.sum()
    of_row = np.arange(n_rows) % 8
    return csr_array(rng.poisson(100 * mixed[of_row]).astype(np.float64))


def dense_chi_sim(m: Matrix, k: float, prune: float, iterations: int) -> Matrix:
    """Compute the formula, both chains, directly."""
    mk = m**k
    sr, sc = np.eye(m.shape[0]), np.eye(m.shape[1])

    def normalised(a: Matrix) -> Matrix:
        d = np.diagonal(a)
        norm = np.sqrt(np.outer(d, d))
        s: Matrix = np.divide(a, norm, out=np.zeros_like(a), where=norm > 0) ** (1 / k)
        np.fill_diagonal(s, 1)
        if prune:
            threshold = np.quantile(s[np.triu_indices(len(s), 1)], prune)
            s[s < threshold - 1e-12] = 0
            np.fill_diagonal(s, 1)
        return s

    for _ in range(iterations):
        sr, sc = normalised(mk @ sc @ mk.T), normalised(mk.T @ sr @ mk)
    return sr


def chi(repeats: int) -> None:
    rows = topical_counts(1600, 2000)
    rows = rows[:, np.flatnonzero(rows.sum(axis=0))]
    dense = rows.toarray()
    density = f"{rows.shape[0]} x {rows.shape[1]}, {rows.nnz / rows.shape[0]:.0f} words a row"
    for prune in (0.0, 0.6):

        def ours(prune: float = prune) -> Matrix:
            sim = ChiSim(k=0.8, prune=prune, iterations=4)
            sim.learn(rows)
            return sim.compare(rows, rows)

        def theirs(prune: float = prune) -> Matrix:
            return dense_chi_sim(dense, 0.8, prune, 4)

        gap = np.abs(ours() - theirs()).max()
        what = f"chi-sim, k 0.8, prune {prune}, 4 iterations, {density} (largest gap {gap:.0e})"
        a, b = seconds(ours, repeats), seconds(theirs, repeats)
        line(what, f"{a:.2f} s", f"{b:.2f} s", f"{b / a:.1f} times faster", ">= 4")
        a, b = megabytes(ours), megabytes(theirs)
        line(what, f"{a:.0f} MB", f"{b:.0f} MB", f"{a / b:.2f}", "<= 0.5")


def blocked(data: Path) -> None:
    """Measure in a process of its own, so that its peak memory is that of the measure."""
    command = [sys.executable, __file__, "--data", str(data), "blocked-child"]
    subprocess.run(command, check=True)


def blocked_child(data: Path) -> None:
    rows = csr_array(load_npz(data / "tdt2" / "matrix.npz"))
    sim = ChiSim(k=0.8, prune=0.6, iterations=4, word_memory=2**30, precision="single")
    start = time.perf_counter()
    sim.learn(rows)
    learned = time.perf_counter() - start
    start = time.perf_counter()
    similar = sim.compare(rows, rows)
    compared = time.perf_counter() - start
    start = time.perf_counter()
    sim.compare(rows[:5], rows[:100])
    few = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    kept = np.count_nonzero(similar) / similar.size
    what = (
        f"chi-sim, prune 0.6, tdt2 {rows.shape[0]} x {rows.shape[1]}, learn {learned:.0f} s, "
        f"compare {compared:.0f} s, 5 x 100 rows {few:.1f} s, {kept:.2f} of the pairs kept"
    )
    line(what, f"{peak:.1f} GB", "8 GB", f"{peak / 8:.2f}", "<= 1")


# --- GVSM -------------------------------------------------------------------------------


def tf_idf(counts: Rows) -> Rows:
    """Return tf × ln(n / df) in rows of unit length, without the words of a single document."""
    counts = csr_array(counts, dtype=np.float64)
    n_documents = np.bincount(counts.indices, minlength=counts.shape[1])
    counts = counts[:, np.flatnonzero(n_documents > 1)]
    n_documents = n_documents[n_documents > 1]
    data = counts.data * np.log(counts.shape[0] / n_documents)[counts.indices]
    weighted = csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    lengths = np.sqrt(weighted.multiply(weighted).sum(axis=1))
    data = weighted.data / np.repeat(np.maximum(lengths, 1e-300), np.diff(weighted.indptr))
    return csr_array((data, weighted.indices, weighted.indptr), shape=weighted.shape)


def tree(similar: Matrix, method: str) -> Matrix:
    distance = np.maximum(1 - similar, 0)
    np.fill_diagonal(distance, 0)
    merges: Matrix = linkage(squareform(distance, checks=False), method)
    return merges


def seconds_of_a_product(n: int, repeats: int) -> float:
    """Return the time of one n x n x n product in float32."""
    rng = np.random.default_rng(0)
    left, right = (rng.standard_normal((n, n), dtype=np.float32) for _ in range(2))
    return seconds(lambda: left @ right, repeats)


def gvsm(data: Path, repeats: int) -> None:
    counts = csr_array(load_npz(data / "classic" / "matrix.npz"), dtype=np.float64)
    lengths = np.sqrt(counts.multiply(counts).sum(axis=1))
    scale = np.repeat(1 / lengths, np.diff(counts.indptr))
    rows = csr_array((counts.data * scale, counts.indices, counts.indptr), shape=counts.shape)
    n = rows.shape[0]
    product = seconds_of_a_product(n, repeats)
    for precision in ("double", "single"):

        def similarity(precision: str = precision) -> Matrix:
            sim = GvsmCov(precision=precision)  # type: ignore[arg-type]  # one of the two
            sim.learn(rows)
            return sim.compare(rows, rows)

        ours = seconds(similarity, repeats)
        similar = similarity()
        merging = seconds(lambda similar=similar: tree(similar, "average"), 1)  # type: ignore[misc]  # bound now, not when called
        what = (
            f"gvsm-cov ({precision}) + average linkage, classic {n} x {rows.shape[1]}: "
            f"similarity {ours:.1f} s, product {product:.1f} s, linkage {merging:.1f} s"
        )
        total, bar = ours + merging, product + merging
        line(what, f"{total:.1f} s", f"{bar:.1f} s", f"{total / bar:.2f}", "<= 1.5")


def f_measure(labels: np.ndarray, classes: np.ndarray) -> float:
    """Return the sum over classes of n_i / n times the best 2 n_ij / (n_i + n_j)."""
    _, i = np.unique(classes, return_inverse=True)
    _, j = np.unique(labels, return_inverse=True)
    table = np.zeros((i.max() + 1, j.max() + 1))
    np.add.at(table, (i, j), 1)
    n_i, n_j = table.sum(axis=1), table.sum(axis=0)
    best = (2 * table / (n_i[:, None] + n_j[None, :])).max(axis=1)
    return float(n_i @ best / len(classes))


def paper(data: Path) -> None:
    for name in ("re0", "k1a", "tr31", "fbis"):
        rows = tf_idf(load_npz(data / name / "matrix.npz"))
        classes = np.array((data / name / "labels.txt").read_text().split("\n")[: rows.shape[0]])
        sim = GvsmCov()
        sim.learn(rows)
        similar = sim.compare(rows, rows)
        for method in ("average", "complete"):
            labels = fcluster(tree(similar, method), len(np.unique(classes)), "maxclust")
            found = f_measure(labels, classes)
            printed = PRINTED.get((name, method))
            what = f"gvsm-cov, {method} linkage, F on {name}"
            if printed is None:
                line(what, f"{found:.3f}", "(not quoted in our documents)", "-", "within .03")
            else:
                gap = f"{found - printed:+.3f}"
                line(what, f"{found:.3f}", f"{printed:.2f}", gap, "within .03")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    names = ["chi", "blocked", "gvsm", "paper"]
    parser.add_argument("only", nargs="*", help=f"which of {', '.join(names)}; default: all")
    default = os.environ.get(
        "SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"
    )
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    jobs: dict[str, Callable[[], None]] = {
        "chi": lambda: chi(options.repeats),
        "blocked": lambda: blocked(options.data),
        "gvsm": lambda: gvsm(options.data, options.repeats),
        "paper": lambda: paper(options.data),
        "blocked-child": lambda: blocked_child(options.data),
    }
    for name in options.only or names:
        if name not in jobs:
            parser.error(f"no bench is called {name!r} (known: {', '.join(names)})")
        jobs[name]()


if __name__ == "__main__":
    main()
