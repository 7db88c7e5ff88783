"""The list of domains, and one domain in full."""

from __future__ import annotations

import json

import pytest

from segapsith.api.wire import Wire
from segapsith.errors import MissingInputError
from segapsith_store.queries.domains import list_domains, show_domain, weighted_words


def test_domains_come_largest_first_and_have_no_key_that_was_not_requested(sampled: Wire) -> None:
    domains = sampled.read(list_domains)
    assert domains == sorted(domains, key=lambda domain: (-domain.units, domain.id))
    assert not {"days", "units_since"} & set(domains[0].as_json())
    with_days = sampled.read(lambda store: list_domains(store, days=True, since=0, limit=1))
    assert with_days[0].as_json()["units_since"] == with_days[0].units
    assert sum(with_days[0]["days"].values()) + with_days[0].undated == with_days[0].units


def test_a_limit_gives_the_same_domains_as_the_whole_list(sampled: Wire) -> None:
    everything = sampled.read(list_domains)
    assert sampled.read(lambda store: list_domains(store, limit=3)) == everything[:3]
    assert sampled.read(lambda store: list_domains(store, as_of=1, limit=3)) == everything[:3]


def test_a_domain_in_full_agrees_with_the_list(sampled: Wire) -> None:
    for domain in sampled.read(lambda store: list_domains(store, limit=5)):
        details = sampled.read(lambda store, number=domain.id: show_domain(store, number, top=10))
        assert {name: details[name] for name in domain} == {**domain}
        assert len(details.unit_ids) == domain.units
        assert len(details.document_ids) == domain.documents
        assert all(near.id != domain.id and 0 < near.similarity <= 1 for near in details.near)
        assert all(s.document in details.document_ids for s in details.sentences)
        json.dumps(details.as_json())


def test_a_domain_that_does_not_exist_is_an_error(sampled: Wire) -> None:
    with pytest.raises(MissingInputError, match="there is no domain 4711"):
        sampled.read(lambda store: show_domain(store, 4711))


def test_words_above_a_weight_are_added_to_the_best_ones(sampled: Wire) -> None:
    (domain,) = sampled.read(lambda store: list_domains(store, limit=1, top=None))
    words = sampled.read(lambda store: weighted_words(store, [domain.id], 2, 0.1))[domain.id]
    heavy = [word for word in domain.words if word.weight > 0.1]
    assert words == (heavy if len(heavy) > 2 else list(domain.words)[:2])
