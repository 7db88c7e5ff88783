"""One story with its versions, copies and units."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from segapsith.api.wire import Wire
from segapsith.errors import MissingInputError
from segapsith_store.queries.browsing.stories import (
    best_units,
    count_sources,
    describe_units,
    read_story,
)

STORM = "A storm reached the northern coast and closed the harbour. Ferries stayed in port."


@pytest.fixture
def corrected(open_wire: Callable[..., Wire]) -> Wire:
    wire = open_wire(lang="en")
    wire.ingest(
        [
            {"id": "a", "title": "Storm", "text": STORM, "source": "one", "date": "2026-01-01"},
            {"id": "b", "title": "Storm", "text": STORM, "source": "two", "date": "2026-01-02"},
        ]
    )
    wire.ingest(
        [{"id": "a", "title": "Storm", "text": f"{STORM} Nobody was hurt.", "source": "one"}]
    )
    return wire


def test_a_story_has_its_versions_and_copies(corrected: Wire) -> None:
    story = corrected.read(lambda store: read_story(store, "a"))
    assert story.version == 2 and [text.version for text in story.versions] == [1, 2]
    assert story.text == f"Storm\n\n{STORM} Nobody was hurt."
    assert [copy.id for copy in story.copies] == ["b"] or story.duplicate_of is None
    assert story.units and all(story.text[u.start : u.end].strip() for u in story.units)


def test_a_copy_has_the_domains_of_its_original(
    sampled: Wire, open_wire: Callable[..., Wire]
) -> None:
    wire = open_wire(lang="en")
    wire.ingest([{"id": "a", "text": STORM}, {"id": "b", "text": STORM}])
    copy = wire.read(lambda store: read_story(store, "b"))
    original = wire.read(lambda store: read_story(store, "a"))
    assert copy.duplicate_of == "a" and [one.id for one in copy.copies] == ["a"]
    assert [u.domain for u in copy.units] == [u.domain for u in original.units]


def test_units_are_described_in_the_order_given(sampled: Wire) -> None:
    units = sampled.domains.show(1).unit_ids
    described = sampled.read(lambda store: describe_units(store, [units[0], 10**6]))
    assert [one.unit for one in described] == [units[0]] and described[0].title
    best = sampled.read(lambda store: best_units(store, units, 3))
    scores = sampled.read(lambda store: [one.score for one in describe_units(store, best)])
    assert scores == sorted(scores, key=lambda score: -(score or 0))
    sources = sampled.read(lambda store: count_sources(store, 1))
    assert sum(sources.values()) <= len(units)


def test_an_unknown_story_is_reported(sampled: Wire) -> None:
    with pytest.raises(MissingInputError, match="no document"):
        sampled.read(lambda store: read_story(store, "nothing"))
