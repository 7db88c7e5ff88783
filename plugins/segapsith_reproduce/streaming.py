"""Every level of labelled streams, beside other clusterings of the same words.

Every set is ingested with the default settings, in memory. The group of a document is that of most
of its words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np

from segapsith.api.wire import Wire
from segapsith.arrays import Labels
from segapsith.errors import MissingInputError
from segapsith.io.count_matrices import count_matrix
from segapsith_reproduce import Options, Table
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
    survival: float | None = None


def streaming(data: Path, options: Options) -> Table:
    """Return all levels of all streams, the best level, and the rivals."""
    names = options.sets or tuple(n for n in STREAMS if (data / n.partition(" ")[0]).is_dir())
    if not names:
        raise MissingInputError(f"{data} has none of the sets {', '.join(STREAMS)}")
    table: list[list[Cell]] = []
    gains: dict[str, float] = {}
    for name in names:
        options.tell(f"{name}: learning …")
        documents = stream_documents(data, name, quick=options.quick)
        whole, _ = learn(documents)
        survival: Mapping[str, float | None] = {}
        if not options.quick:
            options.tell(f"{name}: {NIGHTS} nights …")
            survival = id_survival(documents)
        stream = _half(whole, options.half)
        if not stream.classes:
            raise MissingInputError(f"{name}: no document with a label in this half")
        levels = [_row(stream, n, of, survival.get(n)) for n, of in stream.levels.items()]
        best = max(levels, key=lambda row: row.scores.f1)
        passes = list(_single_passes(name, stream, options))
        rows = [
            *levels,
            _Row(f"best: {best.system}", best.labels, best.scores, best.survival),
            *passes,
            *_rivals(name, stream, options),
        ]
        table.extend(_cells(name, stream, row) for row in rows)
        gains[name] = round(best.scores.f1 - passes[-1].scores.f1, 3)
    return Table(
        "Streams learned once, default settings",
        HEAD,
        table,
        [
            _verdict(gains),
            *_notes(options),
        ],
    )


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


def _half(stream: LabelledStream, half: str) -> LabelledStream:
    """Return the stream with the labels of one half, or of both."""
    if not half:
        return stream
    return stream.part(np.array([half_of(uid) == half for uid in stream.uids], dtype=np.bool_))


def _row(
    stream: LabelledStream, system: str, labels: Labels, survival: float | None = None
) -> _Row:
    return _Row(system, labels, partition_scores(labels, stream.classes), survival)


def _single_passes(name: str, stream: LabelledStream, options: Options) -> Iterator[_Row]:
    """Yield the single pass with one threshold for all sets, and with the best one."""
    options.tell(f"{name}: single pass …")
    single = SinglePass(stream.units)
    row_at = {t: _row(stream, "", stream.labels(single.labels(t))) for t in THRESHOLDS}
    best = max(THRESHOLDS, key=lambda t: (row_at[t].scores.f1, -t))
    for system, threshold in (("single", ONE_THRESHOLD), ("tuned", best)):
        row = row_at[threshold]
        yield _Row(f"{system} {threshold}", row.labels, row.scores)


def _rivals(name: str, stream: LabelledStream, options: Options) -> Iterator[_Row]:
    """Yield the other clusterings; one whose package is missing is left out."""
    texts = others.text_rows(stream.units)
    if others.has_louvain():
        options.tell(f"{name}: Louvain …")
        groups = others.louvain(texts, stream.days_of_stories, options.seed)
        yield _row(stream, "Louvain", stream.labels(groups))
    k = len(set(stream.classes))
    options.tell(f"{name}: k-means …")
    yield _row(stream, f"k-means {k}", stream.labels(others.k_means(texts, k, options.seed)))


def _cells(name: str, stream: LabelledStream, row: _Row) -> list[Cell]:
    scores = row.scores
    figures = (scores.precision, scores.recall, scores.f1, scores.nmi, scores.ami, scores.ari)
    inside = None if stream.days is None else window_scores(row.labels, stream.classes, stream.days)
    windows = (None,) * 3 if inside is None else (inside.f1, inside.ami, inside.ari)
    cost = detection_cost(row.labels, stream.classes)
    rounded = [None if v is None else round(v, 3) for v in (*figures, *windows, cost, row.survival)]
    return [name, row.system, scores.n_groups, *rounded]


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
