"""Every level of labelled streams, beside other clusterings of the same words.

Every set is ingested with the default settings, in memory. The group of a document is that of most
of its words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from segapsith import progress
from segapsith.api.wire import Wire
from segapsith.arrays import Labels
from segapsith.errors import MissingInputError
from segapsith.io.count_matrices import count_matrix
from segapsith.model import Document
from segapsith_reproduce import Options, Table
from segapsith_reproduce.cells import Results
from segapsith_reproduce.streams import embedding_rivals
from segapsith_reproduce.streams import rivals as others
from segapsith_reproduce.streams.id_survival import NIGHTS, STABLE, id_survival
from segapsith_reproduce.streams.labelled import LabelledStream, half_of, learn, stream_documents
from segapsith_reproduce.streams.scores import (
    FALSE_ALARM_COST,
    MISS_COST,
    TARGET_SHARE,
    WINDOW,
    PartitionScores,
    detection_cost,
    partition_scores,
    window_scores,
)
from segapsith_reproduce.streams.single_pass import SinglePass

__all__ = ["STREAMS", "order", "streaming"]

Cell: TypeAlias = str | int | float | None

STREAMS = (
    "tdt2",
    "mstream-news title",
    "mstream-news text",
    "bbc-news",
    "reuters21578",
    "ecbplus",
    "wikipedia-current-events",
    "uci-news-aggregator",
    "basil",
    "ag-news-test",
)
"""Sets of the table; those that are missing are left out."""

THRESHOLDS = (0.03, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
"""Thresholds of the single pass."""

ONE_THRESHOLD = 0.09
"""The threshold of the single pass that is best on tdt2."""

MARGIN = 0.02
"""Difference of F1 up to which a level is as good as the tuned single pass."""

HEAD = (
    "stream", "system", "groups", "P", "R", "F1", "NMI", "AMI", "ARI",
    "w F1", "w AMI", "w ARI", "C_det", "ids",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Row:
    """A system on a stream."""

    system: str
    labels: Labels
    scores: PartitionScores


class _Stream:
    """A stream of the table; it is learned when a figure of it is not stored yet."""

    def __init__(self, data: Path, name: str, options: Options) -> None:
        self.name, self.options = name, options
        self._data = data

    def tell(self, what: str) -> None:
        self.options.tell(f"{self.name}: {what} …")

    @cached_property
    def documents(self) -> Sequence[Document]:
        return stream_documents(self._data, self.name, quick=self.options.quick)

    @cached_property
    def learned(self) -> LabelledStream:
        self.tell("learning")
        stream = _half(learn(self.documents)[0], self.options.half)
        if not stream.classes:
            raise MissingInputError(f"{self.name}: no document with a label in this half")
        return stream

    @cached_property
    def texts(self) -> tuple[list[int], list[str]]:
        """Learned documents with their texts; both are empty for bags of words."""
        numbers = list(dict.fromkeys(unit.document for unit in self.learned.units))
        texts = [self.learned.texts[number] for number in numbers]
        return (numbers, texts) if any(texts) else ([], [])

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        self.tell("embedding")
        return embedding_rivals.embed(self.texts[1])

    def row(self, system: str, labels: Labels) -> _Row:
        return _Row(system, labels, partition_scores(labels, self.learned.classes))

    def row_of(self, system: str, groups: Mapping[int, int]) -> _Row:
        """Return the row of a system that groups learned documents."""
        return self.row(system, self.learned.labels(groups))


def streaming(data: Path, options: Options) -> Table:
    """Return all levels of all streams, the best level, and the rivals."""
    names = options.sets or tuple(n for n in STREAMS if (data / n.partition(" ")[0]).is_dir())
    if not names:
        raise MissingInputError(f"{data} has none of the sets {', '.join(STREAMS)}")
    results: Results[list[list[Cell]]] = Results(options.results, options.tell)
    parts_of: dict[str, dict[str, list[list[Cell]]]] = {}
    for name in progress.steps(list(names)):
        stream = _Stream(data, name, options)
        extent = "quick" if options.quick else "whole"
        key = ("streaming", name, extent, options.half or "both", options.seed)
        parts_of[name] = {
            part: results.get((*key, part), partial(_computed, stream, rows))
            for part, rows in _available().items()
        }
    if not options.quick:  # the nights take longest and come last
        for name, parts in parts_of.items():
            stream = _Stream(data, name, options)
            survival = results.get(("streaming", name, "nights"), partial(_survival, stream))
            parts["levels"] = _with_survival(parts["levels"], survival)
    table = [row for parts in parts_of.values() for rows in parts.values() for row in rows]
    gains = {
        name: round(_f1(parts["levels"]) - _f1(parts["single pass"]), 3)
        for name, parts in parts_of.items()
    }
    return Table(
        "Streams learned once, default settings",
        HEAD,
        table,
        [
            _verdict(gains),
            *_notes(options),
        ],
    )


def _available() -> dict[str, Callable[[_Stream], Iterator[_Row]]]:
    """Return the parts of the table whose packages are installed, in their order."""
    parts = {
        "levels": (_levels, True),
        "single pass": (_single_passes, True),
        "Louvain": (_louvain, others.has_louvain()),
        "k-means": (_k_means, True),
        "MiniLM": (_embedding_pass, embedding_rivals.has_embeddings()),
        "BERTopic": (_bertopic, embedding_rivals.has_bertopic()),
    }
    return {part: rows for part, (rows, installed) in parts.items() if installed}


def _computed(stream: _Stream, rows: Callable[[_Stream], Iterator[_Row]]) -> list[list[Cell]]:
    return [_cells(stream.name, stream.learned, row) for row in rows(stream)]


def _survival(stream: _Stream) -> list[list[Cell]]:
    """Return for each level how many ids survive the nights."""
    stream.tell(f"{NIGHTS} nights")
    shares = id_survival(stream.documents)
    return [[n, None if of is None else round(of, 3)] for n, of in shares.items()]


def _with_survival(
    levels: Sequence[Sequence[Cell]], survival: Sequence[Sequence[Cell]]
) -> list[list[Cell]]:
    """Return the rows of levels with the last column filled in."""
    share_of = {str(name): share for name, share in survival}
    return [[*row[:-1], share_of.get(str(row[1]).removeprefix("best: "))] for row in levels]


def _f1(rows: Sequence[Sequence[Cell]]) -> float:
    """Return F1 of the last row of a part."""
    value = rows[-1][HEAD.index("F1")]
    assert isinstance(value, float)
    return value


def _verdict(gains: Mapping[str, float]) -> str:
    """Return on how many sets the best level is as good as the tuned single pass.

    >>> _verdict({"a": 0.1, "b": -0.3})
    'best level at least as good as tuned (F1, -0.02): 1 of 2: a +0.100, b -0.300'
    """
    n_as_good = sum(gain >= -MARGIN for gain in gains.values())
    each = ", ".join(f"{name} {gain:+.3f}" for name, gain in gains.items())
    return (
        f"best level at least as good as tuned (F1, -{MARGIN}): {n_as_good} of {len(gains)}: {each}"
    )


def _notes(options: Options) -> Iterator[str]:
    if options.half:
        yield f"scores over the {options.half} half of the labels, by a hash of the id"
    yield "P, R, F1 are B-cubed over documents; a text counts for the group of most of its words"
    yield (
        f"w: means over windows of {WINDOW} days, one day apart; streams without dates have none"
    )
    yield (
        "C_det: cost of first-story detection, less is better; C_miss"
        f" {MISS_COST:g}, C_fa {FALSE_ALARM_COST:g}, P_target {TARGET_SHARE:g}, normalised;"
        " a document is reported if it is the first of its group"
    )
    yield (
        f"ids: share of the groups of {STABLE} documents in {NIGHTS} nights that have their number"
        " and most of their documents after the last night"
    )
    yield (
        f"single: single pass with one threshold, {ONE_THRESHOLD}, which is best on tdt2;"
        f" tuned: with the best of {len(THRESHOLDS)} on the labels of the stream"
    )
    yield (
        f"Louvain: communities of the {others.LOUVAIN_WINDOW} last days, links with"
        f" {others.NEIGHBOURS} nearest documents from a cosine of {others.MIN_COSINE} on;"
        " without dates one window"
    )
    if not others.has_louvain():
        yield others.LOUVAIN_EXTRA
    yield "k-means: spherical, with the number of classes given (in its row)"
    if embedding_rivals.has_bertopic():
        yield (
            "MiniLM: single pass over embeddings of all-MiniLM-L6-v2 with the best of"
            f" {len(embedding_rivals.THRESHOLDS)} thresholds on the labels; BERTopic: default"
            " settings on the same embeddings, outliers are groups of their own; not for bags"
        )
    else:
        yield embedding_rivals.EXTRA


def _half(stream: LabelledStream, half: str) -> LabelledStream:
    """Return the stream with the labels of one half, or of both."""
    if not half:
        return stream
    return stream.part(np.array([half_of(uid) == half for uid in stream.uids], dtype=np.bool_))


def _levels(stream: _Stream) -> Iterator[_Row]:
    """Yield every level, and the best one again."""
    rows = [stream.row(name, labels) for name, labels in stream.learned.levels.items()]
    yield from rows
    best = max(rows, key=lambda row: row.scores.f1)
    yield _Row(f"best: {best.system}", best.labels, best.scores)


def _single_passes(stream: _Stream) -> Iterator[_Row]:
    """Yield the single pass with one threshold for all sets, and with the best one."""
    stream.tell("single pass")
    single = SinglePass(stream.learned.units)
    row_at = {t: stream.row_of("", single.labels(t)) for t in THRESHOLDS}
    for system, threshold in (("single", ONE_THRESHOLD), ("tuned", _best(row_at))):
        row = row_at[threshold]
        yield _Row(f"{system} {threshold}", row.labels, row.scores)


def _best(row_at: Mapping[float, _Row]) -> float:
    """Return the threshold with the highest F1, the lowest of equals."""
    return max(row_at, key=lambda t: (row_at[t].scores.f1, -t))


def _louvain(stream: _Stream) -> Iterator[_Row]:
    stream.tell("Louvain")
    texts = others.text_rows(stream.learned.units)
    groups = others.louvain(texts, stream.learned.days_of_stories, stream.options.seed)
    yield stream.row_of("Louvain", groups)


def _k_means(stream: _Stream) -> Iterator[_Row]:
    k = len(set(stream.learned.classes))
    stream.tell("k-means")
    texts = others.text_rows(stream.learned.units)
    yield stream.row_of(f"k-means {k}", others.k_means(texts, k, stream.options.seed))


def _embedding_pass(stream: _Stream) -> Iterator[_Row]:
    """Yield the single pass over embeddings of texts, with the best threshold on the labels."""
    numbers, texts = stream.texts
    if not texts:
        return
    vectors = stream.vectors
    stream.tell("MiniLM")
    row_at = {}
    for threshold in embedding_rivals.THRESHOLDS:
        labels = embedding_rivals.nearest_centroid_pass(vectors, threshold)
        row_at[threshold] = stream.row_of("", dict(zip(numbers, labels.tolist(), strict=True)))
    best = _best(row_at)
    yield _Row(f"MiniLM {best}", row_at[best].labels, row_at[best].scores)


def _bertopic(stream: _Stream) -> Iterator[_Row]:
    numbers, texts = stream.texts
    if not texts:
        return
    vectors = stream.vectors
    stream.tell("BERTopic")
    labels = embedding_rivals.bertopic_labels(texts, vectors, stream.options.seed)
    yield stream.row_of("BERTopic", dict(zip(numbers, labels.tolist(), strict=True)))


def _cells(name: str, stream: LabelledStream, row: _Row) -> list[Cell]:
    scores = row.scores
    figures = (scores.precision, scores.recall, scores.f1, scores.nmi, scores.ami, scores.ari)
    inside = None if stream.days is None else window_scores(row.labels, stream.classes, stream.days)
    windows = (None,) * 3 if inside is None else (inside.f1, inside.ami, inside.ari)
    cost = detection_cost(row.labels, stream.classes)
    rounded = [None if v is None else round(v, 3) for v in (*figures, *windows, cost)]
    return [name, row.system, scores.n_groups, *rounded, None]


def order(data: Path, options: Options) -> Table:
    """Return the mean pairwise ARI of domains and topics over shuffled orders of tdt2."""
    shuffles = 4 if options.quick else 20
    with Wire(":memory:") as wire:
        options.tell("tdt2: learning …")
        wire.ingest(count_matrix(data / "tdt2" / "matrix.npz"))
        stability = wire.validation.order(
            shuffles=shuffles, seed=options.seed, on_order=options.tell
        )
    return Table(
        "Shuffled orders of tdt2",
        ["shuffles", "ARI of domains", "ARI of topics", "wanted"],
        [[shuffles, round(stability["domains"], 3), round(stability["topics"], 3), "topics .80"]],
        ["mean over all pairs of orders"],
    )
