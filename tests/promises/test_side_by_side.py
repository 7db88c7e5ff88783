"""Several at once: writers take turns or say that they are busy, readers always answer."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import pytest

from segapsith import sample
from segapsith.api import Wire
from segapsith.cli.app import run
from segapsith.settings import resolve

ITEMS = sample.lines("en")


def side_by_side(trials: Any, n_writers: int, rounds: int) -> float:
    """Writers with a story each, round by round, and a reader in a loop; its slowest answer."""
    path, stop = trials.folder / "wire.db", trials.folder / "stop"
    with trials.wire(path) as wire:
        wire.ingest(ITEMS[:4])

    def write(number: int) -> None:
        for turn in range(rounds):
            chosen = resolve({"wait": 60.0, "lang": "en"}, environment={})
            with Wire(path, chosen) as wire:
                wire.ingest([{**ITEMS[4 + number], "id": f"{number}-{turn}"}])

    def read() -> None:
        slowest, seen = 0.0, 0
        while not stop.exists():
            began = time.monotonic()
            documents = Wire(path).read(lambda s: s.number("SELECT count(*) FROM documents"))
            slowest = max(slowest, time.monotonic() - began)
            assert documents >= seen
            seen = documents
        (trials.folder / "slowest").write_text(str(slowest))

    children = []
    for work in (read, *(lambda n=n: write(n) for n in range(n_writers))):
        child = os.fork()
        if child == 0:
            code = 9
            try:
                work()
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    reader, *writers = children
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in writers]
    stop.touch()
    codes.append(os.waitstatus_to_exitcode(os.waitpid(reader, 0)[1]))
    assert codes == [0] * len(children)
    trials.digest(path)
    with trials.wire(path) as wire:
        found = {uid for (uid,) in wire.writer.rows("SELECT uid FROM documents")}
    wanted = {f"{n}-{turn}" for n in range(n_writers) for turn in range(rounds)}
    assert found == wanted | {item["id"] for item in ITEMS[:4]}
    return float((trials.folder / "slowest").read_text())


def test_three_writers_and_a_reader(trials: Any) -> None:
    assert side_by_side(trials, 3, 3) < 10


@pytest.mark.long
def test_eight_writers_and_a_reader(trials: Any) -> None:
    assert side_by_side(trials, 8, 25) < 10


def test_who_does_not_wait_is_told_75_and_the_other_ends_well(trials: Any) -> None:
    path = trials.folder / "wire.db"
    with trials.wire(path) as wire:
        wire.ingest(ITEMS[:4])
        before = wire.status()["digest"]
        said = trials.folder / "said"

        def second() -> None:
            sys.stderr = said.open("w", buffering=1)
            os.environ["SEGAPSITH_LOCK_TIMEOUT"] = "0.1"
            source = str(sample.path("en"))
            os._exit(run(["ingest", source, "--lang", "en", "--store", str(path), "--quiet"]))

        assert trials.child(second) == 75
        assert "busy" in said.read_text()
        assert "Traceback" not in said.read_text()
        assert wire.status()["digest"] == before
