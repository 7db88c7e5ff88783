"""Learning from pre-segmented units: speed compared with a single pass, and growth with the stream.

    scripts/bench streaming                 # tdt2 into a store on disk, then growth to 50,000 units
    scripts/bench streaming --growth 200000
    scripts/bench streaming --growth 100000 --night   # then the steps of a night of 2,000 units

The single pass makes TF-IDF rows from the same units with SciPy and compares each with the centroids
so far, with threshold 0.1, in memory. It has two forms with the same clusters. The plain form takes
its rows from SciPy and computes the length of a centroid again when it changes. The tuned form makes
no row: it reads the arrays of the matrix and updates the lengths by a formula. In both, centroids are
a dense array that is read only at the words of the row. Multiplying a sparse row with the whole
array, as SciPy does, is about sixty times slower.

Both sides start with the counts of the same matrix in memory, and a second time with the words of
each unit as a Python dict, which the single pass must turn into a matrix. Compilation is not timed,
and BLAS has one thread. Then units are placed among domains that share their words, alone and beside
100,000 domains that do not. Growth is measured on synthetic units whose subjects follow Zipf's law.
Times are processor times, so a busy machine gives the same figures.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from segapsith.api.wire import Wire
from segapsith.domains.index import DomainIndex
from segapsith.domains.values import Bag
from segapsith.io.count_matrices import count_matrix, read_matrix
from segapsith.lexicon.vocabulary import SCALE
from segapsith.model import Document

DATA = Path(os.environ.get("SEGAPSITH_DATA", Path(__file__).parents[2] / "shared" / "data"))
THRESHOLD = 0.1

NIGHT = 2_000
"""Units of a night."""


def count_rows(units: list[Document]) -> csr_array:
    """Return units as rows of counts."""
    numbers: dict[str, int] = {}
    indices, values, ends = [], [], [0]
    for unit in units:
        bag = unit.bag or {}
        indices += [numbers.setdefault(word, len(numbers)) for word in bag]
        values += bag.values()
        ends.append(len(indices))
    return csr_array((values, indices, ends), shape=(len(units), len(numbers)))


def tf_idf(counts: csr_array) -> csr_array:
    """Return rows of length 1."""
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    rows = csr_array(counts, dtype=np.float64)
    rows.data = (1 + np.log(rows.data)) * np.log(rows.shape[0] / frequency[rows.indices])
    rows.data /= np.repeat(np.sqrt(rows.multiply(rows).sum(axis=1)), np.diff(rows.indptr))
    return rows


def by_date(matrix: Path) -> csr_array:
    """Return the rows of a matrix in the order of their dates."""
    dates = matrix.with_name("dates.txt").read_text(encoding="utf-8").splitlines()
    return csr_array(read_matrix(matrix)[sorted(range(len(dates)), key=dates.__getitem__)])


def learned(units: list[Document], store: Path) -> tuple[float, int]:
    """Return the seconds for learning from units into a new store, and the number of domains."""
    began = time.process_time()
    with Wire(store) as wire:
        summary = wire.ingest(units)
    return time.process_time() - began, summary.domains_new


def plain_pass(counts: csr_array) -> tuple[int, float]:
    """Return the clusters and the seconds of the plain single pass."""
    began = time.process_time()
    rows = tf_idf(counts)
    centroids, lengths = np.zeros((64, rows.shape[1])), np.zeros(64)
    n_clusters = 0
    for i in range(rows.shape[0]):
        row = rows[[i]]
        cosines = centroids[:n_clusters, row.indices] @ row.data / lengths[:n_clusters]
        best = int(np.argmax(cosines)) if n_clusters else 0
        if not n_clusters or cosines[best] < THRESHOLD:
            best, n_clusters = n_clusters, n_clusters + 1
            if n_clusters == len(centroids):
                centroids = np.concatenate([centroids, np.zeros_like(centroids)])
                lengths = np.concatenate([lengths, np.zeros_like(lengths)])
        centroids[best, row.indices] += row.data
        lengths[best] = np.linalg.norm(centroids[best])
    return n_clusters, time.process_time() - began


def tuned_pass(counts: csr_array) -> tuple[int, float]:
    """Return the clusters and the seconds of the same without rows of SciPy."""
    began = time.process_time()
    rows = tf_idf(counts)
    centroids = np.zeros((64, rows.shape[1]))
    squares = np.zeros(64)
    n_clusters = 0
    for i in range(rows.shape[0]):
        part = slice(rows.indptr[i], rows.indptr[i + 1])
        words, weights = rows.indices[part], rows.data[part]
        dots = centroids[:n_clusters, words] @ weights
        cosines = dots / np.sqrt(np.maximum(squares[:n_clusters], 1e-300))
        best = int(np.argmax(cosines)) if n_clusters else 0
        if not n_clusters or cosines[best] < THRESHOLD:
            best, n_clusters = n_clusters, n_clusters + 1
            if n_clusters == len(centroids):
                centroids = np.concatenate([centroids, np.zeros_like(centroids)])
                squares = np.concatenate([squares, np.zeros_like(squares)])
            dots = np.zeros(n_clusters)
        squares[best] += 2 * dots[best] + 1
        centroids[best, words] += weights
    return n_clusters, time.process_time() - began


def zipf_units(n: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Return units of 20 words: 15 of one of 400 Zipf-distributed subjects, and 5 of all words."""
    rng = np.random.default_rng(seed)
    chances = 1 / np.arange(1, 401)
    chances /= chances.sum()
    for i in range(n):
        subject = int(rng.choice(400, p=chances))
        own = rng.zipf(1.4, 15) % 60 + 60 * subject
        common = rng.zipf(1.2, 5) % 20_000 + 24_000
        words, counts = np.unique(np.concatenate([own, common]), return_counts=True)
        yield {
            "id": f"z{i}",
            "words": {f"w{w}": c for w, c in zip(words.tolist(), counts.tolist(), strict=True)},
        }


def random_units(rng: np.random.Generator, n_units: int, first: int, last: int) -> list[Bag]:
    """Return units of at most 20 words between two numbers, with random weights."""
    units = []
    for _ in range(n_units):
        words = np.unique(rng.integers(first, last, 20)).astype(np.int32)
        weights = rng.integers(1, SCALE, len(words)).astype(np.int32)
        units.append(Bag(words, np.ones_like(words), weights))
    return units


def seconds_per_unit(n_others: int) -> tuple[int, float]:
    """Return the number of domains, and the seconds for placing a unit among the domains with its
    words, beside some thousands that share none with it."""
    rng = np.random.default_rng(0)
    index = DomainIndex()
    index.place_all(random_units(rng, 2_000, 0, 1_000))
    index.place_all(random_units(rng, n_others, 1_000, 1_000 + 20 * n_others))
    asked = random_units(rng, 20_000, 0, 1_000)
    index.find_all(asked[:10])  # compiles
    began = time.process_time()
    index.find_all(asked)
    return index.next_domain - 1, (time.process_time() - began) / len(asked)


def night_steps(wire: Wire, units: list[dict[str, Any]]) -> None:
    """Print the seconds of learning some units and of each step of the night after it."""
    last = wire.runs.list(1)[0].id
    steps: dict[str, Callable[[], object]] = {
        "learning": lambda: wire.learn(units),
        "merging": lambda: wire.domains.merge_similar(since=last),
        "splitting": lambda: wire.domains.split_broad(after=last),
        "reassigning": wire.domains.reassign,
        "topics": lambda: wire.topics(limit=0),
        "sections": wire.sections.regroup,
        "validating": lambda: wire.validate(last=wire.settings.validation.last),
    }
    total = 0.0
    for name, step in steps.items():
        began = time.process_time()
        step()
        seconds = time.process_time() - began
        total += seconds
        print(f"night: {name:12} {seconds:.2f} s")
    print(f"night: {'all':12} {total:.2f} s for {len(units):,} units")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--growth", type=int, default=50_000, metavar="UNITS")
    parser.add_argument("--night", action="store_true", help="and the steps of a night after it")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of both, in turns")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        matrix = options.data / "tdt2" / "matrix.npz"
        if matrix.is_file():
            units = [unit for unit in count_matrix(matrix) if isinstance(unit, Document)]
            dicts = [replace(unit, bag=dict(unit.bag or {})) for unit in units]
            counts = by_date(matrix)
            with Wire(Path(folder, "warm.db")) as wire:
                wire.ingest(units[:50])  # compiles
            ours: dict[str, list[float]] = {"matrix": [], "dicts": []}
            theirs: dict[str, list[float]] = {"plain": [], "tuned": [], "making a matrix": []}
            for turn in range(options.rounds):
                for given, some in (("matrix", units), ("dicts", dicts)):
                    seconds, n_domains = learned(some, Path(folder, f"{given}-{turn}.db"))
                    ours[given].append(seconds)
                for name, single_pass in (("plain", plain_pass), ("tuned", tuned_pass)):
                    n_clusters, seconds = single_pass(counts)
                    theirs[name].append(seconds)
                began = time.process_time()
                count_rows(dicts)
                theirs["making a matrix"].append(time.process_time() - began)
            for given, times in ours.items():
                we = min(times)
                print(f"tdt2 from {given}: {len(units) / we:,.0f} units/s into {n_domains} domains")
                for name in ("plain", "tuned"):
                    they = min(theirs[name])
                    if given == "dicts":
                        they += min(theirs["making a matrix"])
                    print(
                        f"      {len(units) / they:,.0f} units/s {name} single pass,"
                        f" {n_clusters}: {they / we:.2f} of it, the best of {options.rounds} each"
                    )
            print(f"      {Path(folder, 'matrix-0.db').stat().st_size / 2**20:.1f} MB on disk")
        for n_others in (1_000, 100_000):
            n_domains, seconds = seconds_per_unit(n_others)
            print(f"place: {1e6 * seconds:.1f} µs a unit among {n_domains:,} domains")
        first = 0.0
        with Wire(Path(folder, "growth.db")) as wire:
            stream = zipf_units(options.growth + NIGHT)
            for done in range(10_000, options.growth + 1, 10_000):
                chunk = [next(stream) for _ in range(10_000)]
                began = time.process_time()
                wire.learn(chunk)
                per_1000 = (time.process_time() - began) / 10
                first = first or per_1000
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
                print(
                    f"growth: {done:>7,} units  {per_1000:.2f} s per 1,000"
                    f" ({per_1000 / first:.2f} times)  {peak:,.0f} MB"
                )
            if options.night:
                night_steps(wire, list(islice(stream, NIGHT)))


if __name__ == "__main__":
    main()
