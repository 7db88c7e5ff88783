"""Lists of events: their order, their selection, and headlines that tell them apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.errors import MissingInputError, UsageError

OpenWire = Callable[..., Wire]


def story(number: int, title: str, text: str, date: str | None) -> dict[str, Any]:
    return {"id": f"d{number}", "title": title, "text": text, "date": date, "lang": "en"}


FLOOD = "The river Lynd flooded the old town of Lyndhaven and boats rescued families from roofs"
VOTE = "Voters of Karabo elected mayor Odeya after a recount of the ballots in the city hall"
STORIES = [
    story(1, "Flood in Lyndhaven", f"{FLOOD}.", "2026-03-01"),
    story(2, "Karabo elects Odeya", f"{VOTE}.", "2026-03-02"),
    story(
        3, "Lyndhaven under water", f"{FLOOD} on Monday night, fire brigades said.", "2026-03-03"
    ),
    story(4, "", "Chess masters met in Ostrava.\nThe first game was a draw.", "2026-03-05"),
    story(
        5, "Goats on the loose", "Goats escaped from a farm near Tiverton and ate a hedge.", None
    ),
]


@pytest.fixture
def wire(open_wire: OpenWire) -> Wire:
    wire = open_wire()
    wire.ingest(STORIES)
    return wire


def test_the_latest_events_come_first_and_undated_ones_last(wire: Wire) -> None:
    listed = [(event.first, event.last, event.stories) for event in wire.events()]
    assert listed == [
        ("2026-03-05", "2026-03-05", 1),
        ("2026-03-01", "2026-03-03", 2),
        ("2026-03-02", "2026-03-02", 1),
        (None, None, 1),
    ]


def test_labels_are_headlines_or_the_beginning_of_the_text(wire: Wire) -> None:
    labels = [event.label for event in wire.events()]
    assert labels[0] == "Chess masters met in Ostrava."
    assert labels[1] in ("Flood in Lyndhaven", "Lyndhaven under water")
    assert labels[2:] == ["Karabo elects Odeya", "Goats on the loose"]


def test_a_period_selects_the_events_with_a_day_in_it(wire: Wire) -> None:
    def days(**period: str) -> list[str | None]:
        return [event.first for event in wire.events(**period)]  # type: ignore[arg-type]

    assert days(since="2026-03-03") == ["2026-03-05", "2026-03-01"]
    assert days(until="2026-03-01") == ["2026-03-01"]
    assert days(since="2026-03-02", until="2026-03-04") == ["2026-03-01", "2026-03-02"]
    assert days(until="2026-03") == ["2026-03-05", "2026-03-01", "2026-03-02"]
    with pytest.raises(UsageError, match="should be a date"):
        wire.events(since="yesterday")


def test_events_of_a_domain_are_those_whose_units_are_mostly_there(wire: Wire) -> None:
    everything = wire.events()
    for domain in {event.domain for event in everything}:
        assert wire.events(domain=domain) == [e for e in everything if e.domain == domain]
        assert [e["id"] for e in wire.domains.show(domain)["events"]] == [
            e.id for e in everything if e.domain == domain
        ]
    with pytest.raises(MissingInputError, match="there is no domain 99"):
        wire.events(domain=99)


def test_a_limit_and_a_number_of_stories_shorten_the_list(wire: Wire) -> None:
    assert wire.events(limit=2) == wire.events()[:2]
    assert [event.stories for event in wire.events(min_stories=2)] == [2]


def test_parts_of_the_list_are_the_list(wire: Wire) -> None:
    listed = [event.id for event in wire.events()]
    parts = [wire.events(limit=2, offset=at) for at in range(0, len(listed) + 2, 2)]
    assert [event.id for part in parts for event in part] == listed
    of = wire.events()[0].domain
    whole = [event.id for event in wire.events(domain=of)]
    assert [event.id for event in wire.events(domain=of, offset=1)] == whole[1:]


def test_events_of_one_domain_have_different_labels(open_wire: OpenWire) -> None:
    wire = open_wire(threshold=0.01, event_threshold=0.9)
    wire.ingest(
        story(n, "News in brief", f"Boats of the river town: item{n} other{n} third{n}.", day)
        for n, day in enumerate(["2026-03-01", "2026-03-01", "2026-03-02", None])
    )
    events = wire.events()
    assert len(events) == 4
    assert len({(event.domain, event.label) for event in events}) == 4
    assert all(event.label.startswith("News in brief") for event in events)


def test_a_labeller_names_events_everywhere(open_wire: OpenWire) -> None:
    wire = open_wire(labeller="terms")
    wire.ingest(STORIES[:1])
    (event,) = wire.events()
    assert event.label != "Flood in Lyndhaven" and ", " in event.label
    assert wire.domains.show(event.domain).events[0].label == event.label


def test_of_one_day_the_event_with_most_stories_comes_first(open_wire: OpenWire) -> None:
    wire = open_wire(segmenter="paragraphs")
    long = "\n\n".join(f"{VOTE}, said witness {n}." for n in range(8))
    wire.ingest([story(1, "Karabo elects Odeya", long, "2026-03-01")])
    wire.ingest([story(n, "Flood in Lyndhaven", f"{FLOOD}, {n}.", "2026-03-01") for n in (2, 3)])
    shared, alone = wire.events()
    assert (shared.stories, alone.stories) == (2, 1) and alone.units > shared.units


def test_a_headline_in_capitals_is_replaced_by_the_first_sentence(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest([story(1, "FLOOD IN LYNDHAVEN, SAY POLICE", f"{FLOOD}.", "2026-03-01")])
    label = wire.events()[0].label
    assert label.startswith("The river Lynd flooded the old town of") and not label.isupper()
