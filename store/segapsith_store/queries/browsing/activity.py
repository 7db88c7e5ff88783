"""Which unit is in which domain, of which story and of which day: columns in memory.

Pages ask for days, sizes and shares of many domains at once. A join over the whole store for each
page would be too slow, so these columns are read once after each run. Origins of units never
change, and only those of new units are read; the domains of units are read again as a whole.
"""

from __future__ import annotations

import datetime
import functools
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.trends import Stream
from segapsith.model import Result
from segapsith_store.queries import history
from segapsith_store.store import Store

__all__ = [
    "Activity",
    "Described",
    "Lifetime",
    "StoreState",
    "read_activity",
    "read_state",
]

Column = NDArray[np.int32]

RUNNING = "running"

CHUNK = 500_000
"""Units whose domains are read at once."""

STANDING = 2**31 - 1
"""Instead of the run that ended a placement: it stands."""

ROWS = 20_000
"""Rows that are in memory at once."""


@dataclass(frozen=True, slots=True)
class StoreState(Result):
    """The last run of a store and how far it is: equal states have the same domains and labels."""

    run: int
    status: str
    position: int
    unlabelled: int = 0
    """Domains whose label is to be computed."""

    @property
    def changing(self) -> bool:
        """Whether a run is still writing."""
        return self.status == RUNNING

    @property
    def age(self) -> tuple[int, int]:
        """What sorts states by age: runs and positions only grow."""
        return self.run, self.position


class Described(NamedTuple):
    """A domain without its words."""

    id: int
    label: str
    named: bool
    lang: str
    status: str
    locked: bool
    units: int


class Lifetime(NamedTuple):
    """Figures of a domain over time; days are ISO dates, None if no story has a date."""

    units: int
    documents: int
    undated: int
    first: str | None
    last: str | None
    recent: int
    """Units of the last seven days of the stream."""


@dataclass(frozen=True, slots=True)
class _Origins:
    """Document, day, and run that first read the document, by unit id; 0 where there is none."""

    documents: Column
    days: Column
    runs: Column

    @classmethod
    def empty(cls, size: int = 1) -> _Origins:
        return cls(*np.zeros((3, size), np.int32))

    def with_new(self, store: Store) -> _Origins:
        """Return the origins of all units, reading those that are new."""
        last = len(self.documents) - 1
        end = store.number("SELECT max(id) FROM units") + 1
        if end <= last + 1:
            return self
        grown = _Origins.empty(end)
        for column, known in (
            (grown.documents, self.documents),
            (grown.days, self.days),
            (grown.runs, self.runs),
        ):
            column[: last + 1] = known
        numbers: dict[str | None, int] = {None: 0}
        rows = store.rows(
            "SELECT u.id, u.document, substr(v.date, 1, 10), d.run FROM units u"
            " JOIN versions v ON v.id = u.version JOIN documents d ON d.id = u.document"
            " WHERE u.id > ? ORDER BY u.id",
            [last],
        )
        while part := list(itertools.islice(rows, ROWS)):
            units, documents, texts, runs = zip(*part, strict=True)
            for text in set(texts) - numbers.keys():
                numbers[text] = _day_number(text)
            places = list(units)
            grown.documents[places] = documents
            grown.days[places] = [numbers[text] for text in texts]
            grown.runs[places] = runs
        return grown


def _day_number(text: str) -> int:
    try:
        return datetime.date.fromisoformat(text).toordinal()
    except ValueError:
        return 0


def _iso(day: int) -> str:
    return datetime.date.fromordinal(day).isoformat()


@dataclass(frozen=True, slots=True)
class _Placements:
    """The domains of units, now and before: which run placed a unit, and which moved it on.

    Rows are in the order of domains and units, so those of a moment are too.
    """

    units: Column
    domains: Column
    runs: Column
    ended: Column
    """The run that moved the unit to another domain; `STANDING` if it is there now."""

    @classmethod
    def read(cls, store: Store, end: int) -> _Placements:
        """Read the placements of the units below `end`.

        SQLite joins the numbers to texts: making a row of Python objects for each unit takes four
        times as long.
        """
        parts = [np.zeros((4, 0), np.int32)]
        for table, ended in (("assignments", str(STANDING)), ("past_assignments", "ended_by")):
            for first in range(0, end, CHUNK):
                row = store.row(
                    f"SELECT group_concat(unit), group_concat(domain), group_concat(run),"
                    f" group_concat({ended}) FROM {table} WHERE unit >= ? AND unit < ?",
                    [first, min(end, first + CHUNK)],
                )
                if row is not None and row[0] is not None:
                    parts.append(np.stack([np.fromstring(text, np.int32, sep=",") for text in row]))
        columns = np.concatenate(parts, axis=1)
        return cls(*columns[:, np.lexsort((columns[0], columns[1]))])

    def now(self) -> NDArray[np.bool_]:
        """Return which placements stand."""
        standing: NDArray[np.bool_] = self.ended == STANDING
        return standing

    def at(self, moment: history.Moment, days: Column) -> NDArray[np.bool_] | None:
        """Return which placements stood at a moment; None if days do not tell.

        This is what `history.assignments_at` selects, by the days of the units.
        """
        if moment.date is None:
            return self._in_force(moment.run)
        last = _last_day(moment.date)
        if last is None:
            return None
        day = days[self.units]
        if moment.run:
            return self._in_force(moment.run) & (day <= last)
        # the store is younger than the date: take the first domain of each present unit
        present = np.zeros(len(days), np.bool_)
        present[self.units[self.now()]] = True
        order = np.lexsort((self.runs, self.units))
        units = self.units[order]
        first = np.ones(len(units), np.bool_)
        first[1:] = units[1:] != units[:-1]
        earliest = np.zeros(len(units), np.bool_)
        earliest[order[first]] = True
        earliest &= present[self.units] & (day > 0) & (day <= last)
        return earliest

    def _in_force(self, run: int) -> NDArray[np.bool_]:
        held: NDArray[np.bool_] = (self.runs <= run) & (self.ended > run)
        return held


def _last_day(date: str) -> int | None:
    """Return the number of a day, or of the last day of a month; None for a point in time.

    >>> _last_day("2026-02") == _last_day("2026-02-28"), _last_day("2026-02-28T10:00")
    (True, None)
    """
    if len(date) == len("2026-02"):
        following = datetime.date.fromisoformat(f"{date}-28") + datetime.timedelta(4)
        return following.replace(day=1).toordinal() - 1
    return datetime.date.fromisoformat(date).toordinal() if len(date) == len("2026-02-28") else None


@dataclass(frozen=True)
class Activity:
    """Units, domains, documents and days as columns, sorted by domain and unit."""

    state: StoreState
    units: Column
    domains: Column
    documents: Column
    days: Column
    """Proleptic ordinals; 0 for a story without a date."""
    described: Mapping[int, Described]
    """The domains that have units, by id."""
    origins: _Origins
    placements: _Placements
    rows: Mapping[int, Described]
    """Every domain as it is now, by id; those without units have 0 of them."""
    run_days: Mapping[int, int]
    """The day on which each run began, as a proleptic ordinal."""

    @functools.cached_property
    def stream(self) -> Stream:
        """Units of the whole stream by day."""
        return Stream(_counted(self.days))

    @functools.cached_property
    def stories_by_day(self) -> Mapping[str, int]:
        """Stories of the whole stream by day."""
        return _counted(_day_of_documents(self.documents, self.days))

    @functools.cached_property
    def spans(self) -> _Spans:
        """Size and first day of all domains."""
        return _Spans.read(self)

    def arrived_since(self, bound: str | int) -> dict[int, int] | None:
        """Return the units that arrived after a run or since a day, by present domain.

        A story without a date counts from the day on which it was read. None for a point in time,
        which days do not tell.
        """
        new = self._new(bound)
        if new is None:
            return None
        return _sizes(self.domains[new])

    def newest_since(self, domains: Sequence[int], bound: str | int, newest: int) -> list[int]:
        """Return those of the `newest` units of each domain (all if -1) that arrived since then."""
        new = self._new(bound)
        if new is None:
            raise ValueError(f"days do not tell what arrived since {bound}")
        selected: list[int] = []
        for domain in domains:
            at = self._slice(domain)
            if newest >= 0:
                at = slice(max(at.start, at.stop - newest), at.stop)
            selected += self.units[at][new[at]].tolist()
        return selected

    def _new(self, bound: str | int) -> NDArray[np.bool_] | None:
        """Return which units arrived after a run or since a day; None for a point in time."""
        runs = self.origins.runs[self.units]
        if isinstance(bound, int):
            after: NDArray[np.bool_] = runs > bound
            return after
        if len(bound) != len("2026-02-28"):
            return None
        first = datetime.date.fromisoformat(bound).toordinal()
        began = np.zeros(int(max(self.run_days, default=0)) + 1, np.int32)
        began[list(self.run_days)] = list(self.run_days.values())
        since: NDArray[np.bool_] = np.where(self.days > 0, self.days, began[runs]) >= first
        return since

    def labels(self, numbers: Iterable[int]) -> dict[int, str]:
        """Return the labels of those of some domains that have units."""
        described = self.described
        return {number: described[number].label for number in numbers if number in described}

    def _slice(self, domain: int) -> slice:
        # other types than that of the column would copy the column
        ends = np.array([domain, domain + 1], np.int32)
        low, high = np.searchsorted(self.domains, ends)
        return slice(int(low), int(high))

    def members(self, domain: int) -> Column:
        """Return the units of a domain, ascending."""
        return self.units[self._slice(domain)]

    def members_on(self, domain: int, day: str) -> Column:
        """Return the units of a domain of one day."""
        at = self._slice(domain)
        number = datetime.date.fromisoformat(day).toordinal()
        members: Column = self.units[at][self.days[at] == number]
        return members

    def newest(self, domain: int, most: int) -> list[int]:
        """Return units of a domain, those of the newest stories first."""
        at = self._slice(domain)
        order = np.lexsort((-self.units[at], -self.days[at]))[:most]
        newest: list[int] = self.units[at][order].tolist()
        return newest

    def by_day(self, *domains: int) -> dict[str, int]:
        """Return the units of some domains together by day, in order."""
        none = np.zeros(0, np.int32)
        return _counted(np.concatenate([none, *(self.days[self._slice(d)] for d in domains)]))

    @functools.cached_property
    def week(self) -> int:
        """The day before the last seven days of the stream."""
        return int(self.days.max(initial=0)) - 7

    def lifetime(self, domain: int) -> Lifetime:
        """Return size, first and last day of a domain."""
        at = self._slice(domain)
        days = self.days[at]
        dated = days[days > 0]
        return Lifetime(
            len(days),
            len(np.unique(self.documents[at])),
            len(days) - len(dated),
            _iso(int(dated.min())) if len(dated) else None,
            _iso(int(dated.max())) if len(dated) else None,
            int((dated > self.week).sum()),
        )


@dataclass(frozen=True, slots=True)
class _Spans:
    """Figures that all domains are sorted by, one row per domain, by id."""

    domains: Column
    units: Column
    dated: Column
    first: Column
    recent: Column

    @classmethod
    def read(cls, activity: Activity) -> _Spans:
        """Return the figures of the domains of these columns."""
        domains, days = activity.domains, activity.days
        if not len(domains):
            return cls(*np.zeros((5, 0), np.int32))
        starts = np.flatnonzero(np.diff(domains, prepend=domains[0] - 1))
        dated = days > 0
        return cls(
            domains[starts],
            np.diff(starts, append=len(domains)).astype(np.int32),
            np.add.reduceat(dated, starts, dtype=np.int32),
            np.minimum.reduceat(np.where(dated, days, np.int32(1 << 30)), starts),
            np.add.reduceat(dated & (days > activity.week), starts, dtype=np.int32),
        )

    def by_domain(self, name: str) -> dict[int, int]:
        """Return one of the figures of all domains; days are proleptic ordinals."""
        column: Column = getattr(self, name)
        return dict(zip(self.domains.tolist(), column.tolist(), strict=True))


def read_state(store: Store) -> StoreState:
    """Return the state of a store; equal states have equal domains and labels."""
    row = store.row(
        "SELECT id, status, position, (SELECT count(*) FROM unlabelled)"
        " FROM runs ORDER BY id DESC LIMIT 1"
    )
    return StoreState(*row) if row else StoreState(0, "", 0)


def read_activity(
    store: Store, earlier: Activity | None = None, as_of: str | int | None = None
) -> Activity:
    """Return the columns of the store now, or as of a run or date.

    `earlier` is what was read from the same store before; origins are taken from it.
    """
    with store.frozen():
        state = read_state(store)
        origins = (_Origins.empty() if earlier is None else earlier.origins).with_new(store)
        if earlier is not None and earlier.state == state:
            placements, rows = earlier.placements, earlier.rows
        else:
            placements = _Placements.read(store, len(origins.documents))
            rows = _rows(store, placements)
        units, domains, described = placements.units, placements.domains, None
        if as_of is None:
            standing: NDArray[np.bool_] | None = placements.now()
        else:
            moment = history.moment(store, as_of)
            standing = placements.at(moment, origins.days)
            if standing is None:
                units, domains = _domain_of_units(store, moment, len(origins.documents))
                standing = np.ones(len(units), np.bool_)
            described = _described_at(store, moment, rows, domains[standing])
        units, domains = units[standing], domains[standing]
        days, documents = origins.days[units], origins.documents[units]
        return Activity(
            state,
            units,
            domains,
            documents,
            days,
            {n: row for n, row in rows.items() if row.units} if described is None else described,
            origins,
            placements,
            rows,
            {
                run: _day_number(began)
                for run, began in store.rows("SELECT id, substr(started_at, 1, 10) FROM runs")
            },
        )


def _domain_of_units(store: Store, moment: history.Moment, end: int) -> tuple[Column, Column]:
    """Return the units below `end` and their domains in two columns."""
    table, parameters = history.assignments_at(moment)
    row = store.row(
        f"SELECT group_concat(unit), group_concat(domain) FROM {table} p WHERE unit < ?",
        [*parameters, end],
    )
    texts = ("", "") if row is None or row[0] is None else row
    units, domains = (np.fromstring(text, np.int32, sep=",") for text in texts)
    order = np.lexsort((units, domains))
    return units[order], domains[order]


def _counted(days: Column) -> dict[str, int]:
    numbers, counts = np.unique(days[days > 0], return_counts=True)
    return {_iso(n): c for n, c in zip(numbers.tolist(), counts.tolist(), strict=True)}


def _day_of_documents(documents: Column, days: Column) -> Column:
    """Return one day per document."""
    _, first = np.unique(documents, return_index=True)
    return days[first]


def _rows(store: Store, placements: _Placements) -> dict[int, Described]:
    sizes = _sizes(placements.domains[placements.now()])
    return {
        number: Described(number, label, named, lang, status, locked, sizes.get(number, 0))
        for number, label, named, lang, status, locked in store.rows(
            "SELECT id, label, named, lang, status, locked FROM domains ORDER BY id"
        )
    }


def _sizes(domains: Column) -> dict[int, int]:
    sizes = np.bincount(domains)
    numbers = np.flatnonzero(sizes)
    return dict(zip(numbers.tolist(), sizes[numbers].tolist(), strict=True))


def _described_at(
    store: Store, moment: history.Moment, rows: Mapping[int, Described], domains: Column
) -> dict[int, Described]:
    """Return the domains that had units at a moment, with the values that they had."""
    changed = history.states(store, moment)
    described = {}
    for number, units in _sizes(domains).items():
        row = rows[number]
        if row.units != units:  # by position: `_replace` takes ten times as long
            row = Described(row[0], row[1], row[2], row[3], row[4], row[5], units)
        described[number] = _before(row, changed[number]) if number in changed else row
    return described


def _before(row: Described, earlier: Mapping[str, Any]) -> Described:
    """Return a domain with the values that later runs changed."""
    return Described(
        row.id,
        earlier.get("label", row.label),
        earlier.get("named", row.named),
        row.lang,
        earlier.get("status", row.status),
        earlier.get("locked", row.locked),
        row.units,
    )
