"""How well segmenters find the boundaries that texts were given, side by side with baselines.

    python scripts/bench_segmenters.py [SET…] [--data DIR] [--limit N] [--space CORPUS…]
                                       [--only NAME…] [--words N]

Each document is a list of sentences with the lengths of its segments. The sentences are joined
by blanks and the text is annotated and cut like any other; where a unit begins is then mapped to
the nearest sentence of the data set, and the scores count in those sentences. Pk and WindowDiff
(in percent, less is better), the F of exact boundaries, and segments found for one given, each
the mean over documents (the last, of totals). `--limit` takes documents evenly from a set.

`--space` learns a word space from the bodies of other corpora (`--space reuters21578 20ng`) and
adds `cohesion+space`. `--words N` times `cohesion` on N, 2 N and 4 N words instead.

The baselines are written after their papers: TextTiling (Hearst 1997; blocks of w = 20 words,
k = 6, cut-off mean - sd/2) and C99 (Choi 2000; mask of 11, stop at mean + 1.2 sd of the gain,
divisive without the number of segments). `no boundary`, `every k` and `random` know the mean
length of the segments of their set, which the others do not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.metrics import boundary_f1, pk, window_diff
from segapsith.model import Annotation, Document, Lexicon, Network
from segapsith_plugins.cohesion import Cohesion, WordSpace, learn_space
from segapsith_plugins.simplemma_words import SimplemmaWords

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


class Item(NamedTuple):
    """A document with where its sentences begin and the lengths of its segments in sentences."""

    part: str
    annotation: Annotation
    starts: NDArray[np.int64]
    segments: list[int]


Cutter = Callable[[Item], list[int]]
"""Gives the sentences of the data set before which a text is cut."""


def lang_of(name: str) -> str:
    return "fr" if name.endswith("-fr") else "en"


def read(data: Path, name: str) -> list[dict[str, Any]]:
    with gzip.open(data / name / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def items(data: Path, name: str, limit: int | None) -> Iterator[Item]:
    """The documents of a set, annotated; the parts of choi with the extra set kept apart."""
    found = read(data, name)
    if limit and limit < len(found):
        found = [found[i] for i in np.linspace(0, len(found) - 1, limit).astype(int)]
    lang = lang_of(name)
    texts = [Document(str(d["id"]), "", " ".join(d["sentences"]), lang=lang) for d in found]
    for given, annotation in zip(found, SimplemmaWords().annotate(texts, Lexicon()), strict=True):
        lengths = [len(sentence) + 1 for sentence in given["sentences"]]
        part = "extra" if given.get("set") == 4 else str(given.get("subset", ""))
        yield Item(part, annotation, np.cumsum([0, *lengths[:-1]]), given["segments"])


def space_of(data: Path, names: list[str], lang: str) -> WordSpace:
    """The word space of the bodies of some corpora."""
    bodies = [
        Document(str(d["id"]), "", d.get("text") or "", lang=lang)
        for name in names
        for d in read(data, name)
    ]
    return learn_space(SimplemmaWords().annotate(bodies, Lexicon()))


# --- the contenders ----------------------------------------------------------------------


def by_plugin(segmenter: Cohesion) -> Cutter:
    def cut(item: Item) -> list[int]:
        units = list(segmenter.segment(item.annotation, Network()))
        nearest = [int(np.abs(item.starts - unit.start).argmin()) for unit in units[1:]]
        return sorted(set(nearest) - {0})

    return cut


def sentence_counts(item: Item) -> NDArray[np.float64]:
    """Sentences of the data set by content words."""
    numbers: dict[str, int] = {}
    chosen = np.flatnonzero(item.annotation.content).tolist()
    lemmas = item.annotation.lemmas
    columns = [numbers.setdefault(lemmas[i], len(numbers)) for i in chosen]
    places = item.annotation.spans[chosen, 0]
    rows = np.searchsorted(item.starts, places, side="right") - 1
    counts = np.zeros((len(item.starts), max(len(numbers), 1)))
    np.add.at(counts, (rows, np.array(columns, int)), 1)
    return counts


def texttiling(item: Item, width: int = 20, size: int = 6, rounds: int = 1) -> list[int]:
    """Hearst (1997): cosine of blocks of token sequences, depth of the valleys."""
    annotation = item.annotation
    n_tokens = len(annotation.lemmas)
    n = n_tokens // width
    if n < 2 * size:
        size = max(1, n // 4)
    if n < 3:
        return []
    numbers: dict[str, int] = {}
    counts = np.zeros((n + 1, len(set(annotation.lemmas))))
    for i in np.flatnonzero(annotation.content).tolist():
        counts[i // width, numbers.setdefault(annotation.lemmas[i], len(numbers))] += 1
    sums = np.vstack([np.zeros(counts.shape[1]), counts[:n].cumsum(axis=0)])
    gaps = np.arange(1, n)
    left = sums[gaps] - sums[np.maximum(gaps - size, 0)]
    right = sums[np.minimum(gaps + size, n)] - sums[gaps]
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    curve = (left * right).sum(axis=1) / np.maximum(norms, 1e-12)
    for _ in range(rounds):
        padded = np.pad(curve, 1, mode="edge")
        curve = (padded[:-2] + padded[1:-1] + padded[2:]) / 3
    depths = np.zeros(len(curve))
    for g in range(len(curve)):
        i = g
        while i > 0 and curve[i - 1] >= curve[i]:
            i -= 1
        j = g
        while j < len(curve) - 1 and curve[j + 1] >= curve[j]:
            j += 1
        depths[g] = curve[i] + curve[j] - 2 * curve[g]
    bar = depths.mean() - depths.std() / 2
    cuts: list[int] = []
    for g in np.argsort(-depths, kind="stable").tolist():
        if depths[g] > bar and all(abs(g - other) > 3 for other in cuts):
            cuts.append(g)
    places = annotation.spans[(np.array(cuts, int) + 1) * width, 0]
    return sorted({int(np.abs(item.starts - place).argmin()) for place in places} - {0})


def c99(item: Item, mask: int = 11) -> list[int]:
    """Choi (2000): ranks of cosines among their neighbours, divisive clustering by density."""
    counts = sentence_counts(item)
    lengths = np.linalg.norm(counts, axis=1)
    rows = counts / np.maximum(lengths, 1e-12)[:, None]
    similar = rows @ rows.T
    n, half = len(similar), mask // 2
    less, seen = np.zeros((n, n)), np.zeros((n, n))
    for down in range(-half, half + 1):
        for across in range(-half, half + 1):
            if down == across == 0:
                continue
            here = np.s_[max(0, -down) : n - max(0, down), max(0, -across) : n - max(0, across)]
            there = np.s_[max(0, down) : n - max(0, -down), max(0, across) : n - max(0, -across)]
            less[here] += similar[there] < similar[here]
            seen[here] += 1
    ranks = less / np.maximum(seen, 1)
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = ranks.cumsum(axis=0).cumsum(axis=1)

    def inside(i: NDArray[Any] | int, j: NDArray[Any] | int) -> NDArray[np.float64]:
        return np.asarray(sums[j, j] - sums[i, j] - sums[j, i] + sums[i, i])

    cuts = [0, n]
    mass, area = float(inside(0, n)), float(n * n)
    densities = [mass / area]
    order: list[int] = []
    while len(cuts) - 1 < min(n, 100):  # it stops long before, and the rest is slow
        choice: tuple[float, float, float, int] | None = None
        for i, j in pairwise(cuts):
            if j - i < 2:
                continue
            middle = np.arange(i + 1, j)
            new_mass = mass - inside(i, j) + inside(i, middle) + inside(middle, j)
            new_area = area - (j - i) ** 2 + (middle - i) ** 2 + (j - middle) ** 2
            at = int((new_mass / new_area).argmax())
            found = (float(new_mass[at] / new_area[at]), float(new_mass[at]), float(new_area[at]))
            if choice is None or found[0] > choice[0]:
                choice = (*found, int(middle[at]))
        assert choice is not None
        mass, area = choice[1], choice[2]
        densities.append(choice[0])
        order.append(choice[3])
        cuts = sorted([*cuts, choice[3]])
    gains = np.diff(densities)
    if not len(gains):
        return []
    padded = np.pad(gains, 2, mode="edge")
    smooth = np.convolve(padded, [1 / 8, 2 / 8, 2 / 8, 2 / 8, 1 / 8], mode="valid")
    bar = smooth.mean() + 1.2 * smooth.std()
    n_cuts = 0
    while n_cuts < len(smooth) and smooth[n_cuts] > bar:
        n_cuts += 1
    return sorted(order[:n_cuts])


def every(length: float) -> Cutter:
    def cut(item: Item) -> list[int]:
        n = len(item.starts)
        return sorted({round(k * length) for k in range(1, int(n / length) + 1)} - {0, n})

    return cut


def at_random(length: float) -> Cutter:
    rng = np.random.default_rng(0)

    def cut(item: Item) -> list[int]:
        return [i for i in range(1, len(item.starts)) if rng.random() < 1 / length]

    return cut


# --- the table ---------------------------------------------------------------------------


class Score(NamedTuple):
    """For each document Pk, WindowDiff and F; segments found and given; seconds."""

    values: list[tuple[float, float, float]]
    n_found: int
    n_given: int
    seconds: float

    def __str__(self) -> str:
        pk_, diff, f1 = np.mean(self.values, axis=0).tolist()
        ratio = self.n_found / self.n_given
        return f"{100 * pk_:7.1f}{100 * diff:7.1f}{f1:7.2f}{ratio:9.2f}{self.seconds:9.1f}"

    def joined(self, other: Score) -> Score:
        return Score(
            self.values + other.values,
            self.n_found + other.n_found,
            self.n_given + other.n_given,
            self.seconds + other.seconds,
        )


def scored(cut: Cutter, documents: list[Item]) -> Score:
    begin = time.process_time()
    found = [np.diff([0, *cut(item), len(item.starts)]) for item in documents]
    seconds = time.process_time() - begin
    values = [
        (pk(d.segments, h), window_diff(d.segments, h), boundary_f1(d.segments, h))
        for d, h in zip(documents, found, strict=True)
    ]
    n_given = sum(len(d.segments) for d in documents)
    return Score(values, sum(map(len, found)), n_given, seconds)


def table(data: Path, args: argparse.Namespace) -> None:
    spaces: dict[str, WordSpace] = {}
    if args.space:
        for lang in ("en", "fr"):
            names = [name for name in args.space if lang_of(name) == lang]
            if names:
                spaces[lang] = space_of(data, names, lang)
                print(f"space {lang}: {len(spaces[lang].rows)} words from {', '.join(names)}")
    print(f"{'set':24}{'part':11}{'segmenter':16}     Pk     WD     F1    found  seconds")
    for name in args.sets or SETS:
        totals: dict[str, Score] = {}
        documents = sorted(items(data, name, args.limit), key=lambda item: item.part)
        for part, group in groupby(documents, key=lambda item: item.part):
            of_part = list(group)
            length = sum(len(d.starts) for d in of_part) / sum(len(d.segments) for d in of_part)
            contenders: dict[str, Cutter] = {"cohesion": by_plugin(Cohesion())}
            if lang_of(name) in spaces:
                with_space = Cohesion(space=spaces[lang_of(name)])
                contenders["cohesion+space"] = by_plugin(with_space)
            contenders |= {
                "texttiling": texttiling,
                "c99": c99,
                "no boundary": lambda item: [],
                "every k": every(length),
                "random": at_random(length),
            }
            for who, cut in contenders.items():
                if not args.only or who in args.only:
                    score = scored(cut, of_part)
                    print(f"{name:24}{part:11}{who:16}{score}", flush=True)
                    totals[who] = totals[who].joined(score) if who in totals else score
        if len({item.part for item in documents}) > 1:
            for who, score in totals.items():
                print(f"{name:24}{'all':11}{who:16}{score}", flush=True)


def speed(data: Path, n_words: int) -> None:
    """Seconds for texts of growing length: twice the words should take twice the time."""
    text = " ".join(s for d in read(data, "fiction")[:40] for s in d["sentences"]).split(" ")
    for n in (n_words, 2 * n_words, 4 * n_words):
        body = " ".join((text * (1 + n // len(text)))[:n])
        (annotation,) = SimplemmaWords().annotate(
            [Document("long", "", body, lang="en")], Lexicon()
        )
        for _ in range(2):  # the first call may have to compile
            begin = time.process_time()
            units = list(Cohesion().segment(annotation, Network()))
            seconds = time.process_time() - begin
        print(f"{n:9} words  {len(units):6} units  {seconds:7.2f} s  {n / seconds:11,.0f} words/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(SETS))
    parser.add_argument(
        "--data",
        default=os.environ.get(
            "SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"
        ),
    )
    parser.add_argument("--limit", type=int, help="documents of each set")
    parser.add_argument(
        "--space", nargs="+", metavar="CORPUS", help="learn a word space from these"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these segmenters alone")
    parser.add_argument("--words", type=int, help="measure the speed on so many words")
    args = parser.parse_args()
    unknown = set(args.sets) - set(SETS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))} (known: {', '.join(SETS)})")
    if args.words:
        speed(Path(args.data), args.words)
    else:
        table(Path(args.data), args)


if __name__ == "__main__":
    main()
