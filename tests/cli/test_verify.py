"""Damage is noticed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import segapsith

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]


@pytest.mark.slow
def test_a_damaged_store_is_noticed(command: Command, answer: Answer, wire_file: Path) -> None:
    answer("ingest", str(wire_file))
    with sqlite3.connect("segapsith.db") as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        store.execute("UPDATE words SET occurrences = occurrences + 1 WHERE id = 3")
    store.close()
    code, _, err = command("verify")
    assert code == 1
    assert "should be" in err
    data = bytearray(Path("segapsith.db").read_bytes())
    data[8192:40960] = b"\x5a" * (40960 - 8192)
    Path("segapsith.db").write_bytes(data)
    code, _, err = command("verify")
    assert 0 < code < 126
    assert "Traceback" not in err


def test_verification_reports_the_share_done(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    with segapsith.open(tmp_path / "wire.db", segmenter="none") as wire:
        wire.ingest([{"id": "a", "text": "The river rose over the old bridge. " * 4}])
        assert wire.verify(lambda done, total: seen.append((done, total))).sound
    total = seen[0][1]
    assert seen == [(done, total) for done in range(1, total)]
