"""Workers that are killed while an archive is prepared: whole shards only, and the same store."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from segapsith.api import preparation
from segapsith.api.factory import Factory
from segapsith.api.preparation import portions, prepare, prepare_with
from segapsith.demo import sample
from segapsith.settings import resolve

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

Command = Callable[..., tuple[int, str, str]]

N_STORIES = 180


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file that is read here, so that this process decides how many stories a shard has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(portions, "STORIES", 10)
    monkeypatch.setattr(portions, "WHOLE_BYTES", 1000)
    lines = map(json.dumps, sample.lines("en")[:N_STORIES])
    Path("archive.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return "archive.jsonl"


def shards(output: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(Path(output).iterdir())}


@pytest.fixture
def whole(archive: str) -> dict[str, bytes]:
    prepare([archive], "whole")
    made = shards("whole")
    assert len(made) == N_STORIES // 10
    return made


@contextmanager
def killing(output: str, n_shards: int, most: int) -> Iterator[list[int]]:
    """Kill worker processes, at most so many, when the folder has so many shards.

    The list has the number of shards at each kill.
    """
    kills: list[int] = []
    ended = threading.Event()

    def kill() -> None:
        while len(kills) < most and not ended.wait(0.02):
            there = len(list(Path(output).glob("*.shard")))
            for child in multiprocessing.active_children() if there >= n_shards else ():
                if child.pid is not None and len(kills) < most:
                    with suppress(ProcessLookupError):  # it ended by itself meanwhile
                        os.kill(child.pid, signal.SIGKILL)
                        kills.append(there)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield kills
    finally:
        ended.set()
        thread.join()


def digest(command: Command, source: str, store: str) -> str:
    assert command("ingest", source, "--store", store)[0] == 0
    return str(json.loads(command("status", "--json", "--store", store)[1])["digest"])


@pytest.fixture
def on_shard(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[int], None]]:
    """Functions that `prepare` calls with the number of shards so far, after each shard."""
    called: list[Callable[[int], None]] = []
    original = preparation.prepare_with

    def watched(*given: Any, on_shard: Callable[[Any], None], **more: Any) -> Any:
        numbers = itertools.count(1)

        def both(shard: Any) -> None:
            number = next(numbers)
            for one in called:
                one(number)
            on_shard(shard)

        return original(*given, on_shard=both, **more)

    monkeypatch.setattr(preparation, "prepare_with", watched)
    return called


@pytest.mark.parametrize("n_shards", [1, 2, 4, 6, 8])
def test_a_worker_that_dies_leaves_whole_shards_and_its_work_is_done_again(
    command: Command,
    archive: str,
    whole: dict[str, bytes],
    on_shard: list[Callable[[int], None]],
    n_shards: int,
) -> None:
    killed: list[int] = []

    def kill(number: int) -> None:
        if number == n_shards:
            (child, *_) = multiprocessing.active_children()
            assert child.pid is not None
            os.kill(child.pid, signal.SIGKILL)
            killed.append(child.pid)

    on_shard.append(kill)
    code, _, err = command("prepare", archive, "--output", "shards", "--workers", "2")
    assert code == 0, err
    assert len(killed) == 1 and shards("shards") == whole


def test_a_task_that_ends_its_workers_is_given_up_and_the_same_command_continues(
    command: Command, archive: str, whole: dict[str, bytes]
) -> None:
    arguments = ("prepare", archive, "--output", "shards", "--workers", "2")
    with killing("shards", 3, 1000) as kills:
        code, _, err = command(*arguments)
    assert code == 70 and len(kills) >= 3
    assert "task 'prepare' ended its worker process 3 times: too little memory, or a fault" in err
    left = shards("shards")
    assert 3 <= len(left) < len(whole) and left.items() <= whole.items()
    code, out, err = command(*arguments, "--json")
    assert code == 0, err
    assert json.loads(out)["kept"] == len(left) and shards("shards") == whole
    assert digest(command, "shards", "shards.db") == digest(command, archive, "raw.db")


SMALL_SHARDS = """
import sys
from segapsith.api.preparation import portions
from segapsith.cli.app import run
portions.STORIES, portions.WHOLE_BYTES = 10, 1000
sys.exit(run(sys.argv[1:]))
"""
"""The program, with shards as in these tests."""


def killed_when(there: Callable[[], bool], *arguments: str, workers_too: bool) -> None:
    """Run a command with two workers, and kill it as soon as something is there."""
    program = [sys.executable, "-c", SMALL_SHARDS, *arguments, "--workers", "2"]
    process = subprocess.Popen(program, start_new_session=True, stderr=subprocess.DEVNULL)
    try:
        while not there() and process.poll() is None:
            threading.Event().wait(0.01)
        if workers_too:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    finally:
        assert process.wait() == -signal.SIGKILL, "it had ended before"


@pytest.mark.parametrize("workers_too", [False, True])
def test_prepare_and_ingest_that_are_killed_with_their_workers_continue(
    command: Command, archive: str, whole: dict[str, bytes], workers_too: bool
) -> None:
    for n_shards in (1, 9):
        killed_when(
            lambda n=n_shards: len(list(Path("shards").glob("*.shard"))) >= n,  # type: ignore[misc]
            *("prepare", archive, "--output", "shards"),
            workers_too=workers_too,
        )
        left = {name: data for name, data in shards("shards").items() if name.endswith(".shard")}
        assert n_shards <= len(left) < len(whole) and left.items() <= whole.items()
    code, _, err = command("prepare", archive, "--output", "shards")
    assert code == 0, err
    assert shards("shards") == whole
    expected = digest(command, archive, "raw.db")
    for seen in ("shards.db.lock", "shards.db", "shards.db-wal"):
        killed_when(
            Path(seen).exists, "ingest", "shards", "--store", "shards.db", workers_too=workers_too
        )
    assert digest(command, "shards", "shards.db") == expected


def test_dask_workers_that_die_leave_whole_shards_and_their_work_is_done_again(
    archive: str, whole: dict[str, bytes]
) -> None:
    pytest.importorskip("distributed")
    factory = Factory(resolve({"workers": "dask:2"}, environment={}))
    try:
        for n_shards in (1, 2, 4, 6, 8):
            output = f"shards-{n_shards}"
            seen: list[Any] = []

            def on_shard(
                shard: Any, seen: list[Any] = seen, output: str = output, at: int = n_shards
            ) -> None:
                seen.append(shard)
                if len(seen) == at:
                    kill_a_worker(factory.executor)
                    assert shards(output).items() <= whole.items()

            prepare_with(factory, [archive], output, on_shard=on_shard)
            assert shards(output) == whole and len(seen) == len(whole)
    finally:
        factory.close()


def kill_a_worker(executor: Any) -> None:
    """Kill the first worker process that runs; another may just be starting again."""
    cluster = getattr(executor, "plugin", executor)._cluster
    pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
    os.kill(pids[0], signal.SIGKILL)
