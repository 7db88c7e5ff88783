"""The contract of a storage: SQLite and memory hold the same after the same work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from segapsith.api.factory import Factory
from segapsith.demo import sample
from segapsith.domains.threshold_control import Target
from segapsith.engine import domain_changes, reference_corpus
from segapsith.engine.components import Components
from segapsith.engine.ingest import Engine
from segapsith.engine.runs import RunPlan
from segapsith.engine.storage import Storage
from segapsith.errors import PluginError, UsageError
from segapsith.lexicon.vocabulary import SCALE
from segapsith.model import Document, FeedState, document_of, unit_of
from segapsith.settings import resolve
from segapsith.testing.memory_storage import MemoryStorage
from segapsith_store import Store
from segapsith_store.queries import targets

STORIES = [document_of(line) for line in sample.lines("en")[:60]]
UNITS = [
    unit_of({"id": f"u{n}", "words": {"storm": 1 + n % 3, "harbour": 2, f"word{n % 5}": 1}})
    for n in range(12)
]
PLAN = RunPlan("ingest", batch=16)


@pytest.fixture
def components() -> Components:
    return Factory(resolve({"lang": "en"}, environment={})).learning()


@pytest.fixture(params=["sqlite", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    if request.param == "memory":
        yield MemoryStorage()
        return
    with Store.writing(tmp_path / "contract.db") as store:
        yield store


def plain(value: Any) -> Any:
    """Return records and arrays as lists, to be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def contents(storage: Storage) -> dict[str, Any]:
    """Return everything that the protocol tells about a storage."""
    facts = {n: v for n, v in storage.facts().items() if n != "tombstone_salt"}
    n_runs = int(facts.get("next_run", 1))
    uids = [d.uid for d in (*STORIES, *UNITS)]
    documents = [d for uid in uids if (d := storage.document(uid)) is not None]
    versions = {d.id: storage.versions_of(d.id) for d in documents}
    domains = list(storage.domains())
    arrays = {name: storage.frozen_arrays(name) for name in ("frequencies", "word space")}
    return plain(
        {
            "facts": facts,
            "words": list(storage.words()),
            "languages": storage.languages(),
            "cohesion": storage.cohesion(),
            "terms": storage.terms(),
            "term_counts": {n: c.arrays() for n, c in storage.term_counts().items()},
            "pairs": _pairs(storage),
            "references": storage.references(),
            "arrays": {n: record and {**record.arrays} for n, record in arrays.items()},
            "controller": storage.threshold_controller(),
            "known_uids": sorted(storage.known_uids(uids)),
            "known_texts": sorted(
                storage.known_texts([v.hash for texts in versions.values() for v in texts])
            ),
            "forgotten": sorted(storage.forgotten_uids(uids)),
            "documents": documents,
            "by_id": [storage.document_by_id(d.id) for d in documents],
            "duplicates": [storage.duplicates_of(d.id) for d in documents],
            "stories_with": [storage.stories_with(v[-1].hash) for v in versions.values()],
            "seen": [storage.seen(d.id, "") for d in documents],
            "signatures": list(storage.signatures(3)),
            "sequences": list(storage.sequences(3)),
            "versions": versions,
            "after_the_first": {d.id: storage.versions_of(d.id, after=1) for d in documents},
            "units": [storage.units_of_version(v.id) for vs in versions.values() for v in vs],
            "units_by_id": storage.units(range(1, 40)),
            "units_in": storage.units_in([domain.id for domain in domains[:4]]),
            "units_since": storage.units_since(20),
            "assigned": list(storage.assigned_units()),
            "domains": domains,
            "domain": [storage.domain(domain.id) for domain in domains],
            "open": list(storage.open_domains()),
            "open_fr": list(storage.open_domains("fr")),
            "events": (events := list(storage.events())),
            "event": [storage.event(event.id) for event in events] + [storage.event(10_000)],
            "open_events": list(storage.open_events()),
            "protected": sorted(storage.protected_domains()),
            "taken": storage.units_taken_since(1),
            "by_run": [
                (
                    storage.command_and_status(run),
                    storage.documents_of(run),
                    storage.changes_by(run),
                    storage.past_assignments(run),
                    storage.units_moved_by(run),
                    storage.lineage_of(run),
                    storage.events_closed_by(run),
                    storage.later_runs(run),
                )
                for run in range(n_runs)
            ],
            "undoable": storage.undoable(),
        }
    )


def _pairs(storage: Storage) -> list[list[int]]:
    pieces = list(storage.pairs())
    return [
        [key, times]
        for piece in pieces
        for key, times in zip(piece.keys.tolist(), piece.counts.tolist(), strict=True)
        if times
    ]


def learned(storage: Storage, components: Components) -> Engine:
    engine = Engine(storage, components)
    engine.ingest(STORIES[:40], PLAN)
    return engine


def _correct(engine: Engine) -> None:
    changed = [replace(story, body=f"{story.body} Again.") for story in STORIES[3:6]]
    copies = [replace(story, uid=f"copy-{story.uid}") for story in STORIES[:2]]
    engine.ingest([*changed, *copies, *STORIES[40:50]], PLAN)


def _curate(engine: Engine) -> None:
    largest = sorted(engine.storage.open_domains(), key=lambda row: (-row.sums.n_units, row.id))
    first, second, third = (row.id for row in largest[:3])
    units = [unit.id for unit in engine.storage.units_in([first])]
    parts = (tuple(units[:1]), tuple(units[1:]))
    engine.change([domain_changes.Rename(third, "a name")], RunPlan("rename"))
    engine.change([domain_changes.Split(first, parts)], RunPlan("split"))
    engine.change([domain_changes.Merge((second, third))], RunPlan("merge"))
    (row, *_) = engine.storage.open_domains()
    engine.change([domain_changes.Lock((row.id,))], RunPlan("lock"))


def _forget(engine: Engine) -> None:
    engine.ingest([replace(STORIES[7], uid="a copy")], PLAN)
    engine.forget(STORIES[7].uid, STORIES[8].uid)
    engine.ingest(STORIES[6:10], PLAN)
    engine.allow_again(STORIES[8].uid)
    engine.ingest(STORIES[6:10], PLAN)


def _undo(engine: Engine) -> None:
    _correct(engine)
    _curate(engine)
    for _ in range(5):
        engine.undo()


def _follow(engine: Engine) -> None:
    target = Target("new_rate", 200_000, SCALE // 4, 3_000_000, 40)
    storage = engine.storage
    with storage.run(RunPlan("tune")) as run:
        if isinstance(storage, Store):
            targets.save_target(storage, run.number, target)
        else:
            assert isinstance(storage, MemoryStorage)
            storage.keep_target(run.number, target)
    Engine(storage, engine.components).ingest(STORIES[40:60], replace(PLAN, batch=7))


def _build_network(engine: Engine) -> None:
    plan = RunPlan(reference_corpus.BUILD, input_key="a corpus")
    reference_corpus.build(STORIES[40:50], engine.state, engine.components, engine.storage, plan)
    with pytest.raises(UsageError, match="already"):
        reference_corpus.build([], engine.state, engine.components, engine.storage, plan)
    Engine(engine.storage, engine.components).ingest(STORIES[40:60], PLAN)


WORK: dict[str, Callable[[Engine], object]] = {
    "ingest": lambda engine: engine.ingest(STORIES[30:60], PLAN),
    "units": lambda engine: engine.ingest(UNITS, PLAN),
    "feed": lambda engine: engine.ingest(
        [*STORIES[40:44], FeedState("https://example.org", "2026-03-02T20:00:00+00:00", "e")], PLAN
    ),
    "correct": _correct,
    "curate": _curate,
    "forget": _forget,
    "undo": _undo,
    "follow": _follow,
    "network": _build_network,
}


@pytest.mark.parametrize("work", WORK)
def test_memory_holds_what_sqlite_holds(work: str, tmp_path: Path, components: Components) -> None:
    memory = MemoryStorage()
    WORK[work](learned(memory, components))
    with Store.writing(tmp_path / "contract.db") as store:
        WORK[work](learned(store, components))
        expected, found = contents(store), contents(memory)
    for name in expected:
        assert found[name] == expected[name], name


def test_a_state_that_is_loaded_again_learns_the_same(
    storage: Storage, components: Components
) -> None:
    engine = learned(storage, components)
    engine.ingest(STORIES[40:], PLAN)
    whole = contents(storage)
    again = MemoryStorage()
    learned(again, components)
    Engine(again, components).ingest(STORIES[40:], PLAN)
    parts = contents(again)
    assert (parts["assigned"], parts["domains"]) == (whole["assigned"], whole["domains"])


class _Breaks:
    """An annotator that fails at a document."""

    def __init__(self, annotator: Any, at: int) -> None:
        self._annotator, self._left = annotator, at

    def annotate(self, documents: Any, lexicon: Any) -> Iterator[Any]:
        for annotation in self._annotator.annotate(documents, lexicon):
            self._left -= 1
            if self._left < 0:
                raise PluginError("it broke")
            yield annotation


@pytest.mark.parametrize(("key", "status"), [("a delivery", "interrupted"), ("", "failed")])
def test_a_run_that_raises_can_be_resumed_if_its_input_has_a_key(
    storage: Storage, components: Components, key: str, status: str
) -> None:
    plan = RunPlan("ingest", input_key=key, batch=8)
    broken = replace(components, annotator=_Breaks(components.annotator, 20))  # type: ignore[arg-type]
    with pytest.raises(PluginError):
        Engine(storage, broken).ingest(STORIES[:40], plan)
    assert storage.command_and_status(1) == ("ingest", status)
    assert len(storage.documents_of(1)) == 16
    summary = Engine(storage, components).ingest(STORIES[:40], plan)
    assert (summary.run, summary.read) == ((1, 40) if key else (2, 40))
    whole = MemoryStorage()
    Engine(whole, components).ingest(STORIES[:40], plan)
    resumed, expected = contents(storage), contents(whole)
    if not key:  # some domains were made by the first run
        resumed["domains"] = [{**row, "run": 1} for row in resumed["domains"]]
    for name in ("domains", "words", "pairs", "languages"):
        assert resumed[name] == expected[name], name


def test_a_run_that_was_never_ended_is_interrupted_when_the_next_begins(
    storage: Storage,
) -> None:
    context = storage.run(RunPlan("validate"))
    context.__enter__()
    assert storage.command_and_status(1) == ("validate", "running")
    with storage.run(RunPlan("cluster")) as run:
        run.counts = {"units": 3}
    assert storage.command_and_status(1) == ("validate", "interrupted")
    assert storage.command_and_status(2) == ("cluster", "done")


def test_an_update_that_cannot_be_saved_leaves_everything_as_it_was(
    storage: Storage, components: Components, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = learned(storage, components)
    before = contents(storage)
    calls = count()
    save = type(storage).save

    def broken(self: Any, update: Any) -> None:
        save(self, replace(update, counts={"nan": float("nan")}))

    monkeypatch.setattr(type(storage), "save", broken)
    with pytest.raises(Exception, match=r"not a number|not JSON compliant"):
        engine.ingest([Document(uid=f"late-{next(calls)}", body=STORIES[50].body)], PLAN)
    monkeypatch.undo()
    after = contents(storage)
    for name in set(before) - {"facts", "by_run", "undoable"}:
        assert after[name] == before[name], name
    engine.ingest(STORIES[40:60], PLAN)
    assert len(list(storage.assigned_units())) > len(before["assigned"])
