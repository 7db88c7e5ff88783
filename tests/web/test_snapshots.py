"""One state of the store for all requests, and when it is renewed."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.web import snapshots
from segapsith.web.snapshots import READERS, Snapshots
from segapsith_store import Store, connections
from segapsith_store.queries.browsing.activity import StoreState, read_state


class Watched:
    """Snapshots of a store with a clock that is set by hand; notes what was warmed and shown."""

    def __init__(self, path: Path) -> None:
        self.time = 0.0
        self.warmed: list[StoreState] = []
        self.shown: list[StoreState] = []
        self.snapshots = Snapshots(
            str(path),
            warm=self.warm,
            show=self.shown.append,
            clock=lambda: self.time,
        )

    def warm(self, store: Store, pause: Callable[[], object]) -> None:
        pause()
        self.warmed.append(read_state(store))

    def state(self) -> StoreState:
        with self.snapshots.reading(5) as (moment, store):
            assert read_state(store) == moment.state
            return moment.state

    def wait_for_renewal(self) -> None:
        thread = self.snapshots._renewing
        if thread is not None:
            thread.join(20)


@pytest.fixture
def watched(own_path: Path) -> Watched:
    return Watched(own_path)


def renamed(path: Path, name: str) -> None:
    with Wire(path) as wire:
        wire.domains.rename(1, name)


def marked_running(path: Path, running: bool = True) -> None:
    """Make the store look as while a run writes; the next batch is committed."""
    with Store.writing(path) as store:
        store.change(
            lambda c: (
                c.execute(
                    "UPDATE runs SET status = ?, position = position + 1"
                    " WHERE id = (SELECT max(id) FROM runs)",
                    ["running" if running else "done"],
                ).rowcount
            )
        )


def test_all_requests_of_a_state_read_the_same_commit(watched: Watched, own_path: Path) -> None:
    with watched.snapshots.reading(5) as (first, one):
        renamed(own_path, "Mine")
        with watched.snapshots.reading(5) as (second, other):
            assert second is not first and second.state.run == first.state.run + 1
            assert read_state(one) == first.state and read_state(other) == second.state
        assert first.is_open
    assert not first.is_open and second.is_open


def test_after_a_run_the_next_request_sees_it(watched: Watched, own_path: Path) -> None:
    before = watched.state()
    assert watched.state() == before and len(watched.shown) == 1
    renamed(own_path, "Mine")
    assert watched.state().run == before.run + 1
    assert watched.warmed == [] and len(watched.shown) == 2


def test_while_a_run_writes_the_state_is_renewed_from_time_to_time(
    watched: Watched, own_path: Path
) -> None:
    before = watched.state()
    marked_running(own_path)
    assert watched.state() == before
    watched.time = snapshots.LEAST_AGE
    assert watched.state() == before, "requests do not wait for the columns of the new state"
    watched.wait_for_renewal()
    between = watched.state()
    assert between.changing and watched.warmed == [between]
    marked_running(own_path)
    assert watched.state() == between
    marked_running(own_path, running=False)
    assert watched.state().position == before.position + 3


def test_a_state_that_took_long_to_read_is_shown_for_longer(
    watched: Watched, own_path: Path
) -> None:
    watched.state()
    marked_running(own_path)
    watched.time = snapshots.LEAST_AGE

    def slow(store: Store, _: Callable[[], object]) -> None:
        watched.time += 10.0
        watched.warmed.append(read_state(store))

    watched.snapshots._warm = slow
    watched.state()
    watched.wait_for_renewal()
    shown = watched.state()
    marked_running(own_path)
    watched.time += 10 * snapshots.AGE_PER_COST - 1
    assert watched.state() == shown
    watched.wait_for_renewal()
    assert watched.state() == shown
    watched.time += 1
    watched.state()
    watched.wait_for_renewal()
    assert watched.state() != shown


def test_without_requests_no_connection_stays_open(watched: Watched) -> None:
    with watched.snapshots.reading(5) as (moment, _):
        made = moment.made(("a",), lambda: b"text")
        watched.time = snapshots.IDLE + 1
        watched.snapshots._release()
        assert moment.is_open, "a request uses it"
    watched.time += snapshots.IDLE - 1
    watched.snapshots._release()
    assert moment.is_open
    watched.time += 1
    watched.snapshots._release()
    assert not moment.is_open
    with watched.snapshots.reading(5) as (again, _):
        assert again is moment and again.made(("a",), lambda: b"other") == made
    watched.snapshots.close()


def test_a_restored_file_is_noticed(watched: Watched, own_path: Path) -> None:
    copy = own_path.with_suffix(".copy")
    shutil.copy(own_path, copy)
    before = watched.state()
    renamed(own_path, "Mine")
    assert watched.state().run == before.run + 1
    copy.replace(own_path)
    for rest in (f"{own_path}-wal", f"{own_path}-shm"):
        Path(rest).unlink(missing_ok=True)
    assert watched.state() == before


def test_pages_are_made_once_for_a_state(watched: Watched, own_path: Path) -> None:
    calls: list[bytes] = []

    def make(text: bytes) -> Callable[[], bytes]:
        return lambda: calls.append(text) or text

    with watched.snapshots.reading(5) as (moment, _):
        assert [moment.made(("a",), make(b"1")), moment.made(("a",), make(b"2"))] == [b"1", b"1"]
        assert moment.made(("b",), lambda: 3) == 3 and moment.made(("b",), lambda: 4) == 4
    renamed(own_path, "Mine")
    with watched.snapshots.reading(5) as (moment, _):
        assert moment.made(("a",), make(b"5")) == b"5"
    assert calls == [b"1", b"5"]


def test_more_requests_than_connections_wait_for_each_other(watched: Watched) -> None:
    inside = threading.Semaphore(0)
    states: list[StoreState] = []

    def ask() -> None:
        states.append(watched.state())
        inside.release()

    threads = [threading.Thread(target=ask) for _ in range(3 * READERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(states) == 3 * READERS and len(set(states)) == 1


def test_if_others_commit_all_the_time_one_connection_is_enough(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = iter(range(1000))
    monkeypatch.setattr(Store, "data_version", lambda self: next(versions))
    with watched.snapshots.reading(5) as (moment, store):
        assert read_state(store) == moment.state


def test_after_a_run_columns_are_read_before_the_first_request(
    watched: Watched, own_path: Path
) -> None:
    watched.snapshots.look()
    watched.snapshots.look()
    assert len(watched.warmed) == 1, "the columns of a state are read once"
    marked_running(own_path)
    watched.snapshots.look()
    assert len(watched.warmed) == 1, "nothing is read while a run writes and nobody asks"
    marked_running(own_path, running=False)
    watched.snapshots.look()
    assert watched.warmed[-1] == watched.shown[-1] == watched.state()
    assert len(watched.warmed) == 2


def test_a_process_that_is_about_to_compute_labels_is_waited_for(
    watched: Watched, own_path: Path
) -> None:
    with Store.writing(own_path) as store:
        store.change(lambda c: c.execute("INSERT INTO unlabelled (domain) VALUES (1)").rowcount)
        watched.snapshots.look()
        assert watched.warmed == []
    watched.snapshots.look()
    assert [state.unlabelled for state in watched.warmed] == [1]


def test_the_application_looks_for_new_states_from_its_start_to_its_end(own_path: Path) -> None:
    from starlette.testclient import TestClient

    from segapsith import web

    application = web.app(own_path)
    read = threading.Event()
    own = application.state.desk._snapshots
    own._warm = lambda store, pause: read.set()
    with TestClient(application):
        assert read.wait(20)
    assert own._stopped.is_set()


def test_connections_are_closed_while_a_text_is_forgotten(watched: Watched, own_path: Path) -> None:
    watched.state()  # connections that read the last commit from the log
    with Wire(own_path) as wire:
        title = sample.lines("en")[0]["title"]
        watched.snapshots.watch()
        try:
            wire.forget("en-001")
        finally:
            watched.snapshots.close()
        for end in ("", "-wal"):
            assert title.encode() not in Path(f"{own_path}{end}").read_bytes()


def test_a_process_that_was_killed_while_it_emptied_the_log_is_answered_once(
    watched: Watched, own_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "GATE", 0.02)
    with Store.writing(own_path), connections.emptying_log(str(own_path)):
        asking = Path(f"{own_path}.lock").read_text("utf-8")
    Path(f"{own_path}.lock").write_text(asking, "utf-8")
    with watched.snapshots.reading(5) as (moment, _):
        pass
    watched.snapshots.release_log()
    assert not moment.is_open
    with watched.snapshots.reading(5) as (moment, _):
        pass
    watched.snapshots.release_log()
    assert moment.is_open
    watched.snapshots.close()
