#!/usr/bin/env python
"""Nearest neighbours of many rows, and clusters of the graph, within a limit of memory.

Rows are made up: each has a subject, and draws words from the list of its subject or from all
words, by Zipf's law. So the right clusters are known. Printed are processor time and peak memory of
each step, and how well the clusters agree with the subjects (NMI).

    scripts/bench neighbours                                       20,000 rows, gvsm-cov and chi-sim
    scripts/bench neighbours --rows 200000 --similarity gvsm-cov   what a machine should manage
    scripts/bench neighbours --workers processes:2                 with several processes

Memory above `--limit` (4 GB of data in this process) is an error.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from segapsith.evaluation.clustering import weight_rows
from segapsith.evaluation.metrics import nmi
from segapsith.evaluation.neighbours import BlockPlan, learn_from, nearest_neighbours
from segapsith.evaluation.worker_clustering import ClusterRecipe
from segapsith.parallel.choice import parse_workers
from segapsith.parallel.plugins import share_plugins
from segapsith.plugin.registry import load_plugins

SUBJECT_WORDS = 400
"""Words that a subject has of its own."""


def zipf_rows(
    n_rows: int, n_words: int, n_subjects: int, row_words: int
) -> tuple[csr_array, NDArray[np.int64]]:
    """Return counts of words, and the subject of each row."""
    rng = np.random.default_rng(0)
    own = rng.integers(0, n_words, (n_subjects, SUBJECT_WORDS))
    subjects = rng.integers(0, n_subjects, n_rows)
    rows = np.repeat(np.arange(n_rows), row_words)
    words = _by_rank(rng, n_words, len(rows))
    places = _by_rank(rng, SUBJECT_WORDS, len(rows))
    of_subject = rng.random(len(rows)) < 0.5
    words[of_subject] = own[subjects[rows], places][of_subject]
    counts = csr_array((np.ones(len(rows)), (rows, words)), shape=(n_rows, n_words))
    counts.sum_duplicates()
    return counts, subjects


def _by_rank(rng: np.random.Generator, n: int, size: int) -> NDArray[np.int64]:
    shares = np.cumsum(1 / np.arange(1, n + 1))
    return np.searchsorted(shares, rng.random(size) * shares[-1]).astype(np.int64)


@contextmanager
def step(name: str) -> Iterator[list[str]]:
    """Print what a step cost; what it adds to the list is printed behind."""
    notes: list[str] = []
    before, began = _processor_seconds(), time.perf_counter()
    yield notes
    spent, wall = _processor_seconds() - before, time.perf_counter() - began
    print(
        f"{name:32} {spent:8.1f} s of processor {wall:8.1f} s {_peak_bytes() / 1e9:6.2f} GB"
        f"  {' '.join(notes)}",
        flush=True,
    )


def _processor_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _peak_bytes() -> int:
    """Return the peak memory of this process so far."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--words", type=int, default=60_000)
    parser.add_argument("--row-words", type=int, default=12)
    parser.add_argument("--subjects", type=int, default=200)
    parser.add_argument("--neighbours", type=int, default=20)
    parser.add_argument("--similarity", action="append")
    parser.add_argument("--precision", default="single")
    parser.add_argument("--workers", default="1")
    parser.add_argument("--limit", type=float, default=4.0, help="GB of memory")
    options = parser.parse_args()
    limit = int(options.limit * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    registry = load_plugins(only_own=True)
    name, rest = parse_workers(options.workers)
    executor = registry.make("executor", name, {"workers": rest} if rest else {})
    with step(f"{options.rows:,} rows") as notes:
        counts, subjects = zipf_rows(
            options.rows, options.words, options.subjects, options.row_words
        )
        notes.append(f"{counts.nnz / options.rows:.1f} words each")
    for similarity in options.similarity or ["gvsm-cov", "chi-sim"]:
        settings = {} if similarity == "cosine" else {"precision": options.precision}
        measure = registry.make("similarity", similarity, settings)
        rows = weight_rows(counts, None, similarity)
        with step(f"{similarity}: learned"):
            learn_from(measure, rows)
        plan = BlockPlan(ClusterRecipe("ahc", {}, similarity, settings), options.neighbours)
        with step(f"{similarity}: nearest {plan.m}") as notes:
            graph = nearest_neighbours(executor, share_plugins(registry), rows, measure, plan)
            filled = graph.neighbours >= 0
            alike = (subjects[graph.neighbours] == subjects[:, None])[filled].mean()
            notes.append(f"of the same subject: {alike:.3f}")
        for clusterer, more in (("ahc", {}), ("spherical-kmeans", {"n_init": 1})):
            made = registry.make("clusterer", clusterer, {"k": options.subjects, **more})
            with step(f"{similarity}: {clusterer}") as notes:
                labels = made.cluster_neighbours(rows, graph)
                notes.append(f"NMI {nmi(labels, subjects):.3f}")
    executor.close()
    with_workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(
        f"peak of this process {_peak_bytes() / 1e9:.2f} GB, of a worker {with_workers / 1e6:.2f} GB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
