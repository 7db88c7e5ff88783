"""Runs are listed and undone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]


@pytest.mark.slow
def test_forget_undo_and_runs(command: Command, answer: Answer, wire_file: Path) -> None:
    answer("ingest", str(wire_file))
    before = answer("status")["digest"]
    answer("ingest", str(sample.path("fr")))
    assert answer("runs", "undo")["run"] == 2
    assert answer("status")["digest"] == before
    assert answer("forget", "en-001")["document"] == "en-001"
    assert command("forget", "en-001")[0] == 66
    assert command("verify")[0] == 0
    runs = answer("runs")
    assert [r["command"] for r in runs] == ["forget", "undo", "ingest", "ingest"]
    assert runs[2]["status"] == "undone"
    assert command("runs", "undo")[0] == 2
