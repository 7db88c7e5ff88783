"""Columns of units, domains and days agree with the queries that read everything."""

from __future__ import annotations

import contextlib
import sqlite3
from functools import partial
from pathlib import Path

import pytest

import segapsith
from segapsith.api.wire import Wire
from segapsith_store.queries import history
from segapsith_store.queries.browsing import activity as module
from segapsith_store.queries.browsing.activity import read_activity, read_state
from segapsith_store.queries.domains import units_since
from segapsith_store.queries.labels import headlines_since
from segapsith_store.queries.news import read_arrivals


def test_sizes_and_days_are_those_of_the_list_of_domains(sampled: Wire) -> None:
    activity = sampled.read(read_activity)
    for domain in sampled.domains(days=True):
        lifetime = activity.lifetime(domain.id)
        assert (lifetime.units, lifetime.documents) == (domain.units, domain.documents)
        assert lifetime.undated == domain.undated
        assert (lifetime.first, lifetime.last) == tuple(
            None if day is None else day[:10] for day in (domain.first, domain.last)
        )
        assert activity.by_day(domain.id) == domain.days
        assert activity.described[domain.id].label == domain.label


def test_members_come_newest_first_and_by_day(sampled: Wire) -> None:
    activity = sampled.read(read_activity)
    shown = sampled.domains.show(sampled.domains(limit=1)[0].id)
    assert activity.members(shown.id).tolist() == list(shown.unit_ids)
    newest = activity.newest(shown.id, 1000)
    assert sorted(newest) == sorted(shown.unit_ids)
    day = max(shown.days or {})
    assert newest[0] in activity.members_on(shown.id, day).tolist()


def test_an_unknown_domain_has_nothing(sampled: Wire) -> None:
    activity = sampled.read(read_activity)
    assert activity.members(10**6).tolist() == [] and activity.by_day(10**6) == {}
    assert activity.lifetime(10**6).units == 0


def test_reading_again_takes_what_is_known(sampled: Wire) -> None:
    first = sampled.read(read_activity)
    again = sampled.read(lambda store: read_activity(store, first))
    assert again.origins is first.origins
    assert (again.units == first.units).all() and (again.domains == first.domains).all()


def test_arrivals_are_those_of_the_store(sampled: Wire) -> None:
    activity = sampled.read(read_activity)
    for run in (0, 1):
        arrivals = sampled.read(lambda store, run=run: read_arrivals(store, run))
        assert activity.arrived_since(run) == dict(arrivals.units)


def test_units_since_a_day_are_those_of_the_store(sampled: Wire) -> None:
    activity = sampled.read(read_activity)
    days = sorted(activity.stream.days)
    for day in (days[0], days[len(days) // 2], days[-1], "1970-01-01"):
        expected = sampled.read(lambda store, day=day: units_since(store, day))
        assert activity.arrived_since(day) == expected
    assert activity.arrived_since("2026-03") is None


def test_titles_of_the_newest_units_are_those_that_the_store_selects(sampled: Wire) -> None:
    """Whether the store looks for what is new or the columns know it."""
    activity = sampled.read(read_activity)
    days = sorted(activity.stream.days)
    numbers = list(activity.described)
    for bound in (0, 1, days[0], days[len(days) // 2], days[-1]):
        for newest in (1, 3, -1):
            units = activity.newest_since(numbers, bound, newest)
            assert newest > 0 or len(units) == sum((activity.arrived_since(bound) or {}).values())
        known = partial(activity.newest_since, bound=bound)
        slow, fast = (
            sampled.read(
                lambda store, bound=bound, units=units: headlines_since(
                    store, numbers, bound, units=units
                )
            )
            for units in (None, lambda some, newest, known=known: known(some, newest=newest))
        )
        assert fast == slow


def test_placements_at_a_moment_are_those_that_the_store_selects(
    sampled: Wire, tmp_path: Path
) -> None:
    with (
        contextlib.closing(sqlite3.connect(sampled.path)) as source,
        contextlib.closing(sqlite3.connect(tmp_path / "copy.db")) as copy,
    ):
        source.backup(copy)
    with segapsith.open(tmp_path / "copy.db") as wire:
        _check_placements(wire)


def _check_placements(sampled: Wire) -> None:
    first, second = (domain.id for domain in sampled.domains(limit=2))
    sampled.domains.move(sampled.domains.show(first).unit_ids[0], second)
    sampled.domains.merge([first, second], first)
    present = sampled.read(read_activity)
    middle = sorted(present.stream.days)[len(present.stream.days) // 2]
    today = sampled.runs(1)[0].started_at[:10]
    for as_of in (1, 2, middle, middle[:7], today, today[:7]):
        activity = sampled.read(lambda store, at=as_of: read_activity(store, present, at))
        table, parameters = history.assignments_at(
            sampled.read(lambda store, at=as_of: history.moment(store, at))
        )
        expected = sampled.read(
            lambda store, t=table, p=parameters: dict(
                store.rows(f"SELECT unit, domain FROM {t}", p)
            )
        )
        pairs = zip(activity.units.tolist(), activity.domains.tolist(), strict=True)
        assert dict(pairs) == expected, as_of
        assert sum(row.units for row in activity.described.values()) == len(expected)


def test_an_empty_store_has_no_activity(open_wire) -> None:  # type: ignore[no-untyped-def]
    wire = open_wire()
    activity = wire.read(read_activity) if wire.writer else None
    assert activity is not None and not len(activity.units) and activity.described == {}
    assert wire.read(read_state).run == 0


def test_an_earlier_moment_has_the_domains_of_then(sampled: Wire) -> None:
    then = sampled.read(lambda store: read_activity(store, None, 1))
    listed = {domain.id: domain.units for domain in sampled.domains(as_of=1)}
    assert {number: row.units for number, row in then.described.items()} == listed


def test_units_are_read_in_pieces(sampled: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sampled.read(read_activity)
    monkeypatch.setattr(module, "CHUNK", 7)
    monkeypatch.setattr(module, "ROWS", 5)
    pieces = sampled.read(read_activity)
    for name in ("units", "domains", "documents", "days"):
        assert (getattr(pieces, name) == getattr(whole, name)).all(), name
    assert pieces.described == whole.described


def test_figures_of_all_domains_are_those_of_each(sampled: Wire) -> None:
    columns = sampled.read(read_activity)
    recent, units = columns.spans.by_domain("recent"), columns.spans.by_domain("units")
    for number in columns.described:
        lifetime = columns.lifetime(number)
        assert (lifetime.units, lifetime.recent) == (units[number], recent[number])
    assert columns.labels([1, 10**6]) == {1: columns.described[1].label}
