"""What labels are computed from, and how they are stored."""

from __future__ import annotations

import numpy as np
import pytest

import segapsith
from segapsith.api.wire import Wire
from segapsith_store.queries import labels

STORM = "A storm with heavy rain reached the northern coast, and the flood closed many roads. "


@pytest.fixture
def wire() -> Wire:
    opened = segapsith.open(":memory:", lang="en", duplicate_window=0)
    opened.ingest(
        [{"id": str(n), "title": f"Storm number {n} arrives", "text": STORM * 3} for n in range(6)]
    )
    return opened


def test_a_domain_is_marked_until_its_label_is_stored(wire: Wire) -> None:
    marked = labels.unlabelled(wire.writer, 10)
    assert marked and all(lang == "en" for _, lang in marked)
    numbers = [number for number, _ in marked]
    labels.save_domain_labels(wire.writer, numbers, {numbers[0]: "A label"})
    assert labels.unlabelled(wire.writer, 10) == []
    assert dict(labels.other_labels(wire.writer, numbers[1:]))[numbers[0]] == "A label"
    wire.ingest([{"id": "x", "title": "Storm again at the coast", "text": STORM * 3}])
    assert labels.unlabelled(wire.writer, 10)


def test_candidates_are_bounded_and_in_the_order_of_arrival(wire: Wire) -> None:
    (number, *_) = (number for number, _ in labels.unlabelled(wire.writer, 10))
    everything = labels.candidates(wire.writer, [number])[number]
    assert [c.title for c in everything] == sorted(c.title for c in everything)
    assert all(c.leads and c.lead.startswith("A storm") for c in everything)
    assert len(labels.candidates(wire.writer, [number], most=2)[number]) == min(2, len(everything))
    assert labels.candidates(wire.writer, []) == {}


def test_a_group_of_words_wins_where_its_words_weigh_most() -> None:
    shares = np.array([0.5, 0.5, 0.1, 0.9])  # of words 0 and 1 in domain 7, of 1 and 2 in domain 8
    rivals = labels.Rivals(
        {7: 0, 8: 1}, np.array([0, 1, 3, 4]), np.array([0, 0, 1, 1]), shares, shares
    )
    assert rivals.wins(7, [[0, 1], [1, 2], [99]]) == [True, False, False]
    assert rivals.wins(8, [[0, 1], [1, 2]]) == [False, True]
    assert rivals.wins(9, [[0]]) == [True]  # too small to be among them
    assert rivals.wins(7, []) == []


def test_another_labeller_marks_every_domain(wire: Wire) -> None:
    wire.refresh_labels()
    assert labels.unlabelled(wire.writer, 10) == []
    assert not labels.mark_all(wire.writer, "headlines")
    assert labels.mark_all(wire.writer, "terms terms=2")
    assert labels.unlabelled(wire.writer, 10)
