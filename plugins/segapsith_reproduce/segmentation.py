"""How well segmenters find the boundaries that texts were given, beside baselines.

Each document is a list of sentences with the lengths of its segments. The sentences are joined by
blanks and the text is annotated and cut like any other; where a unit begins is then mapped to the
nearest sentence of the data set, and the scores count in those sentences: Pk and WindowDiff in
percent, less is better; the F of exact boundaries; segments found for one given. Each is the mean
over documents, the last one of totals.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

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
    "Score",
    "Taught",
    "by_plugin",
    "contenders",
    "items",
    "scored",
    "table",
    "tables",
    "taught",
]

Row = tuple[str | int | float | None, ...]

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


def items(
    data: Path, name: str, most: int | None = None, lexicon: Lexicon | None = None
) -> Iterator[Item]:
    """The documents of a set, annotated; what choi has beyond the benchmark is a part `extra`."""
    found = lines(data, name)
    parts = ["extra" if d.get("set") == 4 else str(d.get("subset", "")) for d in found]
    of_part: dict[str, list[dict[str, Any]]] = {}
    for part, given in zip(parts, found, strict=True):
        of_part.setdefault(part, []).append(given)
    for part, documents in sorted(of_part.items()):
        chosen = evenly(documents, most or len(documents))
        texts = [" ".join(given["sentences"]) for given in chosen]
        for given, annotation in zip(chosen, annotated(texts, lang_of(name), lexicon), strict=True):
            lengths = [len(sentence) + 1 for sentence in given["sentences"]]
            yield Item(part, annotation, np.cumsum([0, *lengths[:-1]]), given["segments"])


def by_plugin(segmenter: Segmenting, network: Network) -> Cutter:
    """A segmenter on a network; a unit begins at the nearest sentence of the data set."""

    def cut(item: Item) -> list[int]:
        units = list(segmenter.segment(item.annotation, network))
        nearest = [int(np.abs(item.starts - unit.start).argmin()) for unit in units[1:]]
        return sorted(set(nearest) - {0})

    return cut


class Taught(NamedTuple):
    """What a language is read with: terms and network, and where they come from."""

    lexicon: Lexicon
    network: Network
    origin: str

    def note(self) -> str:
        found = self.network
        return (
            f"network: {len(found.rows)} words, {len(found.neighbours) // 2} links,"
            f" {found.vectors.shape[1]} axes, {self.origin}"
        )


def taught(data: Path, lang: str, options: Options) -> Taught | None:
    """What the store of the options has learned, or reference corpora teach; None without any."""
    if options.store is not None:
        found = learned(str(options.store), lang)
        return Taught(*found, f"of the store {options.store.name}")
    names = REFERENCES[lang]
    if not all((data / name).is_dir() for name in names):
        return None
    network = reference_network(data, names, options)
    return Taught(Lexicon(), network, f"from the bodies of {' and '.join(names)}")


def contenders(
    documents: list[Item], read: list[Item], network: Network | None
) -> Iterator[tuple[str, Cutter, list[Item]]]:
    """Everybody who takes part, and what they are given: the documents, or with a network the
    documents as read with its terms. Without one, those who need none."""
    make = load_plugins(only_own=True).make
    length = sum(len(d.starts) for d in documents) / sum(len(d.segments) for d in documents)
    yield "cohesion", by_plugin(make("segmenter", "cohesion"), Network()), documents
    if network is not None:
        printed = make("segmenter", "segcohlex", {"cut_at": "cohesion"})
        for name, segmenter in {
            "cohesion + network": make("segmenter", "cohesion"),
            "segcohlex": make("segmenter", "segcohlex"),
            "segcohlex, as published": printed,
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
    """For each document Pk, WindowDiff and F; segments found and given; seconds."""

    values: list[tuple[float, float, float]]
    n_found: int
    n_given: int
    seconds: float

    def cells(self) -> tuple[float, float, float, float, float, int]:
        """Pk and WindowDiff in percent, F, segments found for one given, seconds, documents."""
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


def table(data: Path, options: Options, *, name: str, only: Iterable[str] = ()) -> Table:
    """The contenders, or only some of them, on one set, part by part."""
    return tables(data, options, names=[name], only=only)


def tables(
    data: Path, options: Options, *, names: Sequence[str], only: Iterable[str] = ()
) -> Table:
    """The tables of several sets under each other; sets of one language share a network."""
    wanted = frozenset(only)
    languages: dict[str, Taught | None] = {}
    rows: list[Row] = []
    notes: list[str] = []
    for name in names:
        lang = lang_of(name)
        if lang not in languages:
            languages[lang] = taught(data, lang, options)
            if (found := languages[lang]) is not None:
                notes.append(found.note())
            else:
                absent = " and ".join(REFERENCES[lang])
                notes.append(f"{absent} not found: nobody who needs a network took part")
        rows += _rows(data, options, name, languages[lang], wanted)
    if set(names) & set(PUBLISHED):
        notes.append(
            "printed figures: recalled from the papers, on the whole benchmark; ours are on its"
            " even-numbered half"
        )
    what = names[0] if len(names) == 1 else f"{len(names)} sets"
    head = ["set", "part", "segmenter", "Pk", "WindowDiff", "F1", "found", "seconds", "documents"]
    return Table(f"Segmentation of {what}", head, rows, notes)


def _rows(
    data: Path, options: Options, name: str, known: Taught | None, wanted: frozenset[str]
) -> Iterator[Row]:
    """The contenders on one set, part by part."""
    options.tell(f"reading {name}")
    most = QUICK if options.quick else None
    documents = list(items(data, name, most))
    terms = known is not None and len(known.lexicon.terms) > 0
    read = list(items(data, name, most, known.lexicon)) if known and terms else documents
    totals: dict[str, Score] = {}
    for part, group in groupby(zip(documents, read, strict=True), key=lambda pair: pair[0].part):
        of_part, as_read = map(list, zip(*group, strict=True))
        network = known.network if known is not None else None
        for who, cut, given in contenders(of_part, as_read, network):
            if wanted and who not in wanted:
                continue
            options.tell(f"{name} {part}: {who}")
            score = scored(cut, given)
            yield (name, part, who, *score.cells())
            totals[who] = totals[who].joined(score) if who in totals else score
        yield from _published(name, part)
    if len({item.part for item in documents}) > 1:
        for who, score in totals.items():
            yield (name, "all", who, *score.cells())


def _published(name: str, part: str) -> Iterator[Row]:
    """What was printed for a part."""
    found: Mapping[str, tuple[float, ...]] = PUBLISHED.get(name, {})
    for who, values in found.items():
        if part in _CHOI:
            yield (name, part, who, values[_CHOI.index(part)], *[None] * 5)
