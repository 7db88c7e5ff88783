"""Status and run log."""

from __future__ import annotations

from segapsith.api.wire import Wire
from segapsith_store.queries.status import began, list_runs, read_status


def test_the_counts_agree_with_the_lists(sampled: Wire) -> None:
    status = sampled.read(lambda store: read_status(store, stable=3))
    domains = sampled.domains()
    assert status.domains == len(domains)
    assert status.stable_domains == sum(domain.units >= 3 for domain in domains)
    assert status.languages == {"en": status.documents}
    assert status.digest == sampled.verify().digest
    assert status.target is None


def test_runs_come_newest_first_and_the_first_is_the_last_run(sampled: Wire) -> None:
    runs = sampled.read(list_runs)
    assert [run.id for run in runs] == sorted((run.id for run in runs), reverse=True)
    assert [run.command for run in runs] == ["validate", "sections", "topics", "ingest"]
    last = sampled.status().last_run
    assert last is not None and {**last} == {name: runs[0][name] for name in last}
    assert sampled.read(lambda store: list_runs(store, 1)) == runs[:1]


def test_the_beginning_of_a_store_is_its_first_run(sampled: Wire) -> None:
    first = sampled.read(list_runs)[-1]
    assert sampled.read(began)[:2] == (first.started_at, first.command)
