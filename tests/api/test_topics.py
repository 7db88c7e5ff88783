"""Topics through the Python API: links across languages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

import segapsith
from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith_store.queries.documents import iterate_assignments


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with segapsith.open(":memory:") as wire:
        for lang in ("de", "es"):
            wire.ingest(sample.lines(lang))
        wire.topics.regroup()
        yield wire


def subjects_of_topics(wire: Wire) -> dict[int, set[str]]:
    """Return the subjects that have at least a quarter of a topic's paragraphs."""
    topic_of = {domain: topic.id for topic in wire.topics.list() for domain in topic.domains}
    counts: dict[int, Counter[str]] = {}
    assignments = wire.read(lambda store: list(iterate_assignments(store)))
    for lang in ("de", "es"):
        paragraphs = sample.gold_of_paragraphs(lang)
        for domain, subject in sample.domains_of_paragraphs(paragraphs, assignments):
            if domain in topic_of:
                counts.setdefault(topic_of[domain], Counter())[subject] += 1
    return {t: {s for s, n in c.items() if n * 4 >= c.total()} for t, c in counts.items()}


@pytest.mark.slow
def test_links_across_join_topics_of_one_subject(wire: Wire) -> None:
    links = wire.topics.propose_links()
    subjects = subjects_of_topics(wire)
    assert len(links) >= 8
    right = [link for link in links if subjects[link.left.id] & subjects[link.right.id]]
    assert len(right) >= 0.9 * len(links)
    assert {link.left.lang for link in links} | {link.right.lang for link in links} == {"de", "es"}
    assert all(link.proposal for link in links)


def test_proposing_changes_nothing(wire: Wire) -> None:
    before = wire.status()
    wire.topics.propose_links(min_score=0.0)
    after = wire.status()
    assert (after.digest, after.runs) == (before.digest, before.runs)


def test_links_can_be_restricted(wire: Wire) -> None:
    every = wire.topics.propose_links()
    assert wire.topics.propose_links(lang="de") == every
    assert wire.topics.propose_links(lang="fr") == []
    assert wire.topics.propose_links(limit=2) == every[:2]
    strict = wire.topics.propose_links(min_score=0.5)
    assert strict == [link for link in every if link.score >= 0.5]
    large = wire.topics.propose_links(min_units=2)
    assert all(min(link.left.units, link.right.units) >= 2 for link in large)


def test_a_link_has_a_json_form(wire: Wire) -> None:
    link = wire.topics.propose_links(limit=1)[0].as_json()
    assert link["proposal"] is True
    assert set(link["left"]) == {"id", "lang", "label", "units"}
    assert link["names"] and all(isinstance(name, str) for name in link["names"])
