"""The digest: hashes of blocks are kept, and believed no longer than they are true."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith_store import digest as module
from segapsith_store import schema
from segapsith_store.digest import block_hashes, digest
from segapsith_store.seal import seal

EN = sample.lines("en")


def merge(wire: Wire) -> None:
    wire.domains.merge([domain["id"] for domain in wire.domains(lang="en")[:2]])


CHANGES: dict[str, Callable[[Wire], object]] = {
    "more stories": lambda wire: wire.ingest(EN[30:34]),
    "a correction": lambda wire: wire.ingest([{**EN[3], "text": EN[40]["text"]}]),
    "a copy": lambda wire: wire.ingest([{**EN[4], "id": "again"}]),
    "a merge": merge,
    "an undone merge": lambda wire: (merge(wire), wire.runs.undo()),
    "forgetting": lambda wire: wire.forget(EN[5]["id"]),
    "an undone run": lambda wire: wire.runs.undo(),
    "topics": lambda wire: wire.topics(),
    "sections": lambda wire: wire.sections(),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_takes_the_hash_of_its_block_away(what: str, tmp_path: Path) -> None:
    with Wire(tmp_path / "s.db") as wire:
        wire.ingest(EN[:20])
        wire.ingest(EN[20:30])
        sealed = seal(wire.writer)
        assert wire.writer.number("SELECT count(*) FROM blocks") == len(schema.BLOCKED)
        CHANGES[what](wire)
        assert digest(wire.writer) == digest(wire.writer, anew=True) == wire.verify().digest
        assert (digest(wire.writer) == sealed) == (what == "an undone merge")
        assert wire.verify().sound


def test_kept_hashes_are_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Wire(tmp_path / "s.db") as wire:
        wire.ingest(EN[:20])
        found = seal(wire.writer)
        asked = []
        hashed = module._hash

        def told(store: object, part: object, *rest: object) -> str:
            asked.append(part)
            return hashed(store, part, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(module, "_hash", told)
        assert digest(wire.writer) == found
        assert not set(asked) & set(module._LARGE)


def test_blocks_are_cut_by_ids_and_not_by_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK", 4)
    found = []
    for name, cuts in (("one", [0, 30]), ("two", [0, 7, 12, 30])):
        with Wire(tmp_path / f"{name}.db") as wire:
            for first, last in itertools.pairwise(cuts):
                wire.ingest(EN[first:last])
            # An ingest seals, and what it kept was marked stale by blocks of the usual size.
            found.append(list(block_hashes(wire.writer, anew=True)))
    assert found[0] == found[1]
    assert {number for table, number, _ in found[0] if table == "documents"} == set(range(8))


def test_what_rots_is_noticed_also_after_later_runs(tmp_path: Path) -> None:
    """No run changes an old story, so its hash still says what it was."""
    path = tmp_path / "s.db"
    with Wire(path) as wire:
        wire.ingest(EN[:20])
        seal(wire.writer)
    trigger = "versions_block_update"
    with closing(sqlite3.connect(path)) as behind:  # a byte of the disk asks no trigger
        (made,) = behind.execute(
            "SELECT sql FROM sqlite_master WHERE name = ?", [trigger]
        ).fetchone()
        behind.execute(f"DROP TRIGGER {trigger}")
        behind.execute("UPDATE versions SET source = 'x' WHERE id = 3")
        behind.execute(made)
        behind.commit()
    with Wire(path) as wire:
        merge(wire)
        seal(wire.writer)
        verdict = wire.verify()
        assert verdict.faults[0] == "versions 0 to 1023: something was changed by no run"
        assert digest(wire.writer) != verdict.digest
