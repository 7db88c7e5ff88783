"""Which unit is in which domain, of which story and of which day: columns in memory.

Pages ask for days, sizes and shares of many domains at once. A join over the whole store for each
page would be too slow, so these columns are read once after each run. Origins of units never
change, and only those of new units are read; the domains of units are read again as a whole.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

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
    stream: Stream
    """Units of the whole stream by day."""
    stories_by_day: Mapping[str, int]
    _spans: list[_Spans] = field(default_factory=list)

    def arrived_after(self, run: int) -> dict[int, int]:
        """Return the units of the stories that were first read after a run, by present domain."""
        domains, counts = np.unique(
            self.domains[self.origins.runs[self.units] > run], return_counts=True
        )
        return dict(zip(domains.tolist(), counts.tolist(), strict=True))

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

    def lifetime(self, domain: int) -> Lifetime:
        """Return size, first and last day of a domain."""
        return self.spans().of(domain)

    def spans(self) -> _Spans:
        """Return size, first and last day of all domains."""
        if not self._spans:
            self._spans.append(_Spans.read(self))
        return self._spans[0]


@dataclass(frozen=True, slots=True)
class _Spans:
    """Figures of all domains over time, one row per domain, by id."""

    domains: Column
    units: Column
    documents: Column
    dated: Column
    first: Column
    last: Column
    recent: Column

    @classmethod
    def read(cls, activity: Activity) -> _Spans:
        """Return the figures of the domains of these columns."""
        domains, days = activity.domains, activity.days
        if not len(domains):
            return cls(*np.zeros((7, 0), np.int32))
        numbers, starts, sizes = np.unique(domains, return_index=True, return_counts=True)
        dated = days > 0
        recent = dated & (days > int(days.max()) - 7)
        pairs = np.unique(domains.astype(np.int64) << 32 | activity.documents)
        return cls(
            numbers,
            sizes.astype(np.int32),
            np.unique(pairs >> 32, return_counts=True)[1].astype(np.int32),
            np.add.reduceat(dated, starts, dtype=np.int32),
            np.minimum.reduceat(np.where(dated, days, np.int32(1 << 30)), starts),
            np.maximum.reduceat(days, starts),
            np.add.reduceat(recent, starts, dtype=np.int32),
        )

    def of(self, domain: int) -> Lifetime:
        """Return the figures of one domain."""
        at = int(np.searchsorted(self.domains, np.int32(domain)))
        if at == len(self.domains) or self.domains[at] != domain:
            return Lifetime(0, 0, 0, None, None, 0)
        units, dated = int(self.units[at]), int(self.dated[at])
        return Lifetime(
            units,
            int(self.documents[at]),
            units - dated,
            _iso(int(self.first[at])) if dated else None,
            _iso(int(self.last[at])) if dated else None,
            int(self.recent[at]),
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
        origins = (_Origins.empty() if earlier is None else earlier.origins).with_new(store)
        moment = None if as_of is None else history.moment(store, as_of)
        units, domains = _domain_of_units(store, moment, len(origins.documents))
        order = np.lexsort((units, domains))
        units, domains = units[order], domains[order]
        days, documents = origins.days[units], origins.documents[units]
        described = _described(store, moment, domains)
        return Activity(
            read_state(store),
            units,
            domains,
            documents,
            days,
            described,
            origins,
            Stream(_counted(days)),
            _counted(_day_of_documents(documents, days)),
        )


def _domain_of_units(
    store: Store, moment: history.Moment | None, end: int
) -> tuple[Column, Column]:
    """Return the units below `end` and their domains in two columns.

    SQLite joins the numbers to texts: making a row of Python objects for each unit takes four times
    as long.
    """
    table, parameters = history.assignments_at(moment)
    none = np.zeros(0, np.int32)
    columns = [(none, none)]
    for first in range(0, end, CHUNK):
        row = store.row(
            f"SELECT group_concat(unit), group_concat(domain) FROM {table} p"
            " WHERE unit >= ? AND unit < ?",
            [*parameters, first, min(end, first + CHUNK)],
        )
        if row is not None and row[0] is not None:
            units, domains = (np.fromstring(text, np.int32, sep=",") for text in row)
            columns.append((units, domains))
    units, domains = (np.concatenate(column) for column in zip(*columns, strict=True))
    return units, domains


def _counted(days: Column) -> dict[str, int]:
    numbers, counts = np.unique(days[days > 0], return_counts=True)
    return {_iso(n): c for n, c in zip(numbers.tolist(), counts.tolist(), strict=True)}


def _day_of_documents(documents: Column, days: Column) -> Column:
    """Return one day per document."""
    _, first = np.unique(documents, return_index=True)
    return days[first]


def _described(
    store: Store, moment: history.Moment | None, domains: Column
) -> dict[int, Described]:
    numbers, sizes = np.unique(domains, return_counts=True)
    present = dict(zip(numbers.tolist(), sizes.tolist(), strict=True))
    changed = {} if moment is None else history.states(store, moment)
    described = {}
    for number, label, named, lang, status, locked in store.rows(
        "SELECT id, label, named, lang, status, locked FROM domains ORDER BY id"
    ):
        if number in present:
            row = Described(number, label, named, lang, status, locked, present[number])
            described[number] = _before(row, changed[number]) if number in changed else row
    return described


def _before(row: Described, earlier: Mapping[str, object]) -> Described:
    """Return a domain with the values that later runs changed."""
    columns = {
        name: earlier[name] for name in ("label", "named", "status", "locked") if name in earlier
    }
    return row._replace(**columns)  # type: ignore[arg-type]  # what the lineage stored
