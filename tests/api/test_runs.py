"""A night is taken back as a whole; runs outside it stay."""

from __future__ import annotations

from pathlib import Path

import pytest

import segapsith
from segapsith.demo import sample
from segapsith.errors import UsageError
from segapsith_store.queries import nights

ITEMS = sample.lines("en")


def test_only_the_runs_of_the_last_night_are_undone(tmp_path: Path) -> None:
    with segapsith.open(tmp_path / "wire.db", segmenter="none") as wire:
        wire.ingest(ITEMS[:10])
        before = wire.status().digest
        night = nights.begin(wire.writer, "2026-03-02", "2026-03-02T02:30:00+00:00")
        first = wire.ingest(ITEMS[10:14]).run
        last = wire.ingest(ITEMS[14:20]).run
        steps = [{"step": "open", "result": {"previous_run": first - 1}}]
        record = {"last_run": last, "steps": steps}
        nights.end(wire.writer, night, "2026-03-02T02:40:00+00:00", 0, "", {}, record)
        done = wire.runs.undo_night()
        assert (done.night, list(done.runs)) == ("2026-03-02", [last, first])
        assert wire.status().digest == before
        assert wire.verify().sound
        with pytest.raises(UsageError, match="no night to undo"):
            wire.runs.undo_night()
