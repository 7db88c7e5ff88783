"""Which unit is in which domain, of which story and of which day: columns in memory.

Pages ask for days, sizes and shares of many domains at once. A join over the whole store for each
page would be too slow, so these columns are read once after each run. Origins of units never
change, and only those of new units are read; the domains of units are read again as a whole.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
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
        rows = list(
            store.rows(
                "SELECT u.id, u.document, substr(v.date, 1, 10), d.run FROM units u"
                " JOIN versions v ON v.id = u.version JOIN documents d ON d.id = u.document"
                " WHERE u.id > ? ORDER BY u.id",
                [last],
            )
        )
        if not rows:
            return self
        numbers: dict[str | None, int] = {None: 0}
        units, documents, texts, runs = zip(*rows, strict=True)
        for text in set(texts) - {None}:
            numbers[text] = _day_number(text)
        grown, places = _Origins.empty(units[-1] + 1), list(units)
        for column, old, new in (
            (grown.documents, self.documents, documents),
            (grown.days, self.days, [numbers[text] for text in texts]),
            (grown.runs, self.runs, runs),
        ):
            column[: last + 1] = old
            column[places] = new
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
    _lifetimes: dict[int, Lifetime] = field(default_factory=dict)

    def arrived_after(self, run: int) -> dict[int, int]:
        """Return the units of the stories that were first read after a run, by present domain."""
        domains, counts = np.unique(
            self.domains[self.origins.runs[self.units] > run], return_counts=True
        )
        return dict(zip(domains.tolist(), counts.tolist(), strict=True))

    def _slice(self, domain: int) -> slice:
        low, high = np.searchsorted(self.domains, [domain, domain + 1])
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
        return self._all_lifetimes().get(domain, Lifetime(0, 0, 0, None, None, 0))

    def _all_lifetimes(self) -> dict[int, Lifetime]:
        if not self._lifetimes and len(self.domains):
            self._lifetimes.update(self._computed())
        return self._lifetimes

    def _computed(self) -> dict[int, Lifetime]:
        numbers, starts = np.unique(self.domains, return_index=True)
        ends = np.append(starts[1:], len(self.domains))
        dated = self.days > 0
        first = np.minimum.reduceat(np.where(dated, self.days, 1 << 30), starts)
        last = np.maximum.reduceat(self.days, starts)
        n_dated = np.add.reduceat(dated.astype(np.int64), starts)
        newest = int(self.days.max())
        recent = np.add.reduceat(((self.days > newest - 7) & dated).astype(np.int64), starts)
        pairs = np.unique(self.domains.astype(np.int64) << 32 | self.documents.astype(np.int64))
        _, n_documents = np.unique(pairs >> 32, return_counts=True)
        columns = (numbers, ends - starts, n_documents, n_dated, first, last, recent)
        return {
            number: Lifetime(
                size, stories, size - with_date,
                _iso(begin) if with_date else None, _iso(end) if with_date else None, new,
            )
            for number, size, stories, with_date, begin, end, new in zip(
                *(column.tolist() for column in columns), strict=True
            )
        }  # fmt: skip


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
        table, parameters = history.assignments_at(moment)
        pairs = np.array(
            list(store.rows(f"SELECT unit, domain FROM {table} p", parameters)), dtype=np.int32
        ).reshape(-1, 2)
        order = np.lexsort((pairs[:, 0], pairs[:, 1]))
        units, domains = pairs[order, 0], pairs[order, 1]
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
    rows = {
        row[0]: Described(*row)
        for row in store.rows(
            "SELECT id, label, named, lang, status, locked, units FROM domains ORDER BY id"
        )
    }
    numbers, sizes = np.unique(domains, return_counts=True)
    present = dict(zip(numbers.tolist(), sizes.tolist(), strict=True))
    changed = {} if moment is None else history.states(store, moment)
    return {
        number: _before(rows[number], changed.get(number, {}))._replace(units=size)
        for number, size in present.items()
        if number in rows
    }


def _before(row: Described, earlier: Mapping[str, object]) -> Described:
    """Return a domain with the values that later runs changed."""
    columns = {
        name: earlier[name] for name in ("label", "named", "status", "locked") if name in earlier
    }
    return row._replace(**columns)  # type: ignore[arg-type]  # what the lineage stored
