"""The built-in labellers keep their contract, and choose what fits the kind."""

from __future__ import annotations

import pytest

from segapsith.model import Subject
from segapsith.plugin.registry import load_plugins
from segapsith.testing import Check, labeller_checks
from segapsith_plugins.labellers import headlines
from segapsith_plugins.labellers.headlines import Headlines, Terms

WORDS = {"storm": 0.6, "coast": 0.4, "North Sea": 0.3, "flood": 0.2, "wind": 0.1}
HEADLINES = ["Storm floods the coast", "Coast cleans up after storm"]


@pytest.mark.parametrize("check", labeller_checks, ids=lambda check: check.__name__)
@pytest.mark.parametrize("labeller", [Headlines, Terms])
def test_it_keeps_the_contract(check: Check, labeller: type[Headlines | Terms]) -> None:
    check(labeller)


def test_domains_and_events_get_a_headline_and_broader_things_get_terms() -> None:
    labels = {
        kind: Headlines().label(Subject(kind, "en", WORDS, HEADLINES))
        for kind in ("domain", "event", "topic", "section")
    }
    assert labels["domain"] == labels["event"] == "Storm floods the coast"
    assert labels["topic"] == labels["section"] == "storm, coast, North Sea, flood"


def test_a_domain_without_a_fitting_headline_gets_terms() -> None:
    subject = Subject("domain", "en", WORDS, ["Council debates a new budget"])
    assert Headlines().label(subject) == "storm, coast, North Sea, flood"
    assert Headlines(terms=2).label(subject) == "storm, coast"
    assert Terms(terms=1).label(Subject("domain", "en", WORDS, HEADLINES)) == "storm"


def test_a_wrong_number_of_terms_is_refused() -> None:
    for labeller in (Headlines, Terms):
        with pytest.raises(ValueError, match="terms=0"):
            labeller(terms=0)


def test_both_are_registered() -> None:
    registry = load_plugins(headlines, installed=False)
    assert registry.names("labeller") == ["headlines", "terms"]
    assert (
        registry.make("labeller", "terms", {"terms": 1}).label(Subject("topic", "en", WORDS, []))
        == "storm"
    )
