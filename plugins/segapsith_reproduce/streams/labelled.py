"""Labelled streams: their documents, and what a store learns from them.

A stream is a directory of data sets with `docs.jsonl.gz` or `matrix.npz` in it, or `NAME FIELD` for
one field of its texts. Bags of words, titles and items of one or two sentences are one unit each;
longer texts are segmented.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segapsith.api.wire import Wire
from segapsith.arrays import Labels
from segapsith.engine.order_sensitivity import StreamUnit
from segapsith.errors import MissingInputError
from segapsith.io.count_matrices import count_matrix
from segapsith.model import Document, Reject
from segapsith_reproduce.streams.levels import level_groups

__all__ = ["QUICK", "LabelledStream", "half_of", "learn", "stream_documents"]

QUICK = 2500
"""Number of documents of each set with `options.quick`."""


@dataclass(frozen=True, slots=True)
class LabelledStream:
    """A set after ingest, one entry per labelled document in the order of the stream."""

    uids: Sequence[str]
    classes: Sequence[str]
    days: NDArray[np.int64] | None
    """Day of each document as a proleptic ordinal; None if a document has no date."""
    stories: Sequence[int]
    """Number of the document that was learned: the document itself, or the one it duplicates."""
    levels: Mapping[str, Labels]
    """Group of each document at each level, by the name of the level."""
    units: Sequence[StreamUnit]
    """Every unit of the stream, also of documents without a label."""
    days_of_stories: Mapping[int, int]
    """Day of every learned document that has a date."""
    texts: Mapping[int, str]
    """Title and body of every document; empty for bags of words."""

    def labels(self, groups: Mapping[int, int]) -> Labels:
        """Return the group of each labelled document, given the groups of learned documents."""
        return np.array([groups[story] for story in self.stories], dtype=np.int64)

    def part(self, keep: NDArray[np.bool_]) -> LabelledStream:
        """Return the same stream with some of its labelled documents only."""
        where = np.flatnonzero(keep).tolist()
        return LabelledStream(
            [self.uids[i] for i in where],
            [self.classes[i] for i in where],
            None if self.days is None else self.days[keep],
            [self.stories[i] for i in where],
            {name: labels[keep] for name, labels in self.levels.items()},
            self.units,
            self.days_of_stories,
            self.texts,
        )


def half_of(uid: str) -> str:
    """Return the half that a document belongs to, by a hash of its id.

    >>> sorted({half_of(str(number)) for number in range(20)})
    ['first', 'second']
    """
    return "second" if hashlib.sha256(uid.encode()).digest()[0] & 1 else "first"


def stream_documents(data: Path, name: str, *, quick: bool = False) -> list[Document]:
    """Return the documents of a stream in their order, with the label as metadata."""
    folder = data / name.partition(" ")[0]
    if (folder / "matrix.npz").is_file():
        items: Iterator[Document | Reject] = count_matrix(folder / "matrix.npz")
    elif (folder / "docs.jsonl.gz").is_file():
        items = _texts(data, name)
    else:
        raise MissingInputError(
            f"{folder} has neither docs.jsonl.gz nor matrix.npz; name the directory of the data"
            " sets with --data or SEGAPSITH_DATA"
        )
    documents = [document for document in items if isinstance(document, Document)]
    if not any(document.metadata.get("label") is not None for document in documents):
        raise MissingInputError(f"{folder} has no document with a label or an event")
    return documents[: QUICK if quick else None]


def _texts(data: Path, name: str) -> Iterator[Document]:
    folder, _, field = name.partition(" ")
    with gzip.open(data / folder / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        items = [json.loads(line) for line in lines]
    if field:
        if not all(field in item for item in items):
            raise MissingInputError(f"{data / folder} has documents without the field {field!r}")
        items.sort(key=lambda item: item.get("order", 0))
    for item in items:
        if "labels" in item:
            if len(item["labels"]) != 1:  # several subjects: no partition
                continue
            label = item["labels"][0]
        else:
            label = item["event"] if "event" in item else item.get("label")
        yield Document(
            uid=str(item["id"]),
            title="" if field else item.get("title") or "",
            body=item[field or "text"] or "",
            date=item.get("date"),
            lang=item.get("lang") or "en",
            metadata={"label": label},
        )


def learn(documents: Sequence[Document]) -> tuple[LabelledStream, float]:
    """Ingest documents with the default settings in memory; return also documents per second."""
    began = time.perf_counter()
    with Wire(":memory:") as wire:
        wire.ingest(documents)
        rate = len(documents) / (time.perf_counter() - began)
        units = wire.stream_units()
        groups = level_groups(wire)
        labelled: list[tuple[str, str, int, str | None]] = []
        dates: dict[int, str | None] = {}
        texts: dict[int, str] = {}
        for document, version in wire.writer.present_texts():
            dates[document.id] = version.date
            texts[document.id] = f"{version.title}\n\n{version.body}".strip()
            story = document.id if document.duplicate_of is None else document.duplicate_of
            label = json.loads(version.metadata).get("label")
            if label is not None:
                labelled.append((document.uid, str(label), story, version.date))
    learned = set.intersection(*(set(of) for of in groups.values()))
    place = {document.uid: number for number, document in enumerate(documents)}
    labelled = sorted((e for e in labelled if e[2] in learned), key=lambda e: place[e[0]])
    stream = LabelledStream(
        uids=[uid for uid, *_ in labelled],
        classes=[label for _, label, *_ in labelled],
        days=_days([day for *_, day in labelled]),
        stories=[story for *_, story, _ in labelled],
        levels={},
        units=units,
        days_of_stories={d: _day(day) for d, day in dates.items() if day is not None},
        texts=texts,
    )
    levels = {name: stream.labels(of) for name, of in groups.items()}
    return replace(stream, levels=levels), rate


def _day(stamp: str) -> int:
    return date.fromisoformat(stamp[:10]).toordinal()


def _days(dates: Sequence[str | None]) -> NDArray[np.int64] | None:
    known = [_day(stamp) for stamp in dates if stamp is not None]
    return np.array(known, dtype=np.int64) if known and len(known) == len(dates) else None
