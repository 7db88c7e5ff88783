"""Rows of documents, units and assignments."""

from __future__ import annotations

from segapsith.api.wire import Wire
from segapsith_store.queries.documents import (
    example_sentences,
    headlines,
    iterate_assignments,
    iterate_documents,
    iterate_units,
    unit_places,
)


def test_a_duplicate_has_the_domains_of_its_original(sampled: Wire) -> None:
    documents = {row.id: row for row in sampled.read(lambda store: list(iterate_documents(store)))}
    places: dict[str, list[int | None]] = {}
    for row in sampled.read(lambda store: list(iterate_assignments(store))):
        places.setdefault(row.document, []).append(row.domain)
    copies = [row for row in documents.values() if row.duplicate_of is not None]
    assert copies
    for copy in copies:
        assert set(places[copy.id]) <= set(places[str(copy.duplicate_of)])


def test_units_lie_inside_their_documents(sampled: Wire) -> None:
    documents = {row.id: row for row in sampled.read(lambda store: list(iterate_documents(store)))}
    units = sampled.read(lambda store: list(iterate_units(store)))
    assert len(units) == sampled.status().units
    for unit in units:
        document = documents[unit.document]
        assert 0 <= unit.start < unit.end <= len(f"{document.title}\n\n{document.text}")
        assert not set(unit.words) & set(unit.inferred)


def test_places_headlines_and_sentences_follow_the_units_given(sampled: Wire) -> None:
    units = [row.unit for row in sampled.read(lambda store: list(iterate_units(store)))][:4][::-1]
    assert [p.unit for p in sampled.read(lambda store: unit_places(store, units))] == units
    assert all(sampled.read(lambda store: headlines(store, units)))
    sentences = sampled.read(lambda store: example_sentences(store, {u: [] for u in units}, 40))
    assert sentences.keys() == set(units)
    assert all(len(sentence) <= 40 for sentence in sentences.values())
