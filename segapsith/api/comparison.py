"""Comparison of two partitions: runs, dates, stores or labelled files."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from segapsith.api.session import Session
from segapsith.errors import MissingInputError, UsageError, did_you_mean
from segapsith.evaluation.alignment import TEXT_MARK, Side, align, read_labels
from segapsith.evaluation.validation import (
    DomainLinks,
    Empty,
    Label,
    Links,
    LinkSummary,
    PartitionAgreement,
    agreement,
    links,
)
from segapsith.model import optional
from segapsith_store import Store
from segapsith_store.queries import history
from segapsith_store.queries.stream import learned_units
from segapsith_store.queries.validations import labelled_side, read_clustering

__all__ = ["PartitionComparison", "compare"]

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ][\d:.]+Z?)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionComparison(PartitionAgreement):
    """How far two partitions agree on the units that both label.

    `domains` counts the groups of the left side, `clusters` those of the right side.
    """

    left: str
    right: str
    left_field: str
    right_field: str
    left_units: int
    right_units: int
    units: int
    share: float
    """Compared units as a share of those of the left side."""
    several_labels: int
    """Units that had several labels, of which the first was used."""
    domains: int
    clusters: int
    links: Links | None = optional()
    """Links by words; None if neither side is a store that has the words of the units."""


@dataclass(frozen=True, slots=True)
class _Named:
    """One side of a comparison: its labels, and the units and store that they came from."""

    side: Side
    units: NDArray[np.int64] | None = None
    store: str = ""


class _Snapshots:
    """One state of each store that a comparison reads, until it is done."""

    def __init__(self, session: Session) -> None:
        self.path = session.path
        self._session = session
        self._stack = contextlib.ExitStack()
        self._stores: dict[str, Store] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def of(self, path: str) -> Store:
        """Return the store at a path, as it was when it was first asked for."""
        if path not in self._stores:
            if path == self.path:
                store = self._stack.enter_context(self._session.reading())
            else:
                store = self._stack.enter_context(Store.reading(path))
                self._stack.enter_context(store.frozen())
            self._stores[path] = store
        return self._stores[path]


def _of_store(store: Store, path: str, when: str) -> _Named:
    """The labels that a store has, now or as of a run or date."""
    name = f"{path}@{when}" if when else path
    if not when:
        return _Named(*labelled_side(store, history.domain_of_unit(store), name, "domain"), path)
    run = history.run_at(store, when)
    clusters = read_clustering(store, run) if when.isdigit() else None
    labels = history.domain_of_unit(store, run) if clusters is None else clusters
    if not labels:
        raise UsageError(f"{name}: no unit had a domain when run {run} had ended")
    field = "domain" if clusters is None else "cluster"
    return _Named(*labelled_side(store, labels, name, field), path)


def compare(
    session: Session,
    left: str | int,
    right: str | int,
    *,
    field: str | None = None,
    min_units: int = 1,
    seed: int = 0,
) -> PartitionComparison:
    """Compare two runs, dates, stores or labelled files on the units that both label.

    `field` names the field of a labelled file that holds the label, if several fields may.
    `min_units` restricts the comparison to groups of `left` of at least that size.
    """
    with _Snapshots(session) as snapshots:
        return _compared(snapshots, left, right, field, min_units, seed)


def _compared(
    snapshots: _Snapshots,
    left: str | int,
    right: str | int,
    field: str | None,
    min_units: int,
    seed: int,
) -> PartitionComparison:
    sides = tuple(_side(snapshots, named, field) for named in (left, right))
    if field is not None and all(side.units is not None for side in sides):
        raise UsageError(
            f"--field {field}: neither {left} nor {right} is a labelled file; leave it out"
        )
    stores = [snapshots.of(side.store) for side in sides if side.store]
    sides = tuple(replace(side, side=_with_ids(side.side, stores)) for side in sides)
    ours, theirs = align(sides[0].side, sides[1].side)
    if not len(ours):
        raise UsageError(
            f"nothing to compare: no unit of {left} is labelled by {right}"
            f" ({len(sides[0].side)} and {len(sides[1].side)} labels; documents are align by id,"
            " units by where they lie in the text)"
        )
    labels = [
        np.asarray(side.side.labels, dtype=object)[places]
        for side, places in zip(sides, (ours, theirs), strict=True)
    ]
    codes, names = zip(*(_coded(one.tolist()) for one in labels), strict=True)
    selected = np.flatnonzero(np.bincount(codes[0])[codes[0]] >= min_units)
    if not len(selected):
        raise UsageError(f"no group of {left} has {min_units} units; --min-units lowers the bar")
    result: dict[str, Any] = {
        "left": str(left),
        "right": str(right),
        "left_field": sides[0].side.field,
        "right_field": sides[1].side.field,
        "left_units": len(sides[0].side),
        "right_units": len(sides[1].side),
        "units": len(selected),
        "share": round(len(selected) / len(sides[0].side), 6),
        "several_labels": sides[0].side.n_several + sides[1].side.n_several,
        "domains": len(np.unique(codes[0][selected])),
        "clusters": len(np.unique(codes[1][selected])),
    }
    for side, places in zip(sides, (ours, theirs), strict=True):
        if side.units is not None:
            word_links = _linked(
                snapshots, side, places[selected], codes[0][selected], codes[1][selected], names
            )
            if word_links is not None:
                result["links"] = word_links
                break
    both = agreement(labels[0][selected].tolist(), labels[1][selected].tolist(), seed)
    return PartitionComparison(**result, **both)


def _with_ids(side: Side, stores: Sequence[Store]) -> Side:
    """Return labels of texts without ids under the ids that the stories have in a store."""
    if not any(uid.startswith(TEXT_MARK) for uid in side.documents):
        return side
    documents = []
    for uid in side.documents:
        digest = uid.removeprefix(TEXT_MARK)
        stories = (story for store in stores for story in store.stories_with(digest))
        story = next(stories, None) if digest != uid else None
        documents.append(uid if story is None else story.uid)
    return replace(side, documents=documents)


def _side(snapshots: _Snapshots, named: str | int, field: str | None) -> _Named:
    """What a name means: a run, a date, a store (with `@run` or `@date`), or a labelled file."""
    text = str(named)
    if text.isdigit() or _DATE.fullmatch(text):
        return _of_store(snapshots.of(snapshots.path), snapshots.path, text)
    path, at, when = (text, "", "") if os.path.exists(text) else text.rpartition("@")
    if not at and not os.path.exists(text):
        path = text
    if not os.path.exists(path):
        raise MissingInputError(
            f"{text}: there is no such file; name a run, a date, a store (store.db, store.db@RUN)"
            " or a labelled file (.jsonl, .csv)" + did_you_mean(text, os.listdir("."))
        )
    if os.path.isdir(path):
        raise UsageError(f"{path} is a directory; name a store or a labelled file")
    with open(path, "rb") as file:
        is_store = file.read(16) == b"SQLite format 3\0"
    if is_store:
        return _of_store(snapshots.of(path), path, when)
    return _Named(read_labels(path, field))


def _linked(
    snapshots: _Snapshots,
    side: _Named,
    places: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    names: Sequence[Sequence[Any]],
) -> Links | None:
    """Return links by words, where the units still have them."""
    assert side.units is not None
    learned = learned_units(snapshots.of(side.store))
    units = side.units[places]
    rows = np.searchsorted(learned.units, units)
    present = np.flatnonzero(
        learned.units[np.minimum(rows, max(len(learned.units) - 1, 0))] == units
        if len(learned.units)
        else np.zeros(len(units), dtype=np.bool_)
    )
    if not len(present):
        return None
    common = replace(
        learned,
        units=units[present],
        domains=left[present],
        counts=learned.counts[rows[present]],
        weights=learned.weights[rows[present]],
    )
    return _named(links(common, left[present], right[present]), *names)


def _named(numbered: Links, left: Sequence[Label], right: Sequence[Label]) -> Links:
    """Return links with the names of the groups in place of their numbers."""
    return Links(
        similarity=_summary(numbered.similarity, left, right),
        entropy=_summary(numbered.entropy, left, right),
        shared={
            str(right[int(cluster)]): left[int(domain)]
            for cluster, domain in numbered.shared.items()
        },
        domains=[
            DomainLinks(
                left[int(one.domain)],
                *(
                    [right[int(cluster)] for cluster in clusters]
                    for clusters in (one.similarity, one.entropy, one.shared)
                ),
            )
            for one in numbered.domains
        ],
    )


def _summary(
    numbered: LinkSummary | Empty, left: Sequence[Label], right: Sequence[Label]
) -> LinkSummary | Empty:
    if isinstance(numbered, Empty):
        return numbered
    named = {
        str(right[int(cluster)]): None if domain is None else left[int(domain)]
        for cluster, domain in numbered.links.items()
    }
    return replace(numbered, links=named)


def _coded(labels: list[Any]) -> tuple[NDArray[np.int64], list[Any]]:
    """Labels as numbers, and what each number stands for."""
    names = (
        sorted(set(labels)) if len({type(x) for x in labels}) == 1 else list(dict.fromkeys(labels))
    )
    number = {name: code for code, name in enumerate(names)}
    return np.array([number[label] for label in labels], dtype=np.int64), names
