"""How well segmenters find the boundaries that texts were given, beside baselines.

Each document is a list of sentences with the lengths of its segments. The sentences are joined by
blanks and the text is annotated and cut like any other; where a unit begins is then mapped to the
nearest sentence of the data set, and the scores count in those sentences: Pk and WindowDiff in
percent, less is better; the F of exact boundaries; segments found for one given. Each is the mean
over documents, the last one of totals.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from segapsith.catalogue import load_plugins
from segapsith.metrics import boundary_f1, pk, window_diff
from segapsith.model import Annotation, Network, Unit
from segapsith.reproduce import Options, Table
from segapsith.reproduce.data_sets import annotated, evenly, lang_of, lines, reference_network
from segapsith.reproduce.segmentation_baselines import (
    Cutter,
    Item,
    at_random,
    c99,
    every,
    nowhere,
    texttiling,
)

__all__ = ["REFERENCES", "Score", "by_plugin", "contenders", "items", "scored", "table", "tables"]

REFERENCES = {"en": ("reuters21578", "20ng"), "fr": ("orangesum-fr",)}
"""The corpora, by language, whose bodies teach the network and the word space."""

QUICK = 60
"""Documents of each part, when it should be quick."""

_CHOI = ("3-11", "3-5", "6-8", "9-11")
PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "choi": {
        "C99 (Choi 2000)": (13, 18, 10, 10),
        "U00 (Utiyama & Isahara 2001)": (11, 13, 6, 6),
    }
}
"""Pk in percent by part of the standard benchmark, the number of segments not given. Recalled from
the papers, not read again; their documents are twice ours, the odd-numbered ones as well."""


class Segmenting(Protocol):
    """A segmenter."""

    def segment(self, annotation: Annotation, network: Network) -> Iterable[Unit]: ...


def items(data: Path, name: str, most: int | None = None) -> Iterator[Item]:
    """The documents of a set, annotated; what choi has beyond the benchmark is a part `extra`."""
    found = lines(data, name)
    parts = ["extra" if d.get("set") == 4 else str(d.get("subset", "")) for d in found]
    of_part: dict[str, list[dict[str, Any]]] = {}
    for part, given in zip(parts, found, strict=True):
        of_part.setdefault(part, []).append(given)
    for part, documents in sorted(of_part.items()):
        chosen = evenly(documents, most or len(documents))
        texts = [" ".join(given["sentences"]) for given in chosen]
        for given, annotation in zip(chosen, annotated(texts, lang_of(name)), strict=True):
            lengths = [len(sentence) + 1 for sentence in given["sentences"]]
            yield Item(part, annotation, np.cumsum([0, *lengths[:-1]]), given["segments"])


def by_plugin(segmenter: Segmenting, network: Network) -> Cutter:
    """A segmenter on a network; a unit begins at the nearest sentence of the data set."""

    def cut(item: Item) -> list[int]:
        units = list(segmenter.segment(item.annotation, network))
        nearest = [int(np.abs(item.starts - unit.start).argmin()) for unit in units[1:]]
        return sorted(set(nearest) - {0})

    return cut


def contenders(documents: list[Item], network: Network | None) -> dict[str, Cutter]:
    """Everybody who takes part; without a network, those who need none."""
    make = load_plugins(only_own=True).make
    length = sum(len(d.starts) for d in documents) / sum(len(d.segments) for d in documents)
    found: dict[str, Cutter] = {"cohesion": by_plugin(make("segmenter", "cohesion"), Network())}
    if network is not None:
        found["cohesion + network"] = by_plugin(make("segmenter", "cohesion"), network)
        found["segcohlex"] = by_plugin(make("segmenter", "segcohlex"), network)
        printed = make("segmenter", "segcohlex", {"cut_at": "cohesion"})
        found["segcohlex, as published"] = by_plugin(printed, network)
        found["lcp"] = by_plugin(make("segmenter", "lcp"), network)
    return found | {
        "TextTiling": texttiling,
        "C99": c99,
        "no boundary": nowhere,
        "every k": every(length),
        "random": at_random(length),
    }


class Score(NamedTuple):
    """For each document Pk, WindowDiff and F; segments found and given; seconds."""

    values: list[tuple[float, float, float]]
    n_found: int
    n_given: int
    seconds: float

    def cells(self) -> tuple[float, float, float, float, float]:
        """Pk and WindowDiff in percent, F, segments found for one given, seconds."""
        pk_, diff, f1 = np.mean(self.values, axis=0).tolist()
        ratio = self.n_found / self.n_given
        return (*(round(100 * v, 1) for v in (pk_, diff)), round(f1, 2), round(ratio, 2),
                round(self.seconds, 1))  # fmt: skip

    def joined(self, other: Score) -> Score:
        return Score(
            self.values + other.values,
            self.n_found + other.n_found,
            self.n_given + other.n_given,
            self.seconds + other.seconds,
        )


def scored(cut: Cutter, documents: list[Item]) -> Score:
    """How near the cuts of a contender come to the given ones."""
    begin = time.process_time()
    found = [np.diff([0, *cut(item), len(item.starts)]) for item in documents]
    seconds = time.process_time() - begin
    values = [
        (pk(d.segments, h), window_diff(d.segments, h), boundary_f1(d.segments, h))
        for d, h in zip(documents, found, strict=True)
    ]
    n_given = sum(len(d.segments) for d in documents)
    return Score(values, sum(map(len, found)), n_given, seconds)


def table(
    data: Path,
    options: Options,
    *,
    name: str,
    network: Network | None = None,
    only: Iterable[str] = (),
) -> Table:
    """The contenders on one set, part by part; the network is learned here if none is given."""
    wanted, notes = set(only), []
    references = REFERENCES[lang_of(name)]
    if network is None and all((data / r).is_dir() for r in references):
        network = reference_network(data, references, options)
    elif network is None:
        notes.append(f"{' and '.join(references)} not found: nobody who needs a network took part")
    options.tell(f"reading {name}")
    documents = list(items(data, name, QUICK if options.quick else None))
    rows: list[tuple[str | float | None, ...]] = []
    totals: dict[str, Score] = {}
    for part, group in groupby(documents, key=lambda item: item.part):
        of_part = list(group)
        for who, cut in contenders(of_part, network).items():
            if wanted and who not in wanted:
                continue
            options.tell(f"{name} {part}: {who}")
            score = scored(cut, of_part)
            rows.append((name, part, who, *score.cells()))
            totals[who] = totals[who].joined(score) if who in totals else score
        rows += _published(name, part)
    if len({item.part for item in documents}) > 1:
        rows += [(name, "all", who, *score.cells()) for who, score in totals.items()]
    if network is not None:
        notes.append(
            f"network: {len(network.words)} words, {len(network.neighbours) // 2} links,"
            f" {network.vectors.shape[1]} axes, from the bodies of {' and '.join(references)}"
        )
    if name in PUBLISHED:
        notes.append(
            "printed figures: recalled from the papers, on the whole benchmark; ours are on its"
            " even-numbered half"
        )
    return Table(
        f"Segmentation of {name}: {len(documents)} documents",
        ["set", "part", "segmenter", "Pk", "WindowDiff", "F1", "found", "seconds"],
        rows,
        notes,
    )


def tables(data: Path, options: Options, *, names: Iterable[str]) -> Table:
    """The tables of several sets under each other; sets of one language share a network."""
    networks: dict[str, Network | None] = {}
    found = []
    for name in names:
        lang = lang_of(name)
        if lang not in networks:
            references = REFERENCES[lang]
            there = all((data / reference).is_dir() for reference in references)
            networks[lang] = reference_network(data, references, options) if there else None
        found.append(table(data, options, name=name, network=networks[lang]))
    notes = dict.fromkeys(note for one in found for note in one.notes)
    rows = [row for one in found for row in one.rows]
    return Table(f"Segmentation of {len(found)} sets", found[0].head, rows, list(notes))


def _published(name: str, part: str) -> Iterator[tuple[str | float | None, ...]]:
    """What was printed for a part."""
    found: Mapping[str, tuple[float, ...]] = PUBLISHED.get(name, {})
    for who, values in found.items():
        if part in _CHOI:
            yield (name, part, who, values[_CHOI.index(part)], None, None, None, None)
