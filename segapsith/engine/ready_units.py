"""Pre-segmented units as columns: from their arrival to the rows of a store.

A unit that came without a text is a story, a text and a unit at once. Many of them are learned
together, and no object is made for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import Mark, day_number, next_day
from segapsith.domains.values import BagColumns, Ints
from segapsith.engine.arrivals import Arrival
from segapsith.engine.records import Assignment, ReadyColumns, UnitRecord, Update, VersionRecord
from segapsith.intake.documents import as_json, utc

__all__ = [
    "LEAST",
    "Days",
    "all_units",
    "all_versions",
    "assign",
    "days_of",
    "ready_columns",
    "spill",
    "stretches",
    "units_at",
]

LEAST = 4
"""Fewer units than these are learned one by one: columns would take longer."""

_NO_WORDS, _NO_LINKS = np.zeros(0, np.int32), np.zeros(0, np.uint8)


def stretches(arrivals: Sequence[Arrival]) -> Iterator[tuple[int, int, bool]]:
    """Cut arrivals into parts: first, end, and whether every document of the part is new."""
    first = 0
    for i, arrival in enumerate(arrivals):
        if arrival.before is not None:
            if first < i:
                yield first, i, True
            yield i, i + 1, False
            first = i + 1
    if first < len(arrivals):
        yield first, len(arrivals), True


def ready_columns(
    arrivals: Sequence[Arrival],
    lang: str,
    units: BagColumns,
    n_words: Sequence[int],
    *,
    first_version: int,
    first_unit: int,
    epoch: int,
    run: int,
) -> ReadyColumns:
    """Return new documents as columns, not placed yet."""
    documents = [arrival.document for arrival in arrivals]
    original = [document.date for document in documents]
    n = len(arrivals)
    return ReadyColumns(
        lang=lang,
        run=run,
        epoch=epoch,
        first_version=first_version,
        first_unit=first_unit,
        documents=[arrival.record.id for arrival in arrivals],
        hashes=[arrival.digest for arrival in arrivals],
        dates=list(map(utc, original)),
        dates_original=original,
        sources=[document.source for document in documents],
        metadata=[as_json(document.metadata) for document in documents],
        n_words=n_words,
        units=units,
        domains=[0] * n,
        scores=[0.0] * n,
        runners_up=[None] * n,
        runner_up_scores=[0.0] * n,
        events=[0] * n,
    )


class Days(NamedTuple):
    """The days of stories: their own, and where the day of the stream moves."""

    own: list[int]
    marks: list[Mark]
    stream_day: int
    """The day of the stream after the last story."""


def days_of(dates: Sequence[str | None], ordinals: Sequence[int], stream_day: int) -> Days:
    """Return the days of stories that were accepted, in order."""
    own, marks = [day_number(date) for date in dates], []
    for at, day in enumerate(own):
        if (today := next_day(stream_day, day)) != stream_day:
            stream_day = today
            marks.append(Mark(at, today, ordinals[at]))
    return Days(own, marks, stream_day)


def assign(
    ready: ReadyColumns, stories: Ints, placed: Ints, scores: NDArray[np.float64], events: list[int]
) -> NDArray[np.bool_]:
    """Enter the domains and events of the units that are stories; return which started a domain.

    `placed` and `scores` are what `DomainIndex.place_columns` returned.
    """
    domains, best, second = placed.T
    is_new: NDArray[np.bool_] = domains != best
    columns = (
        domains.tolist(),
        np.where(is_new, 1.0, scores[:, 0]).tolist(),
        [number or None for number in np.where(is_new, best, second).tolist()],
        np.where(is_new, scores[:, 0], scores[:, 1]).tolist(),
        events,
    )
    if len(stories) == len(ready.documents):
        ready.domains, ready.scores, ready.runners_up, ready.runner_up_scores, ready.events = (
            columns
        )
        return is_new
    for i, values in zip(stories.tolist(), zip(*columns, strict=True), strict=True):
        (
            ready.domains[i],
            ready.scores[i],
            ready.runners_up[i],
            ready.runner_up_scores[i],
            ready.events[i],
        ) = values
    return is_new


def units_at(units: BagColumns, stories: Ints) -> BagColumns:
    """Return some of the units, in order."""
    if len(stories) == len(units.ends):
        return units
    starts = np.append(0, units.ends)[stories]
    sizes = units.ends[stories] - starts
    ends = np.cumsum(sizes)
    places = np.repeat(starts - ends + sizes, sizes) + np.arange(int(sizes.sum()))
    return BagColumns(units.words[places], units.counts[places], units.weights[places], ends)


def spill(update: Update) -> None:
    """Turn the columns of an update into records, for one of them is to be changed."""
    for ready in update.ready:
        update.versions += versions(ready)
        update.units |= {unit.id: unit for unit in unit_records(ready)}
    update.ready.clear()


def versions(ready: ReadyColumns) -> Iterator[VersionRecord]:
    """Yield the texts, which are empty."""
    for i, document in enumerate(ready.documents):
        yield VersionRecord(
            ready.first_version + i,
            document,
            1,
            ready.hashes[i],
            "",
            "",
            ready.dates[i],
            ready.dates_original[i],
            ready.lang,
            ready.sources[i],
            ready.metadata[i],
            b"",
            _NO_WORDS,
            _NO_LINKS,
            ready.run,
        )


def unit_records(ready: ReadyColumns) -> Iterator[UnitRecord]:
    """Yield the units with their domains."""
    for i, document in enumerate(ready.documents):
        assignment = None
        if ready.domains[i]:
            assignment = Assignment(
                ready.domains[i],
                ready.scores[i],
                ready.runners_up[i],
                ready.runner_up_scores[i],
                ready.run,
                ready.events[i],
            )
        unit, version = ready.first_unit + i, ready.first_version + i
        yield UnitRecord(
            unit, document, version, 0, 0, 0, 0, ready.n_words[i], 0.0, True, ready.epoch,
            ready.units.bag(i), assignment,
        )  # fmt: skip


def all_versions(update: Update) -> Iterator[VersionRecord]:
    """Yield the texts of an update, also those of columns."""
    return chain(update.versions, *(versions(ready) for ready in update.ready))


def all_units(update: Update) -> dict[int, UnitRecord]:
    """Return the units of an update, also those of columns."""
    return update.units | {unit.id: unit for ready in update.ready for unit in unit_records(ready)}
