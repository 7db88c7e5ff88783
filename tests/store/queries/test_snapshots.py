"""A query that asks several questions gets all answers from one state of the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.reporting import report_facts
from segapsith.domains.values import PlacementSettings
from segapsith_store import Store, health, seal
from segapsith_store.digest import changed_blocks, digest
from segapsith_store.queries import (
    documents,
    domains,
    history,
    networks,
    news,
    nights,
    search,
    sections,
    status,
    stream,
    targets,
    topics,
    validations,
)
from segapsith_store.queries.explain import explain
from segapsith_store.verify import verify

NOW = "2026-03-02T00:00:00+00:00"

QUERIES: dict[str, Callable[[Store], Any]] = {
    "assignments": lambda store: list(documents.iterate_assignments(store)),
    "changed blocks": lambda store: list(changed_blocks(store)),
    "digest": digest,
    "documents": lambda store: list(documents.iterate_documents(store)),
    "domain": lambda store: domains.show_domain(store, 1),
    "domains": domains.list_domains,
    "domains then": lambda store: domains.list_domains(store, as_of=1, since=0),
    "explain": lambda store: explain(store, 1, PlacementSettings()),
    "feeds": lambda store: health.checks(store, NOW),
    "forgotten": lambda store: domains.count_forgotten_since(store, 1),
    "headlines": lambda store: documents.headlines(store, [1, 2, 3]),
    "learned units": lambda store: stream.learned_units(store, last=5),
    "lexicon": networks.read_lexicon,
    "links": lambda store: list(networks.iterate_links(store)),
    "matching": lambda store: search.matching_documents(store, "the"),
    "network": lambda store: networks.read_network(store, "en"),
    "network status": networks.network_status,
    "new domains": lambda store: news.count_new_domains(store, 0),
    "news": lambda store: news.read_news(store, 0),
    "nights": lambda store: nights.arrivals(store, 0),
    "origins": lambda store: list(stream.iterate_origins(store)),
    "placed by": lambda store: targets.placed_by(store, 1),
    "quick faults": health.quick_faults,
    "report": lambda store: report_facts(store, min_units=1, limit=3, stable=3),
    "run before last": history.run_before_last,
    "runs": status.list_runs,
    "search": lambda store: search.search(store, "the"),
    "sections": sections.list_sections,
    "sections then": lambda store: sections.list_sections(store, as_of=3),
    "section labels": lambda store: sections.paths(store, {1: "x"}),
    "seal": seal.sealed_digest,
    "sentences": lambda store: documents.example_sentences(store, {1: ["a"], 2: ["b"]}),
    "sizes": health.sizes,
    "status": lambda store: status.read_status(store, stable=3),
    "stream": stream.read_stream,
    "target": targets.followed_target,
    "topics": topics.list_topics,
    "units": lambda store: list(documents.iterate_units(store)),
    "validations": validations.list_validations,
    "verify": verify,
    "words": lambda store: domains.weighted_words(store, [1, 2]),
}


@pytest.mark.parametrize("name", QUERIES)
def test_several_questions_are_asked_in_one_transaction(
    name: str, sample_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[bool] = []
    rows, row = Store.rows, Store.row

    def watched_rows(self: Store, sql: str, parameters: Any = ()) -> Iterator[tuple[Any, ...]]:
        inside.append(self._db.conn.in_transaction)
        yield from rows(self, sql, parameters)

    def watched_row(self: Store, sql: str, parameters: Any = ()) -> tuple[Any, ...] | None:
        inside.append(self._db.conn.in_transaction)
        return row(self, sql, parameters)

    monkeypatch.setattr(Store, "rows", watched_rows)
    monkeypatch.setattr(Store, "row", watched_row)
    with Store.reading(sample_path) as store:
        QUERIES[name](store)
        assert not store._db.conn.in_transaction
    assert inside
    assert len(inside) == 1 or all(inside)
