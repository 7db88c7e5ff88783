"""The learned units."""

from __future__ import annotations

import numpy as np

from segapsith.api.wire import Wire
from segapsith_store.queries.stream import (
    iterate_origins,
    iterate_stream,
    learned_units,
    read_stream,
)


def test_a_sample_is_the_end_of_the_stream(sampled: Wire) -> None:
    everything = sampled.read(read_stream)
    last = sampled.read(lambda store: read_stream(store, "en", 5))
    assert (last.n_units, len(last.bags)) == (everything.n_units, 5)
    assert last.domains == everything.domains[-5:]
    assert len(sampled.read(lambda store: list(iterate_stream(store)))) == everything.n_units
    assert sampled.read(lambda store: read_stream(store, "fr")).n_units == 0


def test_units_are_selected_by_domain_language_and_newest_stories(sampled: Wire) -> None:
    learned = sampled.read(learned_units)
    domain = int(learned.domains[0])
    of_domain = sampled.read(lambda store: learned_units(store, "en", domain))
    assert set(of_domain.domains.tolist()) == {domain}
    newest = sampled.read(lambda store: learned_units(store, last=5))
    assert 0 < len(newest.units) < len(learned.units)
    assert np.isin(newest.units, learned.units).all()
    assert learned.counts.shape == (len(learned.units), len(learned.words))
    origins = sampled.read(lambda store: list(iterate_origins(store)))
    assert {origin.unit for origin in origins} == set(learned.units.tolist())
