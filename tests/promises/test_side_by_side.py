"""Several at once: writers take turns or say that they are busy, readers always answer."""

from __future__ import annotations

import os
import sqlite3
import sys
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.cli.app import run
from segapsith.demo import sample
from segapsith.settings import resolve

pytestmark = pytest.mark.slow

ITEMS = sample.lines("en")


def side_by_side(trials: Any, n_writers: int, rounds: int) -> int:
    """Writers with a story each, round by round, and a reader in a loop; how often it answered."""
    path, stop = trials.folder / "wire.db", trials.folder / "stop"
    with trials.wire(path) as wire:
        wire.ingest(ITEMS[:4])

    def write(number: int) -> None:
        for turn in range(rounds):
            chosen = resolve({"wait": 3600.0, "lang": "en"}, environment={})
            with Wire(path, chosen) as wire:
                wire.ingest([{**ITEMS[4 + number], "id": f"{number}-{turn}"}])

    def read() -> None:
        answers = seen = 0
        while not stop.exists():
            documents = Wire(path).read(lambda s: s.number("SELECT count(*) FROM documents"))
            assert documents >= seen
            answers, seen = answers + 1, documents
        (trials.folder / "answers").write_text(str(answers))

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
    return int((trials.folder / "answers").read_text())


def test_three_writers_and_a_reader(trials: Any) -> None:
    assert side_by_side(trials, 3, 3)


@pytest.mark.long
def test_eight_writers_and_a_reader(trials: Any) -> None:
    assert side_by_side(trials, 8, 25)


def test_a_reader_answers_in_the_midst_of_a_transaction(trials: Any) -> None:
    path = trials.folder / "wire.db"
    with trials.wire(path) as wire:
        wire.ingest(ITEMS[:4])
        answers = []

        def write(connection: sqlite3.Connection) -> int:
            connection.execute("UPDATE documents SET uid = uid || '-changed'")
            answers.append(Wire(path).status())  # it would be busy if it had to wait for this
            return 0

        before = wire.status()
        wire.writer.change(write)
    assert answers == [before]


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
