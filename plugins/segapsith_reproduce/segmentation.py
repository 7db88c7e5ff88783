"""Scores of segmenters on texts with given boundaries, and of baselines.

Each document is a list of sentences with the lengths of its segments. The sentences are joined by
spaces, and the text is annotated and segmented like any other. The start of each unit is mapped to
the nearest sentence of the data set. The scores are Pk and WindowDiff in percent (smaller is
better), F of exact boundaries, and the number of segments per given segment. The first three are
means over documents, the last is a ratio of totals.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from segapsith import progress
from segapsith.api.segmentation import learned
from segapsith.evaluation.metrics import boundary_f1, pk, window_diff
from segapsith.model import Annotation, Lexicon, Network, Unit
from segapsith.plugin.registry import load_plugins
from segapsith_reproduce import Options, Table
from segapsith_reproduce.data_sets import annotated, evenly, lang_of, lines, reference_network
from segapsith_reproduce.segmentation_baselines import (
    Cutter,
    Item,
    at_random,
    c99,
    every,
    nowhere,
    texttiling,
)

__all__ = [
    "REFERENCES",
    "Resources",
    "Score",
    "by_plugin",
    "contenders",
    "items",
    "load_resources",
    "scored",
    "table",
    "tables",
]

Row = tuple[str | int | float | None, ...]

REFERENCES = {"en": ("reuters21578", "20ng"), "fr": ("orangesum-fr",)}
"""The corpora, by language, that the network and the word vectors are learned from."""

QUICK = 60
"""Number of documents of each part with `options.quick`."""


class Segmenting(Protocol):
    """What a contender must implement."""

    def segment(self, annotation: Annotation, network: Network) -> Iterable[Unit]: ...


def items(
    data: Path, name: str, limit: int | None = None, lexicon: Lexicon | None = None
) -> Iterator[Item]:
    """Yield the annotated documents of a set; those of choi beyond the benchmark are `extra`."""
    listed = lines(data, name)
    parts = ["extra" if d.get("set") == 4 else str(d.get("subset", "")) for d in listed]
    of_part: dict[str, list[dict[str, Any]]] = {}
    for part, document in zip(parts, listed, strict=True):
        of_part.setdefault(part, []).append(document)
    for part, documents in sorted(of_part.items()):
        sample = evenly(documents, limit or len(documents))
        texts = [" ".join(document["sentences"]) for document in sample]
        annotations = annotated(texts, lang_of(name), lexicon)
        for document, annotation in zip(sample, annotations, strict=True):
            lengths = [len(sentence) + 1 for sentence in document["sentences"]]
            starts = np.cumsum([0, *lengths[:-1]])
            yield Item(part, annotation, starts, document["segments"])


def by_plugin(segmenter: Segmenting, network: Network) -> Cutter:
    """Return a cutter that runs a segmenter; a unit starts at the nearest sentence of the data set."""

    def cut(item: Item) -> list[int]:
        units = list(segmenter.segment(item.annotation, network))
        nearest = [int(np.abs(item.starts - unit.start).argmin()) for unit in units[1:]]
        return sorted(set(nearest) - {0})

    return cut


class Resources(NamedTuple):
    """The terms and the network of a language, and where they come from."""

    lexicon: Lexicon
    network: Network
    origin: str

    def note(self) -> str:
        network = self.network
        return (
            f"network: {len(network.rows)} words, {len(network.neighbours) // 2} links,"
            f" {network.vectors.shape[1]} dimensions, {self.origin}"
        )


def load_resources(data: Path, lang: str, options: Options) -> Resources | None:
    """Return what the store of the options has learned, or what is learned from the reference
    corpora; None without either."""
    if options.store is not None:
        return Resources(*learned(str(options.store), lang), f"of the store {options.store.name}")
    names = REFERENCES[lang]
    if not all((data / name).is_dir() for name in names):
        return None
    network = reference_network(data, names, options)
    return Resources(Lexicon(), network, f"from the bodies of {' and '.join(names)}")


def contenders(
    documents: list[Item], read: list[Item], network: Network | None
) -> Iterator[tuple[str, Cutter, list[Item]]]:
    """Yield the name, the cutter and the documents of each contender.

    `read` are the documents annotated with the terms of the network, for the contenders that use
    it. Without a network these are left out.
    """
    make = load_plugins(only_own=True).make
    length = sum(len(d.starts) for d in documents) / sum(len(d.segments) for d in documents)
    yield "cohesion", by_plugin(make("segmenter", "cohesion"), Network()), documents
    if network is not None:
        as_published = make("segmenter", "segcohlex", {"cut_at": "cohesion"})
        for name, segmenter in {
            "cohesion + network": make("segmenter", "cohesion"),
            "segcohlex": make("segmenter", "segcohlex"),
            "segcohlex, as published": as_published,
            "lcp": make("segmenter", "lcp"),
        }.items():
            yield name, by_plugin(segmenter, network), read
    others: dict[str, Cutter] = {
        "TextTiling": texttiling,
        "C99": c99,
        "no boundary": nowhere,
        "every k": every(length),
        "random": at_random(length),
    }
    for name, cut in others.items():
        yield name, cut, documents


class Score(NamedTuple):
    """Pk, WindowDiff and F of each document; numbers of segments; seconds."""

    values: list[tuple[float, float, float]]
    n_found: int
    n_given: int
    seconds: float

    def cells(self) -> tuple[float, float, float, float, float, int]:
        """Return Pk and WindowDiff in percent, F, segments per given segment, seconds, documents."""
        pk_, diff, f1 = np.mean(self.values, axis=0).tolist()
        ratio = self.n_found / self.n_given
        return (*(round(100 * v, 1) for v in (pk_, diff)), round(f1, 2), round(ratio, 2),
                round(self.seconds, 1), len(self.values))  # fmt: skip

    def joined(self, other: Score) -> Score:
        return Score(
            self.values + other.values,
            self.n_found + other.n_found,
            self.n_given + other.n_given,
            self.seconds + other.seconds,
        )


def scored(cut: Cutter, documents: list[Item]) -> Score:
    """Return the scores of a contender on some documents."""
    begin = time.process_time()
    segments = [np.diff([0, *cut(item), len(item.starts)]) for item in documents]
    seconds = time.process_time() - begin
    values = [
        (pk(d.segments, h), window_diff(d.segments, h), boundary_f1(d.segments, h))
        for d, h in zip(documents, segments, strict=True)
    ]
    n_given = sum(len(d.segments) for d in documents)
    return Score(values, sum(map(len, segments)), n_given, seconds)


def table(data: Path, options: Options, *, name: str, only: Iterable[str] = ()) -> Table:
    """Return the scores of the contenders, or of `only` some, on each part of one set."""
    return tables(data, options, names=[name], only=only)


def tables(
    data: Path, options: Options, *, names: Sequence[str], only: Iterable[str] = ()
) -> Table:
    """Return the scores on several sets; sets of one language share a network."""
    names_only = frozenset(only)
    languages: dict[str, Resources | None] = {}
    rows: list[Row] = []
    notes: list[str] = []
    for name in progress.steps(list(names)):
        lang = lang_of(name)
        if lang not in languages:
            languages[lang] = load_resources(data, lang, options)
            if (resources := languages[lang]) is not None:
                notes.append(resources.note())
            else:
                absent = " and ".join(REFERENCES[lang])
                notes.append(f"{absent} not found: segmenters that need a network are left out")
        rows += _rows(data, options, name, languages[lang], names_only)
    what = names[0] if len(names) == 1 else f"{len(names)} sets"
    head = ["set", "part", "segmenter", "Pk", "WindowDiff", "F1", "found", "seconds", "documents"]
    return Table(f"Segmentation of {what}", head, rows, notes)


def _rows(
    data: Path, options: Options, name: str, resources: Resources | None, only: frozenset[str]
) -> Iterator[Row]:
    """Yield the scores of the contenders on each part of one set."""
    options.tell(f"reading {name}")
    limit = QUICK if options.quick else None
    documents = list(items(data, name, limit))
    read = documents
    if resources is not None and resources.lexicon.terms:
        read = list(items(data, name, limit, resources.lexicon))
    totals: dict[str, Score] = {}
    for part, group in groupby(zip(documents, read, strict=True), key=lambda pair: pair[0].part):
        of_part, as_read = map(list, zip(*group, strict=True))
        network = None if resources is None else resources.network
        for who, cut, given in contenders(of_part, as_read, network):
            if only and who not in only:
                continue
            options.tell(f"{name} {part}: {who}")
            score = scored(cut, given)
            yield (name, part, who, *score.cells())
            totals[who] = totals[who].joined(score) if who in totals else score
    if len({item.part for item in documents}) > 1:
        for who, score in totals.items():
            yield (name, "all", who, *score.cells())
