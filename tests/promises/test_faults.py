"""Every n-th thing that can go wrong, one after the other: statements, file writes, plugin calls.

The short forms take every so many; `--long` takes each. After each fault the store is sound, and
the same command brings it to the digest of an undisturbed one.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import shutil
import signal
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.cli.app import run
from segapsith.demo import sample
from segapsith.engine.ingest import Engine
from segapsith.errors import MissingInputError, PluginError, SegapsithError, StorageError
from segapsith.plugin.guards import GuardedAnnotator, GuardedSegmenter, PluginName
from segapsith_store.seal import seal, sealed_digest

pytestmark = pytest.mark.slow

PAGE = 16_384
FORGOTTEN = "en-003"


def forget(wire: Wire) -> None:
    wire.forget(FORGOTTEN)


def undo(wire: Wire) -> None:
    wire.runs.undo()


def undo_all(wire: Wire) -> None:
    wire.runs.undo(1)


# -- the n-th statement of undo and forget (that of an ingest is in test_crash.py) ---------------


class Fuse:
    """A connection that kills its process at the n-th statement."""

    def __init__(self, connection: sqlite3.Connection, statements: int) -> None:
        self._connection, self._left = connection, statements

    def _burn(self) -> None:
        self._left -= 1
        if self._left < 0:
            signal.raise_signal(signal.SIGKILL)

    def execute(self, *arguments: Any) -> Any:
        self._burn()
        return self._connection.execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        self._burn()
        return self._connection.executemany(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def taken_back(
    trials: Any, whole: Path, work: Callable[[Wire], None], step: int, start: int = 0
) -> int:
    """Kills at every `step`-th statement until the work gets through; how many kills that took."""
    before = trials.digest(whole)
    undisturbed = trials.folder / "undisturbed.db"
    shutil.copy(whole, undisturbed)
    with trials.wire(undisturbed) as wire:
        work(wire)
    after = trials.digest(undisturbed)
    kills = 0
    while True:
        path = trials.folder / f"{kills}.db"
        shutil.copy(whole, path)

        def burning(path: Path = path, left: int = start + kills * step) -> None:
            with trials.wire(path) as wire:
                wire.writer._db.conn = Fuse(wire.writer._db.conn, left)
                work(wire)

        ended = trials.child(burning)
        found = trials.digest(path)
        assert found in (before, after)  # all of it, or nothing
        if found == before:
            with trials.wire(path) as wire:
                work(wire)
            assert trials.digest(path) == after
        if ended == 0:
            return kills
        assert ended == -signal.SIGKILL
        kills += 1


@pytest.mark.parametrize(("work", "step"), [(undo, 31), (forget, 17)])
def test_a_kill_at_a_statement_of_taking_back_leaves_all_or_nothing(
    trials: Any, whole: Path, work: Callable[[Wire], None], step: int
) -> None:
    kills = taken_back(trials, whole, work, step)
    print("trials:", kills)
    assert kills >= 3


@pytest.mark.long
@pytest.mark.parametrize("work", [undo, forget])
def test_a_kill_at_any_statement_of_taking_back_leaves_all_or_nothing(
    trials: Any, whole: Path, work: Callable[[Wire], None]
) -> None:
    kills = taken_back(trials, whole, work, 1)
    print("trials:", kills)
    assert kills >= 40


def forgotten_for_good(trials: Any, whole: Path, step: int) -> int:
    """Kills `forget` at every `step`-th statement: the document and its tombstone are never both
    there nor both missing, and after one more `forget` the same delivery brings nothing back."""
    kills = 0
    while True:
        path = trials.folder / f"{kills}.db"
        shutil.copy(whole, path)

        def burning(path: Path = path, left: int = kills * step) -> None:
            with trials.wire(path) as wire:
                wire.writer._db.conn = Fuse(wire.writer._db.conn, left)
                forget(wire)

        ended = trials.child(burning)
        with trials.wire(path) as wire:
            is_there = wire.writer.document(FORGOTTEN) is not None
            assert is_there == (not wire.writer.forgotten_uids([FORGOTTEN]))
            if is_there:
                forget(wire)
            else:
                with pytest.raises(MissingInputError, match="already forgotten"):
                    forget(wire)
            assert wire.domains.forgotten_since(1) == 1
        after = trials.digest(path)
        with trials.wire(path) as wire:
            trials.ingest(wire)
            assert wire.runs(limit=1)[0]["counts"]["forgotten"] == 1
        assert trials.digest(path) == after
        if ended == 0:
            return kills
        assert ended == -signal.SIGKILL
        kills += 1


def test_a_kill_at_a_statement_of_forgetting_leaves_document_or_tombstone(
    trials: Any, whole: Path
) -> None:
    kills = forgotten_for_good(trials, whole, 13)
    print("trials:", kills)
    assert kills >= 3


@pytest.mark.long
def test_a_kill_at_any_statement_of_forgetting_leaves_document_or_tombstone(
    trials: Any, whole: Path
) -> None:
    kills = forgotten_for_good(trials, whole, 1)
    print("trials:", kills)
    assert kills >= 40


# -- the n-th page that is written to a file -------------------------------------------------------


def written(trials: Any, whole: Path, pages: range, killed: bool) -> tuple[int, int]:
    """Lets no file grow beyond so many pages: by force, or with an error as on a full disk.

    How many ended so, and how many of these had committed something.
    """
    wanted = trials.digest(whole)
    ended = progress = 0
    for limit in pages:
        path = trials.folder / f"{limit}.db"

        def limited(path: Path = path, limit: int = limit) -> None:
            if killed:
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit * PAGE, limit * PAGE))
            try:
                with trials.wire(path) as wire:
                    trials.ingest(wire)
            except StorageError:
                os._exit(StorageError.exit_code)

        fault = -signal.SIGXFSZ if killed else StorageError.exit_code
        code = trials.child(limited)
        assert code in (0, fault)
        ended += code == fault
        with trials.wire(path) as wire:
            progress += 0 < wire.writer.number("SELECT count(*) FROM documents")
            verdict = wire.verify()
            assert verdict.sound, verdict.faults
            trials.ingest(wire)
        assert trials.digest(path) == wanted
    return ended, progress


@pytest.mark.parametrize("killed", [True, False], ids=["killed", "full"])
def test_a_fault_at_a_page_is_healed(trials: Any, whole: Path, killed: bool) -> None:
    ended, progress = written(trials, whole, range(1, 200, 29), killed)
    print("trials:", ended)
    assert ended >= 4
    assert progress >= 1


@pytest.mark.long
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "full"])
def test_a_fault_at_any_page_is_healed(trials: Any, whole: Path, killed: bool) -> None:
    ended, progress = written(trials, whole, range(1, 200), killed)
    print("trials:", ended)
    assert ended >= 100
    assert progress >= 10


# -- the n-th call of a plugin -----------------------------------------------------------------------


class Failing:
    """A plugin that does its work and fails at the n-th document."""

    def __init__(self, inner: Any, calls: int) -> None:
        self._inner, self._left = inner, calls

    def _burn(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise RuntimeError("enough")

    def annotate(self, documents: Any, lexicon: Any) -> Iterator[Any]:
        for annotation in self._inner.annotate(documents, lexicon):
            self._burn()
            yield annotation

    def segment(self, annotation: Any, network: Any) -> Any:
        self._burn()
        return self._inner.segment(annotation, network)


def spoiled(wire: Wire, kind: str, calls: int) -> None:
    """Puts a failing plugin in, behind the seam where every plugin stands."""
    learning = wire.factory.learning()
    who = PluginName(kind, "failing", "elsewhere")
    if kind == "annotator":
        bad: Any = GuardedAnnotator(Failing(learning.annotator, calls), who)
    else:
        bad = GuardedSegmenter(Failing(learning.segmenter, calls), who)
    wire._engine = Engine(wire.writer, replace(learning, **{kind: bad}))


def called(trials: Any, whole: Path, kind: str, step: int) -> int:
    """Fails at every `step`-th call until there is none; how many failures that took."""
    wanted = trials.digest(whole)
    failures = 0
    while True:
        path = trials.folder / f"{failures}.db"
        try:
            with trials.wire(path) as wire:
                spoiled(wire, kind, failures * step)
                trials.ingest(wire)
            return failures
        except PluginError as error:
            assert "'failing'" in str(error) and error.exit_code == 70
        with trials.wire(path) as wire:
            verdict = wire.verify()
            assert verdict.sound, verdict.faults
            trials.ingest(wire)
        assert trials.digest(path) == wanted
        failures += 1


@pytest.mark.parametrize("kind", ["annotator", "segmenter"])
def test_a_plugin_that_fails_at_a_call_costs_only_its_batch(
    trials: Any, whole: Path, kind: str
) -> None:
    failures = called(trials, whole, kind, 7)
    print("trials:", failures)
    assert failures >= 3


@pytest.mark.long
@pytest.mark.parametrize("kind", ["annotator", "segmenter"])
def test_a_plugin_that_fails_at_any_call_costs_only_its_batch(
    trials: Any, whole: Path, kind: str
) -> None:
    failures = called(trials, whole, kind, 1)
    print("trials:", failures)
    assert failures >= 20


# -- one byte of the file is another -------------------------------------------------------------------


def flipped(trials: Any, whole: Path, places: range) -> tuple[int, int]:
    """Changes one byte of a sealed store: how often it was noticed, and how often without effect."""
    path = trials.folder / "flipped.db"
    shutil.copy(whole, path)
    with trials.wire(path) as wire:
        wanted = seal(wire.writer)
    data = path.read_bytes()
    noticed = equal = 0
    for place in places:
        where = place % len(data)
        path.write_bytes(
            data[:where] + bytes([data[where] ^ (1 + place % 255)]) + data[where + 1 :]
        )
        try:
            with trials.wire(path) as wire:
                verdict = wire.verify()
        except SegapsithError:
            noticed += 1
            continue
        finally:
            for end in ("-wal", "-shm"):
                Path(f"{path}{end}").unlink(missing_ok=True)
        if verdict.sound:
            assert verdict.digest == wanted, where
            equal += 1
        else:
            noticed += 1
    return noticed, equal


def test_a_fact_that_cannot_be_read_is_named(trials: Any, whole: Path) -> None:
    path = trials.folder / "unreadable.db"
    shutil.copy(whole, path)
    with trials.wire(path) as wire:
        wire.writer.change(
            lambda c: c.execute("UPDATE facts SET value = '{' WHERE name = 'next_domain'").rowcount
        )
        with pytest.raises(SegapsithError, match="'next_domain'"):
            wire.verify()


def test_a_seal_ends_with_the_next_run(trials: Any, whole: Path) -> None:
    path = trials.folder / "sealed.db"
    shutil.copy(whole, path)
    with trials.wire(path) as wire:
        seal(wire.writer)
        assert wire.verify().sound
        wire.writer.change(lambda c: c.execute("UPDATE versions SET source = 'x'").rowcount)
        verdict = wire.verify()
        assert [fault.split(":")[0] for fault in verdict.faults] == ["seal"]
        wire.ingest([{"id": "later", "text": "The ferry left the harbour in the morning."}])
        assert wire.verify().sound


def test_status_gives_the_kept_digest_as_long_as_it_holds(trials: Any, whole: Path) -> None:
    path = trials.folder / "sealed.db"
    shutil.copy(whole, path)
    with trials.wire(path) as wire:
        wanted = seal(wire.writer)
        assert (
            sealed_digest(wire.writer) == wire.status()["digest"] == wire.verify().digest == wanted
        )
        for work in (forget, undo_all):
            work(wire)
            assert sealed_digest(wire.writer) is None
            assert wire.status()["digest"] == wire.verify().digest != wanted
            seal(wire.writer)
            assert sealed_digest(wire.writer) == wire.verify().digest


def test_a_seal_does_not_outlive_a_run_that_goes_on(trials: Any, whole: Path) -> None:
    """One that was stopped was sealed as far as it came; it goes on under the same number."""
    path = trials.folder / "stopped.db"

    def stop(summary: Any) -> None:
        raise KeyboardInterrupt

    with trials.wire(path) as wire:
        with contextlib.suppress(KeyboardInterrupt):
            trials.ingest(wire, on_batch=stop)
        half = seal(wire.writer)
    with trials.wire(path) as wire:
        trials.ingest(wire)
        assert len(wire.runs()) == 1
        assert wire.verify().sound
        assert half != wire.status()["digest"] == wire.verify().digest
    assert trials.digest(path) == trials.digest(whole)


def test_an_ingest_that_brings_much_seals(trials: Any) -> None:
    path = trials.folder / "wire.db"
    source = trials.folder / "items.jsonl"

    def delivered(items: list[Any]) -> bool:
        source.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
        assert run(["ingest", str(source), "--store", str(path), "--quiet"]) == 0
        with trials.wire(path) as wire:
            assert wire.status()["digest"] == wire.verify().digest
            return sealed_digest(wire.writer) is not None

    items = sample.lines("en")[:24]
    assert delivered(items)
    assert not delivered([{"id": "later", "text": "The ferry left the harbour."}])
    assert delivered(items[:12])


def test_a_changed_byte_is_noticed_or_does_not_matter(trials: Any, whole: Path) -> None:
    noticed, _ = flipped(trials, whole, range(17, 200 * 9973, 9973))
    assert noticed >= 10


@pytest.mark.long
@pytest.mark.parametrize("part", range(5))
def test_two_thousand_more_changed_bytes_are_noticed_or_do_not_matter(
    trials: Any, whole: Path, part: int
) -> None:
    first = 101 + part * 2_000 * 9973
    noticed, equal = flipped(trials, whole, range(first, first + 2_000 * 9973, 9973))
    assert noticed + equal == 2_000
