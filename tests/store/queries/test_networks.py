"""The network of a store."""

from __future__ import annotations

import pytest

from segapsith.api.wire import Wire
from segapsith.errors import MissingInputError
from segapsith_store.queries.networks import find_neighbours, iterate_links, network_status


def test_the_sizes_agree_with_the_links(sampled: Wire) -> None:
    status = sampled.read(network_status)
    links = sampled.read(lambda store: list(iterate_links(store)))
    assert status.links == len(links) == sum(one.links for one in status.languages.values())
    assert status.as_json()["languages"].keys() == {"en"}


def test_neighbours_are_the_links_of_a_word_the_closest_first(sampled: Wire) -> None:
    links = sampled.read(lambda store: list(iterate_links(store)))
    word = links[0].word
    found = sampled.read(lambda store: find_neighbours(store, word, top=1000))
    weights = [neighbour.cohesion for neighbour in found.neighbours]
    assert weights == sorted(weights, reverse=True)
    assert all(neighbour.met > 0 for neighbour in found.neighbours)
    ends = [{link.word, link.neighbour} for link in links if word in (link.word, link.neighbour)]
    assert found.links == len(ends)
    assert {word, *(n.word for n in found.neighbours)} == set().union(*ends)


def test_an_unknown_word_is_an_error_with_suggestions(sampled: Wire) -> None:
    word = max((w.word for d in sampled.domains() for w in d.words), key=len)
    with pytest.raises(MissingInputError, match="near ones"):
        sampled.read(lambda store: find_neighbours(store, f"{word}x"))
