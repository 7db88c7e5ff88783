"""Killed at any moment: nothing lost, nothing doubled, and the same command goes on."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.cli.app import run
from segapsith.demo import sample
from segapsith.errors import UnfinishedStoreError
from segapsith.model import document_of
from segapsith.settings import resolve
from segapsith_store import Store

pytestmark = pytest.mark.slow

BATCH = 15
ITEMS = 60


class Delivery:
    """The first items of the sample, under one key."""

    key = "sample"

    def items(self) -> Any:
        return map(document_of, sample.lines("en")[:ITEMS])


def wire_on(path: Path) -> Wire:
    return Wire(path, resolve({"batch_size": BATCH}, environment={}))


def killed(work: Callable[[], None]) -> int:
    """Runs some work in a child of its own; the signal that ended it, or 0."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


class Fuse:
    """A connection that kills its process at the n-th statement."""

    def __init__(self, connection: sqlite3.Connection, statements: int) -> None:
        self._connection, self._left = connection, statements

    def _burn(self) -> None:
        self._left -= 1
        if self._left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def execute(self, *arguments: Any) -> Any:
        self._burn()
        return self._connection.execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        self._burn()
        return self._connection.executemany(*arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def work_until(path: Path, statements: int, work: Callable[[Wire], object]) -> Callable[[], None]:
    def burning() -> None:
        with wire_on(path) as wire:
            wire.writer._db.conn = Fuse(wire.writer._db.conn, statements)
            work(wire)

    return burning


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with wire_on(tmp_path_factory.mktemp("whole") / "whole.db") as wire:
        wire.ingest(Delivery())
        return {
            "status": wire.status().as_json(),
            "domains": wire.domains(),
            "show": wire.domains.show(1).as_json(),
        }


def check_resumed(path: Path, expected: dict[str, Any]) -> None:
    with wire_on(path) as wire:
        verdict = wire.verify()
        assert verdict.sound, verdict.faults
        wire.ingest(Delivery())
        status = wire.status().as_json()
        for name in ("store", "runs", "last_run"):
            status.pop(name)
        wanted = {k: v for k, v in expected["status"].items() if k in status}
        assert status == wanted
        assert wire.domains() == expected["domains"]
        shown, wanted_show = wire.domains.show(1).as_json(), dict(expected["show"])
        shown.pop("history"), wanted_show.pop("history")
        assert shown == wanted_show


def _healed_at_every(step: int, folder: Path, expected: dict[str, Any]) -> int:
    """Kills at every `step`-th statement until a run gets through; how many kills that took."""
    kills = 0
    while True:
        path = folder / f"{kills}.db"
        ended = killed(work_until(path, kills * step, lambda wire: wire.ingest(Delivery())))
        check_resumed(path, expected)
        if ended == 0:
            return kills
        assert ended == signal.SIGKILL
        kills += 1


def test_a_kill_at_a_statement_is_healed_by_the_same_command(
    tmp_path: Path, expected: dict[str, Any]
) -> None:
    kills = _healed_at_every(9, tmp_path, expected)
    print("trials:", kills)
    assert kills >= 15


@pytest.mark.long
def test_a_kill_at_any_statement_is_healed_by_the_same_command(
    tmp_path: Path, expected: dict[str, Any]
) -> None:
    kills = _healed_at_every(1, tmp_path, expected)
    print("trials:", kills)
    assert kills >= 120


class Part:
    """One night of a stream: some items of the sample, under a key of their own."""

    def __init__(self, first: int, last: int) -> None:
        self.key = f"{first}-{last}"
        self._lines = sample.lines("en")[first:last]

    def items(self) -> Any:
        return map(document_of, self._lines)


NIGHTS = ((0, 45), (45, 90), (90, 120))


def strict_wire(path: Path, batch: int = BATCH) -> Wire:
    """So strict that subjects are scattered: there is something to merge."""
    return Wire(path, resolve({"batch_size": batch, "threshold": 0.25}, environment={}))


def night(wire: Wire, number: int) -> int:
    """Learns a night, merges what is nearly the same and groups the domains; how many merged."""
    wire.ingest(Part(*NIGHTS[number]))
    merged = wire.domains.merge_similar(similarity=0.2, after=0)["merged"]
    wire.topics()
    wire.sections()
    return int(merged)


@pytest.fixture(scope="module")
def three_nights(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest after three nights of one batch each."""
    with strict_wire(tmp_path_factory.mktemp("nights") / "whole.db", 1000) as wire:
        merged = [night(wire, number) for number in range(len(NIGHTS))]
        assert min(merged) > 0
        assert wire.topics(regroup=False)
        assert wire.sections(regroup=False)
        assert wire.verify().sound
        return str(wire.status()["digest"])


@pytest.mark.parametrize("batch", [1, 7])
def test_consolidated_and_grouped_stores_are_equal_however_nights_are_cut(
    tmp_path: Path, three_nights: str, batch: int
) -> None:
    with strict_wire(tmp_path / "wire.db", batch) as wire:
        for number in range(len(NIGHTS)):
            night(wire, number)
        assert wire.status()["digest"] == three_nights


def test_consolidated_and_grouped_stores_are_equal_when_stories_come_one_at_a_time(
    tmp_path: Path, three_nights: str
) -> None:
    path = tmp_path / "wire.db"
    for first, last in NIGHTS:
        with strict_wire(path) as wire:
            for place in range(first, last):
                wire.ingest(Part(place, place + 1))
        with strict_wire(path) as wire:  # as a command of its own
            wire.domains.merge_similar(similarity=0.2, after=0)
            wire.topics()
            wire.sections()
    with strict_wire(path) as wire:
        assert wire.status()["digest"] == three_nights


def test_consolidated_and_grouped_stores_are_equal_after_kills(
    tmp_path: Path, three_nights: str
) -> None:
    """The last night is killed at statements all over it, and done again with its steps."""
    with strict_wire(tmp_path / "two.db") as wire:
        night(wire, 0)
        night(wire, 1)
    kills = 0
    for statements in itertools.count(4, 37):
        path = tmp_path / f"{statements}.db"
        shutil.copy(tmp_path / "two.db", path)

        def last_night(path: Path = path, statements: int = statements) -> None:
            with strict_wire(path) as wire:
                wire.writer._db.conn = Fuse(wire.writer._db.conn, statements)
                night(wire, 2)

        ended = killed(last_night)
        with strict_wire(path) as wire:
            assert wire.verify().sound
            night(wire, 2)
            assert wire.status()["digest"] == three_nights
        if ended == 0:
            break
        kills += 1
    print("trials:", kills)
    assert kills >= 5


def test_several_kills_in_a_row_make_progress(tmp_path: Path, expected: dict[str, Any]) -> None:
    path = tmp_path / "wire.db"
    for _ in range(4):
        assert killed(work_until(path, 80, lambda wire: wire.ingest(Delivery())))
    with Store.reading(path) as store:
        assert store.number("SELECT count(*) FROM documents") > 0
        assert store.number("SELECT count(*) FROM runs") == 1
    check_resumed(path, expected)


def create_until(path: Path, statements: int) -> Callable[[], None]:
    """Makes a store with connections that kill their process at the n-th statement of each."""

    def create() -> None:
        original = sqlite3.connect

        class Fused(sqlite3.Connection):
            left = statements

            def execute(self, *sql: Any) -> Any:
                self.left -= 1
                if self.left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return super().execute(*sql)

        def fused(*arguments: Any, **more: Any) -> Any:
            return original(*arguments, **more, factory=Fused)

        sqlite3.connect = fused  # type: ignore[assignment]  # in the child alone
        Store.writing(path).close()

    return create


def check_unfinished(path: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    """Checks that reading commands say what happened; whether the store was unfinished."""
    kinds = set()
    for command in ("status", "verify", "domains"):
        code = run([command, "--store", str(path)])
        said = capsys.readouterr().err
        if code:
            assert code == 66, said
            assert "another program" not in said
            assert ("creation was interrupted" in said) == path.exists(), said
        kinds.add(code)
    assert len(kinds) == 1
    return kinds == {66} and path.exists()


def test_a_kill_while_the_store_is_made_is_named_and_the_next_ingest_completes_it(
    tmp_path: Path, expected: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    unfinished = statements = 0
    for statements in itertools.count():
        path = tmp_path / f"{statements}.db"
        ended = killed(create_until(path, statements))
        if ended:
            with pytest.raises(UnfinishedStoreError, match="creation was interrupted"):
                Store.reading(path)
            unfinished += 1
        if statements % 40 == 0:  # the commands themselves take longer
            assert check_unfinished(path, capsys)
            with wire_on(path) as wire:
                wire.ingest(Delivery())
                assert wire.verify().sound
                assert wire.status()["digest"] == expected["status"]["digest"]
        else:
            Store.writing(path).close()
            with Store.reading(path) as store:
                assert store.number("SELECT count(*) FROM documents") == 0
        if ended == 0:
            break
        assert ended == signal.SIGKILL
    print("trials:", statements, "unfinished:", unfinished)
    assert unfinished >= 40


@pytest.mark.parametrize("size", [0, 1], ids=["no bytes", "a header"])
def test_an_empty_file_is_an_unfinished_store(
    tmp_path: Path, size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wire.db"
    path.touch()
    if size:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        assert path.stat().st_size
    assert check_unfinished(path, capsys)
    assert run(["doctor", "--store", str(path)]) == 1
    assert "segapsith ingest SOURCE" in capsys.readouterr().out
    assert run(["ingest", str(sample.path("en")), "--store", str(path), "-q"]) == 0
    assert run(["status", "--store", str(path), "-q"]) == 0


def test_a_journal_that_a_kill_left_belongs_to_an_unfinished_store(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """SQLite writes the header of a new file under a rollback journal."""
    path = tmp_path / "wire.db"

    def hold() -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA cache_spill = 1")
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE t (x)")
        connection.executemany("INSERT INTO t VALUES (?)", [("x" * 3000,)] * 50)
        os.kill(os.getpid(), signal.SIGKILL)

    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 0")
        connection.execute("VACUUM")
    assert killed(hold) == signal.SIGKILL
    assert Path(f"{path}-journal").stat().st_size
    assert check_unfinished(path, capsys)
    assert run(["ingest", str(sample.path("en")), "--store", str(path), "-q"]) == 0
    assert run(["verify", "--store", str(path), "-q"]) == 0


def test_an_ingest_that_is_killed_early_is_healed_by_the_same_command(
    tmp_path: Path, expected: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "wire.db"
    lines = sample.path("en").read_bytes().splitlines(keepends=True)
    named = tmp_path / "wire.jsonl"
    named.write_bytes(b"".join(lines[:ITEMS]))
    for seen in (f"{path}.lock", str(path), f"{path}-wal"):  # what a kill waits for
        process = subprocess.Popen(
            [sys.executable, "-m", "segapsith", "ingest", str(named), "--store", str(path), "-q"],
            cwd=tmp_path, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while process.poll() is None and not os.path.exists(seen):
            pass
        process.kill()
        process.wait()
        check_unfinished(path, capsys)
    assert run(["ingest", str(named), "--store", str(path), "-q"]) == 0
    with wire_on(path) as wire:
        assert wire.verify().digest == expected["status"]["digest"]


def test_a_dead_holder_does_not_block(tmp_path: Path) -> None:
    path = tmp_path / "wire.db"

    def hold() -> None:
        Store.writing(path)
        os.kill(os.getpid(), signal.SIGKILL)

    assert killed(hold) == signal.SIGKILL
    Store.writing(path).close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_at_a_batch_boundary(tmp_path: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "segapsith", "ingest", "-", "--store", "s.db"],
        cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "SEGAPSITH_BATCH_SIZE": "20"},
    )  # fmt: skip
    assert process.stdin is not None
    for line in sample.path("en").read_bytes().splitlines(keepends=True)[:90]:
        process.stdin.write(line)
    process.stdin.flush()
    while not _documents(tmp_path / "s.db"):  # it waits for more input, however long that takes
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise AssertionError(f"ended too early with {process.wait(timeout=0.05)}")
    process.send_signal(number)
    assert process.wait() == 128 + number
    process.stdin.close()
    assert process.stderr is not None and process.stdout is not None
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close(), process.stdout.close()
    with Wire(tmp_path / "s.db") as wire:
        assert wire.verify().sound
        assert 0 < wire.status()["documents"] < 90


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_following_when_what_came_is_stored(
    tmp_path: Path, number: signal.Signals
) -> None:
    lines = sample.path("en").read_bytes().splitlines(keepends=True)[:40]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "segapsith", "ingest", "-", "--follow"),
            *("--commit-after", "0.2", "--store", "s.db", "--json"),
        ],
        cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(b"".join(lines[:9]))
    process.stdin.flush()
    _wait_for(process, tmp_path / "s.db", 1)  # stored although the batch is not full
    process.stdin.write(b"".join(lines[9:]) + b'{"id": "half", "te')
    process.stdin.flush()
    everything = {json.loads(line)["id"] for line in lines}
    _wait_for(process, tmp_path / "s.db", len(everything))
    process.send_signal(number)
    assert process.wait() == 128 + number
    process.stdin.close()
    assert process.stderr is not None and process.stdout is not None
    assert b"Traceback" not in process.stderr.read()
    summary = json.loads(process.stdout.read())
    process.stderr.close(), process.stdout.close()
    assert (summary["read"], summary["rejected"]) == (40, 0)
    with Wire(tmp_path / "s.db") as wire, Wire(tmp_path / "other.db") as other:
        other.ingest([json.loads(line) for line in lines])
        assert wire.verify().digest == other.verify().digest
        assert wire.status().last_run.status == "done"


def _wait_for(process: subprocess.Popen[bytes], store: Path, documents: int) -> None:
    while _documents(store) < documents:
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise AssertionError(f"ended too early with {process.wait(timeout=0.05)}")


def _documents(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with Store.reading(path) as store:
            return store.number("SELECT count(*) FROM documents")
    except Exception:
        return 0  # it is just being made


def test_environment_and_hash_seed_do_not_matter(tmp_path: Path) -> None:
    digests = set()
    for number, more in enumerate(
        (
            {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C", "OMP_NUM_THREADS": "1"},
            {
                "PYTHONHASHSEED": "2",
                "TZ": "Asia/Tokyo",
                "LC_ALL": "C.UTF-8",
                "OMP_NUM_THREADS": "2",
            },
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        arguments = ["ingest", str(sample.path("en")), str(sample.path("fr")), "--json"]
        for command in (arguments, ["status", "--json"]):
            done = subprocess.run(
                [sys.executable, "-m", "segapsith", *command],
                cwd=folder, env={**os.environ, **more}, capture_output=True, check=True,
            )  # fmt: skip
        digests.add(json.loads(done.stdout)["digest"])
    assert len(digests) == 1


def test_readers_answer_while_somebody_writes(tmp_path: Path) -> None:
    path = tmp_path / "wire.db"
    with wire_on(path) as writer:
        seen = []

        def look(_: Any) -> None:
            with Store.reading(path) as store:
                seen.append(store.number("SELECT count(*) FROM documents"))

        writer.ingest(Delivery(), on_batch=look)
    assert seen == sorted(seen)
    assert len(set(seen)) > 1
