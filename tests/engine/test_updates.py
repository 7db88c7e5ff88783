"""Events of stories: equal for every cut of the stream, closed in time, exact after removal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith_store.digest import digest

OpenWire = Callable[..., Wire]

PLACES = ("Lyndhaven", "Port Albers", "Vasseur", "Karabo", "Montrey", "Ostrava", "Tiverton")
HAPPENINGS = (
    "A ferry sank off {place} and divers searched the harbour for passengers of the ferry",
    "Voters in {place} elected a mayor after a recount of ballots in the disputed election",
    "An earthquake shook {place}, and rescuers dug for survivors under collapsed houses",
)


def story(number: int, happening: int, place: str, day: str | None) -> dict[str, Any]:
    text = HAPPENINGS[happening].format(place=place)
    return {
        "id": f"s{number}",
        "title": f"{place}: report {number}",
        "text": f"{text}. Report {number} adds witness{number} and quotes officer{number}.",
        "date": day,
        "lang": "en",
    }


def wire_of_a_month() -> list[dict[str, Any]]:
    """Return three happenings a day, each told again on the next day, and nothing after that."""
    stories = []
    for day in range(1, 29):
        for happening in range(3):
            for told in (day, min(day + 1, 28)):
                place = PLACES[(day + happening) % len(PLACES)] + str(day)
                stories.append((told, happening, place))
    return [
        story(n, happening, place, f"2026-03-{day:02d}")
        for n, (day, happening, place) in enumerate(sorted(stories))
    ]


STORIES = wire_of_a_month()


def sound(wire: Wire) -> str:
    verdict = wire.verify()
    assert verdict.sound, verdict.faults
    return verdict.digest


def event_of(wire: Wire, uid: str) -> int | None:
    row = wire.writer.row(
        "SELECT DISTINCT a.event FROM assignments a JOIN units u ON u.id = a.unit"
        " JOIN documents d ON d.id = u.document WHERE d.uid = ?",
        [uid],
    )
    return None if row is None else row[0]


def test_stories_of_one_happening_share_an_event(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(STORIES)
    by_happening: dict[str, set[int | None]] = {}
    for item in STORIES:
        by_happening.setdefault(item["text"].split(".")[0], set()).add(event_of(wire, item["id"]))
    together = [events for events in by_happening.values() if len(events) == 1]
    assert len(together) > 0.8 * len(by_happening)
    sound(wire)


@pytest.mark.parametrize("size", [1, 7, 50])
def test_events_are_equal_however_the_stream_is_cut(open_wire: OpenWire, size: int) -> None:
    whole, cut = open_wire("whole.db"), open_wire("cut.db", batch_size=size)
    whole.ingest(STORIES)
    middle = len(STORIES) // 3
    cut.ingest(STORIES[:middle])
    cut.close()
    again = open_wire("cut.db", batch_size=size)
    again.ingest(STORIES[middle:])
    assert [e.as_json() for e in whole.events()] == [e.as_json() for e in again.events()]
    assert digest(whole.writer) == digest(again.writer)


def test_an_event_closes_after_quiet_days_and_takes_no_story_then(open_wire: OpenWire) -> None:
    wire = open_wire(event_quiet_days=5)
    wire.ingest(STORIES)
    events = wire.events()
    assert {e.closed for e in events if e.last and e.last < "2026-03-22"} == {True}
    assert {e.closed for e in events if e.last == "2026-03-28"} == {False}
    first = next(e for e in events if e.closed)
    member = next(s for s in STORIES if event_of(wire, s["id"]) == first.id)
    wire.ingest([{**member, "id": "late", "text": member["text"].replace("adds", "repeats all")}])
    assert event_of(wire, "late") in (None, wire.writer.facts()["next_event"] - 1)
    assert next(e for e in wire.events() if e.id == first.id) == first
    sound(wire)


def test_a_story_dated_far_ahead_does_not_close_events(open_wire: OpenWire) -> None:
    wire = open_wire(event_quiet_days=5)
    wire.ingest(STORIES[:20])
    wire.ingest([story(900, 0, "Somewhere", "2999-01-01")])
    assert not any(event.closed for event in wire.events())


def test_undated_stories_and_ready_units_have_events(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest([{**item, "date": None} for item in STORIES[:30]])
    wire.learn({"id": f"u{n}", "words": {"storm": 2, "harbour": 1, f"w{n}": 1}} for n in range(6))
    events = wire.events()
    assert all(event.first is None and event.last is None for event in events)
    assert sum(event.units for event in events) == wire.status()["units"]
    ready = [event for event in events if "storm" in event.label]
    assert ready
    assert max(event.stories for event in ready) > 1
    sound(wire)


def test_undoing_a_run_opens_the_events_that_it_closed(open_wire: OpenWire) -> None:
    wire = open_wire(event_quiet_days=3)
    wire.ingest(STORIES[:60])
    before, listed = sound(wire), wire.events()
    wire.ingest(STORIES[60:])
    assert sum(e.closed for e in wire.events()) > sum(e.closed for e in listed)
    wire.runs.undo()
    assert sound(wire) == before
    assert wire.events() == listed


def test_forgetting_a_story_of_a_closed_event_is_exact(open_wire: OpenWire) -> None:
    wire = open_wire(event_quiet_days=3)
    wire.ingest(STORIES)
    closed = next(e for e in wire.events() if e.closed and e.stories > 1)
    member = next(s["id"] for s in STORIES if event_of(wire, s["id"]) == closed.id)
    wire.forget(member)
    left = next(e for e in wire.events() if e.id == closed.id)
    assert (left.stories, left.closed) == (closed.stories - 1, True)
    sound(wire)


def test_a_correction_and_its_undoing_move_a_story_between_events(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(STORIES[:40])
    before, event = sound(wire), event_of(wire, "s3")
    other = STORIES[30]
    wire.ingest([{**STORIES[3], "text": other["text"] + " Corrected.", "title": other["title"]}])
    assert event_of(wire, "s3") != event
    sound(wire)
    wire.runs.undo()
    assert event_of(wire, "s3") == event
    assert sound(wire) == before


def test_changes_of_domains_leave_events_as_they_are(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(sample.lines("en")[:60])
    members = wire.writer.rows("SELECT unit, event FROM assignments ORDER BY unit")
    events = list(members)
    first, second, *_ = (domain["id"] for domain in wire.domains())
    wire.domains.merge([first, second])
    after = list(wire.writer.rows("SELECT unit, event FROM assignments ORDER BY unit"))
    assert after == events
    sound(wire)
    wire.runs.undo()
    assert list(wire.writer.rows("SELECT unit, event FROM assignments ORDER BY unit")) == events
    sound(wire)


def test_an_event_belongs_to_the_domain_of_most_of_its_units(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(sample.lines("en")[:60])
    for event in wire.events():
        domains = [
            domain
            for (domain,) in wire.writer.rows(
                "SELECT domain FROM assignments WHERE event = ?", [event.id]
            )
        ]
        assert event.domain == min(domains, key=lambda d: (-domains.count(d), d))
        assert event.units == len(domains)


def test_a_dry_run_leaves_events_as_they_are(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(STORIES[:20])
    before = wire.events()
    wire.ingest(STORIES[20:40], dry_run=True)
    assert wire.events() == before


def test_another_placement_finds_the_same_events(open_wire: OpenWire) -> None:
    one, other = open_wire("one.db"), open_wire("other.db", placement="cosine", threshold=0.3)
    one.ingest(STORIES[:40])
    other.ingest(STORIES[:40])
    events = "SELECT id, units, days FROM events ORDER BY id"
    assert list(one.writer.rows(events)) == list(other.writer.rows(events))
    sound(other)
