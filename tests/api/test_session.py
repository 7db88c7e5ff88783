"""One answer is of one state of the store, whatever others write meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.settings import resolve
from segapsith_store import Store
from segapsith_store.seal import sealed_digest

pytestmark = pytest.mark.slow

ITEMS, BASE = sample.lines("en"), 60

ANSWERS: dict[str, Callable[[Wire], Any]] = {
    "status": lambda wire: wire.status(),
    "domains": lambda wire: wire.domains(top=3),
    "explain": lambda wire: wire.explain(1),
    "tune": lambda wire: wire.tune(target_new_rate=0.3),
    "curve": lambda wire: wire.validation.curve(thresholds=[0.2], min_units=1, nightly=True),
    "compare": lambda wire: wire.compare(wire.path, 1),
    "report": lambda wire: wire.report(),
    "read": lambda wire: wire.read(lambda store: (store.facts(), list(store.words()))),
}


def count(store: Store) -> int:
    return store.number("SELECT count(*) FROM documents")


def wire_on(path: Path) -> Wire:
    return Wire(path, resolve({"lang": "en"}, environment={}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with wire_on(tmp_path / "wire.db") as wire:
        wire.ingest(ITEMS[:BASE])
    return tmp_path / "wire.db"


@pytest.fixture
def intruder(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bool]]:
    """Another writer, who commits once between the first and the second question of a reader."""
    state = {"waits": False, "came": False}
    rows = Store.rows

    def watched(self: Store, sql: str, parameters: Any = ()) -> Iterator[tuple[Any, ...]]:
        yield from list(rows(self, sql, parameters))
        if state["waits"]:
            state.update(waits=False, came=True)
            with wire_on(path) as other:
                other.ingest(ITEMS[BASE : BASE + 20])
                other.domains.merge([1, 2])

    monkeypatch.setattr(Store, "rows", watched)
    monkeypatch.setattr(
        Store, "row", lambda self, sql, parameters=(): next(self.rows(sql, parameters), None)
    )
    yield state


@pytest.mark.parametrize("name", ANSWERS)
def test_a_commit_between_two_questions_does_not_show_in_one_answer(
    path: Path, intruder: dict[str, bool], name: str
) -> None:
    before, documents = ANSWERS[name](wire_on(path)), wire_on(path).read(count)
    intruder["waits"] = True
    assert ANSWERS[name](wire_on(path)) == before
    assert intruder["came"]
    assert wire_on(path).read(count) > documents


def test_reads_inside_see_the_state_that_is_held(path: Path) -> None:
    wire = wire_on(path)
    with wire.reading() as store:
        before, documents = wire.status(), wire.read(count)
        with wire_on(path) as other:
            other.ingest(ITEMS[BASE : BASE + 8])
        assert wire.status() == before
        with wire.reading() as inner:
            assert inner is store
        assert wire.read(count) == documents
    assert wire.read(count) > documents


def test_each_thread_holds_its_own_state(path: Path) -> None:
    wire, counts = wire_on(path), []
    with wire.reading() as store:
        documents = count(store)
        thread = threading.Thread(target=lambda: counts.append(wire.read(count)))
        thread.start()
        thread.join()
    assert counts == [documents]


def test_what_goes_wrong_outside_the_store_is_not_blamed_on_it(path: Path) -> None:
    with pytest.raises(BrokenPipeError), wire_on(path).reading():
        raise BrokenPipeError


def test_who_proves_takes_the_lock_before_the_first_question(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> Store:
        raise AssertionError("a second connection: its answers may be of another state")

    monkeypatch.setattr(Store, "reading", refused)
    with wire_on(path) as wire:
        wire.validate(min_units=1, stability=0)
    with wire_on(path) as wire:
        wire.validation.drift(since=1)


# -- sealing -------------------------------------------------------------------------------------


def test_an_ingest_that_brought_much_seals_the_store_and_a_small_one_ends_the_seal(
    path: Path,
) -> None:
    with wire_on(path) as wire:
        assert sealed_digest(wire.writer) == wire.status()["digest"]
        wire.ingest(ITEMS[:2])
        assert sealed_digest(wire.writer) is None


def test_refining_seals_again(path: Path) -> None:
    with wire_on(path) as wire:
        wire.ingest(ITEMS[BASE:])
        wire.domains.refine(3)
        assert sealed_digest(wire.writer) is not None
