"""What the tests of the command line share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def answer(command: Command) -> Callable[..., Any]:
    """Runs a command with `--json` that must succeed; gives the value it prints."""

    def call(*arguments: str) -> Any:
        code, out, err = command(*arguments, "--json")
        assert code == 0, err
        return json.loads(out, parse_constant=_no_constant)

    return call


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@pytest.fixture
def wire_file(tmp_path: Path) -> Path:
    """The English sample wire as a file."""
    path = tmp_path / "wire.jsonl"
    path.write_bytes(sample.path("en").read_bytes())
    return path
