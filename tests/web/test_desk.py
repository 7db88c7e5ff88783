"""The store behind the pages: who may change it, and who writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from segapsith.errors import BusyError
from segapsith.web.desk import ChangesOffError, Desk, StaleFormError
from segapsith.web.security import WebOptions
from segapsith_store import Store
from segapsith_store.queries.status import Run


def test_changes_are_off_unless_allowed(own_path: Path) -> None:
    with pytest.raises(ChangesOffError, match="--allow-changes"):
        Desk(own_path, WebOptions()).change(0, lambda wire: wire.domains.lock([1]))


def test_a_change_needs_to_know_the_last_run(own_path: Path) -> None:
    desk = Desk(own_path, WebOptions(allow_changes=True))
    last = desk.wire.browse.state().run
    done = desk.change(last, lambda wire: wire.domains.lock([1]))
    with pytest.raises(StaleFormError) as error:
        desk.change(last, lambda wire: wire.domains.lock([2]))
    assert [run.id for run in error.value.between] == [done.run]
    assert error.value.known == last


def test_another_writer_makes_a_change_wait(own_path: Path) -> None:
    desk = Desk(own_path, WebOptions(allow_changes=True, wait_seconds=0.05))
    with Store.writing(own_path), pytest.raises(BusyError):
        desk.change(desk.wire.browse.state().run, lambda wire: wire.domains.lock([1]))
    assert desk.change(desk.wire.browse.state().run, lambda wire: wire.domains.lock([1])).run


def test_who_writes_is_named(own_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = Desk(own_path, WebOptions())
    assert desk.busy() == ""
    with Store.writing(own_path):
        assert desk.busy().startswith(f"process {os.getpid()} (")
    run = Run(9, "ingest", "running", "night", "2026-01-01T02:30", None, {}, {}, None, {})
    monkeypatch.setattr(desk.wire, "runs", lambda limit: [run])
    assert desk.busy() == "run 9, ingest (night), since 2026-01-01T02:30"


def test_everything_that_a_thread_reads_is_of_one_state(own_path: Path) -> None:
    desk = Desk(own_path, WebOptions(allow_changes=True))
    with desk.reading() as moment:
        last, label = desk.wire.runs(1)[0].id, desk.wire.browse.activity().described[1].label
        desk.change(moment.state.run, lambda wire: wire.domains.rename(1, "Mine"))
        assert desk.wire.runs(1)[0].id == last == desk.wire.browse.state().run
        assert desk.wire.browse.activity().described[1].label == label
        assert desk.wire.browse.domain(1).row.label == label
    with desk.reading():
        assert desk.wire.runs(1)[0].id == last + 1
        assert desk.wire.browse.domain(1).row.label == "Mine"
    desk.close()
