"""A small delivery, a child that may die of it, and what the store must be afterwards."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.model import document_of
from segapsith.settings import resolve

BATCH, ITEMS = 8, 24


class Delivery:
    """The first items of the sample, under one key."""

    key = "sample"

    def items(self) -> Any:
        return map(document_of, sample.lines("en")[:ITEMS])


@dataclass
class Trials:
    """Work in children on copies of one store, each ended by force; then checked, then resumed."""

    folder: Path

    def wire(self, path: Path) -> Wire:
        return Wire(path, resolve({"batch_size": BATCH, "lang": "en"}, environment={}))

    def ingest(self, wire: Wire, **more: Any) -> None:
        wire.ingest(Delivery(), **more)

    def child(self, work: Callable[[], object]) -> int:
        """How a child ended: 0, its exit code, or minus the signal."""
        number = os.fork()
        if number == 0:
            code = 9
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                work()
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(number, 0)
        return os.waitstatus_to_exitcode(status)

    def digest(self, path: Path) -> str:
        """Of a store that must be sound."""
        with self.wire(path) as wire:
            verdict = wire.verify()
            assert verdict.sound, verdict.faults
            return verdict.digest


@pytest.fixture
def trials(tmp_path: Path) -> Trials:
    return Trials(tmp_path)


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store after an undisturbed ingest, closed."""
    folder = tmp_path_factory.mktemp("whole")
    trials = Trials(folder)
    with trials.wire(folder / "whole.db") as wire:
        trials.ingest(wire)
    return folder / "whole.db"
