"""Speed of the segmenters, and their scores on texts with given boundaries.

    python scripts/bench_segmenters.py [SET…] [--data DIR] [--quick] [--only NAME…]
    python scripts/bench_segmenters.py --words N [--data DIR]
    python scripts/bench_segmenters.py --links N

The tables are those of `segapsith reproduce`. `--words N` times every segmenter on N, 2 N and 4 N
words. `--links N` times the cohesion curve on a random network of N links. It compares the moving
window with a window that is summed again at each position, compiled or in numpy, and with annotation.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel
from segapsith.model import Annotation, Document, Lexicon, Network
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords
from segapsith_plugins.segmenters._cohesion_curve import Lens, cohesion_curve, read
from segapsith_plugins.segmenters.cohesion import Cohesion
from segapsith_plugins.segmenters.lcp import LexicalCohesionProfile
from segapsith_plugins.segmenters.segcohlex import Segcohlex
from segapsith_reproduce import Options, Table
from segapsith_reproduce.data_sets import annotated, content, lines
from segapsith_reproduce.segmentation import table

SETS = (
    "choi",
    "orangesum-segments-fr",
    "clinical",
    "wiki300",
    "lectures-ai",
    "lectures-physics",
    "fiction",
    "manifesto",
    "wikisection-pt-disease",
)


def show(found: Table) -> None:
    print(found.title)
    print("".join(f"{name:>22}" if i < 3 else f"{name:>11}" for i, name in enumerate(found.head)))
    for row in found.rows:
        cells = ["" if cell is None else str(cell) for cell in row]
        print("".join(f"{c:>22}" if i < 3 else f"{c:>11}" for i, c in enumerate(cells)))
    for note in found.notes:
        print(note)


def timed(work: Callable[[], Any], rounds: int = 7) -> float:
    """Return the median processor time of some rounds, after one round for compilation."""
    work()
    times = []
    for _ in range(rounds):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return statistics.median(times)


def random_network(words: list[str], n_links: int) -> Network:
    """Return a network of `n_links` links between random words, about equally many for each word."""
    rng = np.random.default_rng(0)
    n = len(words)
    ends = np.sort(rng.integers(0, n, (2 * n_links, 2)), axis=1)
    ends = np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)
    ends = ends[np.sort(rng.permutation(len(ends))[:n_links])]
    both = np.concatenate([ends, ends[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    starts = np.concatenate([[0], np.cumsum(np.bincount(both[:, 0], minlength=n))])
    low, high = np.minimum(both[:, 0], both[:, 1]), np.maximum(both[:, 0], both[:, 1])
    weights = 0.1 + 0.2 * ((low * 7919 + high * 104729) % 1000) / 1000
    return Network(
        rows={word: row for row, word in enumerate(words)},
        words=tuple(words),
        starts=starts.astype(np.int64),
        neighbours=both[:, 1].astype(np.int32),
        weights=weights.astype(np.float32),
        significance=rng.random(n).astype(np.float32),
    )


@kernel
def anew(
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    neighbours: NDArray[np.int32],
    weights: NDArray[np.float32],
    significance: NDArray[np.float64],
    half: int,
    min_links: int,
) -> NDArray[np.float64]:
    """Return the cohesion curve with every window summed again."""
    n = len(rows)
    held = np.zeros(len(significance))
    links = np.zeros(len(significance), np.int32)
    sums = np.zeros(len(significance))
    curve = np.zeros(n)
    for x in range(n):
        low, high = max(0, x - half), min(n, x + half + 1)
        for j in range(low, high):
            held[rows[j]] += 1
        total = 0.0
        for j in range(low, high):
            row = rows[j]
            if held[row] > 0:  # once for each word
                for k in range(starts[row], starts[row + 1]):
                    sums[neighbours[k]] += held[row] * weights[k]
                    links[neighbours[k]] += 1
                total += significance[row] * held[row]
                held[row] = -held[row]
        for j in range(low, high):
            row = rows[j]
            for k in range(starts[row], starts[row + 1]):
                other = neighbours[k]
                if links[other] > 0:
                    if held[other] != 0 or links[other] >= min_links:
                        total += significance[other] * sums[other]
                    sums[other], links[other] = 0.0, 0
        for j in range(low, high):
            held[rows[j]] = 0
        curve[x] = total * (2 * half + 1) / (high - low)
    return curve


def anew_by_arrays(
    rows: NDArray[np.int64],
    network: Network,
    signif: NDArray[np.float64],
    half: int,
    min_links: int,
) -> NDArray[np.float64]:
    """Do the same with whole arrays, without compilation."""
    n, n_rows = len(rows), len(signif)
    curve = np.zeros(n)
    for x in range(n):
        low, high = max(0, x - half), min(n, x + half + 1)
        words, counts = np.unique(rows[low:high], return_counts=True)
        places = [np.arange(network.starts[w], network.starts[w + 1]) for w in words.tolist()]
        sizes = [len(p) for p in places]
        joined = np.concatenate(places)
        others = network.neighbours[joined]
        sums = np.bincount(others, network.weights[joined] * np.repeat(counts, sizes), n_rows)
        chosen = np.bincount(others, minlength=n_rows) >= min_links
        chosen[words] = True
        sums[words] += counts
        curve[x] = (signif * sums)[chosen].sum() * (2 * half + 1) / (high - low)
    return curve


def curve_speed(data: Path, n_links: int) -> None:
    """Compare the moving window with the one that is summed again."""
    body = " ".join(" ".join(lines(data, "fiction")[0]["sentences"]).split(" ")[:40_000])
    (annotation,) = annotated([body], "en")
    words = content(annotation)
    known = sorted(set(words))
    network = random_network(known + [f"word{i}" for i in range(10_000 - len(known))], n_links)
    lens = Lens()
    reading = read(words, network, lens)
    parts = (reading.rows, network.starts, network.neighbours, network.weights)
    slow = anew(*parts, reading.significance, lens.window // 2, lens.min_links)
    quick = cohesion_curve(reading, network, lens)
    assert np.allclose(slow, quick, atol=1e-9, rtol=1e-9)
    degree = float(np.diff(network.starts)[reading.rows].mean())
    moving = timed(lambda: cohesion_curve(reading, network, lens))
    from_nothing = timed(
        lambda: anew(*parts, reading.significance, lens.window // 2, lens.min_links), 3
    )
    some = slice(0, 1000)
    arrays = (reading.rows[some], network, reading.significance, lens.window // 2, lens.min_links)
    in_arrays = timed(lambda: anew_by_arrays(*arrays), 1) * len(words) / 1000
    document = Document("long", "", body, lang="en")
    # it remembers the words that it has read, as it does in a stream
    reading_time = timed(lambda: list(SimplemmaWords().annotate([document], Lexicon())))
    units = timed(lambda: list(Segcohlex().segment(annotation, network)))
    print(f"{len(network.neighbours) // 2} links, {len(words)} content words of {degree:.0f} links")
    print(f"  window that moves          {moving:8.3f} s")
    print(f"  summed up anew, compiled   {from_nothing:8.3f} s   {from_nothing / moving:.1f} times")
    print(f"  summed up anew, numpy      {in_arrays:8.3f} s   {in_arrays / moving:.1f} times")
    print(f"  annotating the same text   {reading_time:8.3f} s   {reading_time / moving:.1f} times")
    print(f"  segcohlex, all it does     {units:8.3f} s   {reading_time / units:.1f} times")


def speed(data: Path, n_words: int) -> None:
    """Print the seconds for texts of growing length; they should grow with the number of words."""
    text = " ".join(s for d in lines(data, "fiction")[:40] for s in d["sentences"]).split(" ")
    for n in (n_words, 2 * n_words, 4 * n_words):
        body = " ".join((text * (1 + n // len(text)))[:n])
        annotation: Annotation
        (annotation,) = annotated([body], "en")
        network = random_network(sorted(set(content(annotation))), 100_000)
        for segmenter in (Cohesion(), Segcohlex(), LexicalCohesionProfile()):
            seconds = timed(lambda s=segmenter, a=annotation, w=network: list(s.segment(a, w)), 1)  # type: ignore[misc]
            print(f"{n:9} words  {type(segmenter).__name__:24} {seconds:7.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument(
        "--data",
        default=os.environ.get(
            "SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"
        ),
    )
    parser.add_argument("--quick", action="store_true", help="a part of each set")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", default=(), help="only these segmenters"
    )
    parser.add_argument("--words", type=int, help="measure the speed on N words")
    parser.add_argument("--links", type=int, help="measure the curve on N links")
    args = parser.parse_args()
    unknown = set(args.sets) - set(SETS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))} (known: {', '.join(SETS)})")
    if args.links:
        curve_speed(Path(args.data), args.links)
    elif args.words:
        speed(Path(args.data), args.words)
    else:
        for name in args.sets or SETS:
            show(table(Path(args.data), Options(args.quick), name=name, only=args.only))


if __name__ == "__main__":
    main()
