"""A backup is a sound copy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]


@pytest.mark.slow
def test_backup_is_a_sound_copy(command: Command, answer: Answer, wire_file: Path) -> None:
    answer("ingest", str(wire_file))
    assert command("backup", "copy.db")[0] == 0
    original, copy = answer("status"), answer("status", "--store", "copy.db")
    assert copy["digest"] == original["digest"]
    assert command("verify", "--store", "copy.db")[0] == 0
    assert command("backup", "copy.db")[0] == 73
