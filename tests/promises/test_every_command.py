"""Every command that writes, killed at its n-th SQL statement or its n-th change of a file.

The store is sound afterwards, and the same command brings it to the digest of an undisturbed one.
The short forms take a few places of each command; `--long` takes each.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import hashlib
import itertools
import json
import os
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.cli.app import run
from segapsith.demo import sample
from segapsith.errors import StorageError
from segapsith.settings import resolve
from segapsith_store import Store
from segapsith_store.schema import SCHEMA

pytestmark = pytest.mark.slow

STORIES, MORE = 90, 110
FILE_CALLS = ("fsync", "link", "rename", "replace", "unlink")
"""Calls of `os` that make a file last, or give it another name."""


@dataclass(frozen=True)
class Command:
    """A command line, and the places of the short form: every so many statements."""

    name: str
    arguments: Sequence[str]
    step: int
    files: tuple[str, ...] = ()
    """Files that it makes, which must be whole or missing."""
    folder: str = ""
    """Directory that it fills, which has the same files afterwards."""


WEB = "POST"
"""Stands for a form that is sent to `serve --allow-changes`; its path and fields follow."""

COMMANDS = (
    Command("ingest", ("ingest", "more.jsonl"), 97),
    Command("forget", ("forget", "en-003"), 61),
    Command("undo", ("runs", "undo"), 61),
    Command("merge", ("domains", "merge", "1", "2"), 31),
    Command("merge --auto", ("domains", "merge", "--auto"), 31),
    Command("split --auto", ("domains", "split", "--auto"), 31),
    Command("reassign", ("domains", "reassign"), 31),
    Command("rename", ("domains", "rename", "1", "The judge"), 17),
    Command("retire", ("domains", "retire", "1"), 17),
    Command("lock", ("domains", "lock", "1"), 17),
    Command("topics", ("topics", "-k", "4"), 31),
    Command("sections", ("sections",), 97),
    Command("cluster", ("cluster", "-k", "4", "--clusterer", "spherical-kmeans"), 61),
    Command("validate", ("validate", "--min-units", "3"), 61),
    Command("network build", ("network", "build", "more.jsonl"), 61),
    Command("tune", ("tune", "--keep", "--target-new-rate", "0.3"), 31),
    Command("feeds add", ("feeds", "add", "http://127.0.0.1:9/feed.xml"), 17),
    Command("backup", ("backup", "copy.db"), 7, ("copy.db",)),
    Command(
        "update --nightly",
        ("update", "--nightly", "--inbox", "inbox", "--change-learning", "--quiet"),
        211,
    ),
    Command("prepare", ("prepare", "more.jsonl", "--output", "shards"), 7, folder="shards"),
    Command("serve, merge", (WEB, "/domains/1/merge", "with=2"), 31),
    Command("serve, forget", (WEB, "/forget", "uid=en-003", "typed=en-003"), 61),
    Command("serve, undo", (WEB, "/undo", "undo=1"), 61),
)


def called(*arguments: str) -> int:
    """Run a command without its output, in this directory."""
    if arguments[0] == WEB:
        return sent(*arguments[1:])
    with (
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        return run([*arguments, "--store", "wire.db"])


def sent(path: str, *fields: str) -> int:
    """Send a form to the web application of the store in this directory; 0 if it is accepted."""
    application = pytest.importorskip("segapsith.web", reason="the extra web is not installed")
    testing = pytest.importorskip("starlette.testclient")
    with Wire("wire.db") as wire:
        known = wire.runs(1)[0].id
    form = dict(field.split("=", 1) for field in fields) | {"run": str(known)}
    headers = {"authorization": "Bearer only-for-these-tests", "origin": "http://127.0.0.1:8787"}
    app = application.app("wire.db", token="only-for-these-tests", allow_changes=True)
    with testing.TestClient(app, "http://127.0.0.1:8787", headers=headers) as client:
        answer = client.post(path, data=form, follow_redirects=False)
    return 0 if answer.status_code == 303 else 1


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with several domains, stories to come, and an inbox with the same stories."""
    folder = tmp_path_factory.mktemp("prepared")
    lines = [json.dumps(line) + "\n" for line in sample.lines("en")]
    (folder / "inbox").mkdir()
    for path in (folder / "more.jsonl", folder / "inbox" / "more.jsonl"):
        path.write_text("".join(lines[STORIES:MORE]), encoding="utf-8")
    settings = resolve({"threshold": 0.25, "batch_size": 30}, environment={})
    with Wire(folder / "wire.db", settings) as wire:
        wire.ingest(sample.lines("en")[:STORIES])
        assert len(wire.domains()) > 8
    return folder


def fuse(places: int, burn: Callable[[], None]) -> Callable[[], None]:
    """Return a function that calls `burn` when it is called for the n-th time."""
    left = itertools.count(places, -1)

    def call() -> None:
        if next(left) <= 0:
            burn()

    return call


def kill_at_statement(call: Callable[[], None]) -> None:
    """Make every statement on every connection of this process call a fuse first."""
    original = sqlite3.connect

    class Fused(sqlite3.Connection):
        def execute(self, *sql: Any) -> Any:
            call()
            return super().execute(*sql)

        def executemany(self, *sql: Any) -> Any:
            call()
            return super().executemany(*sql)

        def executescript(self, *sql: Any) -> Any:
            call()
            return super().executescript(*sql)

    def fused(*arguments: Any, **more: Any) -> Any:
        return original(*arguments, **more, factory=Fused)

    sqlite3.connect = fused  # type: ignore[assignment]  # in the child alone


def kill_at_file_call(call: Callable[[], None]) -> None:
    """Make every change of a file call a fuse before it, and after it."""

    def burning(original: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any, **more: Any) -> Any:
            call()
            done = original(*arguments, **more)
            call()
            return done

        return changed

    for name in FILE_CALLS:
        setattr(os, name, burning(getattr(os, name)))


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_after(work: Callable[[Callable[[], None]], int], seconds: float) -> int:
    """Kill a child that does some work, so many seconds after it asks for it; how it ended."""
    sys.stdout.flush()
    asked, ask = os.pipe()
    number = os.fork()
    if number == 0:
        code = 9
        try:
            code = work(lambda: os.write(ask, b".") and None)
        finally:
            os._exit(code)
    os.close(ask)
    if os.read(asked, 1):
        time.sleep(seconds)
        os.kill(number, signal.SIGKILL)
    os.close(asked)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def child(work: Callable[[], int]) -> int:
    """How a child ended: its exit code, or minus the signal."""
    sys.stdout.flush()
    number = os.fork()
    if number == 0:
        code = 9
        try:
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


def digest(command: Command | None = None) -> str:
    """Return the digest of the store, and of the directory that a command fills."""
    with Wire("wire.db") as wire:
        verdict = wire.verify()
        assert verdict.sound, verdict.faults
    if command is None or not command.folder:
        return verdict.digest
    files = sorted(path for path in Path(command.folder).rglob("*") if path.is_file())
    contents = (f"{path} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files)
    return "\n".join([verdict.digest, *contents])


def healed(
    prepared: Path,
    folder: Path,
    command: Command,
    places: Callable[[Callable[[], None]], None],
    step: int,
) -> int:
    """Kill a command at every `step`-th place until it gets through; return the number of kills."""
    after, _ = undisturbed(prepared, folder, command)
    for kills in itertools.count():

        def killed(kills: int = kills) -> int:
            places(fuse(1 + kills * step, die))
            return called(*command.arguments)

        if healed_once(prepared, folder / str(kills), command, after, lambda: child(killed)) == 0:
            return kills
    raise AssertionError("unreachable")


def undisturbed(prepared: Path, folder: Path, command: Command) -> tuple[str, float]:
    """The digest after a command that nobody disturbs, and how many seconds it takes."""
    whole = folder / "undisturbed"
    shutil.copytree(prepared, whole)
    with inside(whole):
        began = time.monotonic()
        assert called(*command.arguments) == 0
        seconds = time.monotonic() - began
        return digest(command), seconds


def healed_once(
    prepared: Path, trial: Path, command: Command, after: str, work: Callable[[], int]
) -> int:
    """Do work that may be killed, then the command again; the digest must be that of `after`.

    Return how the work ended: 0, or minus the signal.
    """
    shutil.copytree(prepared, trial)
    with inside(trial):
        ended = work()
        for name in command.files:
            if Path(name).exists():
                check_whole(Path(name))
        if digest(command) != after or ended:
            code = called(*command.arguments)
            # what had been committed before the kill may be refused the second time
            assert code == 0 or digest(command) == after
        assert digest(command) == after
    shutil.rmtree(trial)
    assert ended in (0, -signal.SIGKILL)
    return ended


def check_whole(path: Path) -> None:
    """A file that has its name is complete."""
    if path.suffix == ".db":
        with Wire(path) as wire:
            assert wire.verify().sound
    else:
        assert path.read_text(encoding="utf-8").rstrip().endswith("</html>")


def by_name(command: Command) -> str:
    return command.name


@pytest.mark.parametrize("command", COMMANDS, ids=by_name)
def test_a_kill_at_a_statement_is_healed_by_the_same_command(
    prepared: Path, tmp_path: Path, command: Command
) -> None:
    kills = healed(prepared, tmp_path, command, kill_at_statement, command.step)
    print("trials:", kills)
    assert kills >= 1 or command.folder  # which is filled without the store


@pytest.mark.parametrize("command", COMMANDS, ids=by_name)
def test_a_kill_at_a_change_of_a_file_is_healed_by_the_same_command(
    prepared: Path, tmp_path: Path, command: Command
) -> None:
    kills = healed(prepared, tmp_path, command, kill_at_file_call, 3)
    print("trials:", kills)
    assert kills >= bool(command.files or command.folder)


def fail_once_inside_a_run(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the first change of a store inside a run fail; return a list of what failed."""
    original, failed = sqlite3.connect, list[str]()

    class Failing(sqlite3.Connection):
        in_run = False

        def _fail(self, sql: str) -> None:
            words = sql.replace('"', " ").split()[:5]
            changes = words[0] in ("INSERT", "UPDATE", "DELETE", "REPLACE")
            if changes and self.in_run and not failed and "runs" not in words:
                failed.append(sql)
                raise sqlite3.OperationalError("disk I/O error")
            self.in_run = self.in_run or (words[0] == "INSERT" and "runs" in words)

        def execute(self, sql: str, *more: Any) -> Any:
            self._fail(sql)
            return super().execute(sql, *more)

        def executemany(self, sql: str, *more: Any) -> Any:
            self._fail(sql)
            return super().executemany(sql, *more)

    monkeypatch.setattr(
        sqlite3, "connect", lambda *a, **more: original(*a, **more, factory=Failing)
    )
    return failed


NOT_FAILED = ("feeds add", "backup", "prepare", "merge --auto", "split --auto", "reassign")
"""Three write no run; the other three find nothing to change in this store, so no run begins."""

IN_RUNS = [command for command in COMMANDS if command.name not in NOT_FAILED]
"""Commands whose changes of the store are runs."""


@pytest.mark.parametrize("command", IN_RUNS, ids=by_name)
def test_a_run_that_fails_is_marked_whatever_the_command(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    folder = tmp_path / "failed"
    shutil.copytree(prepared, folder)
    with inside(folder):
        with monkeypatch.context() as patch:
            failed = fail_once_inside_a_run(patch)
            code = -1
            with contextlib.suppress(StorageError):  # from a form
                code = called(*command.arguments)
        assert failed
        assert code != 0
        with Store.reading("wire.db") as store:
            states = [status for (status,) in store.rows("SELECT status FROM runs ORDER BY id")]
        assert "running" not in states
        assert {"failed", "interrupted"} & set(states)
        digest()


@pytest.mark.long
@pytest.mark.parametrize("places", [kill_at_statement, kill_at_file_call])
@pytest.mark.parametrize("command", COMMANDS, ids=by_name)
def test_a_kill_at_any_place_is_healed_by_the_same_command(
    prepared: Path,
    tmp_path: Path,
    command: Command,
    places: Callable[[Callable[[], None]], None],
) -> None:
    print("trials:", healed(prepared, tmp_path, command, places, 1))


def random_kills(prepared: Path, folder: Path, n_kills: int, seed: int) -> dict[str, int]:
    """Kill commands at random moments, and within milliseconds of a random statement.

    Return how many kills each command got. A command that ends before its kill is tried again.
    """
    random = Random(seed)
    known = {c: undisturbed(prepared, folder / c.name, c) for c in COMMANDS}
    statements = {c: n_statements(prepared, folder / c.name, c) for c in COMMANDS}
    kills = dict.fromkeys((c.name for c in COMMANDS), 0)
    for number in itertools.count():
        command = COMMANDS[number % len(COMMANDS)]
        after, seconds = known[command]
        moment = random.uniform(0.0, seconds)
        place = random.randint(0, statements[command])
        late = random.uniform(0.0, 0.005)

        def by_clock(ask: Callable[[], None], command: Command = command) -> int:
            ask()
            return called(*command.arguments)

        def by_statement(
            ask: Callable[[], None], command: Command = command, place: int = place
        ) -> int:
            kill_at_statement(fuse(place, ask))
            return called(*command.arguments)

        clock = random.random() < 0.5 or place == 0
        work = (by_clock, moment) if clock else (by_statement, late)
        trial = folder / str(number)
        if healed_once(prepared, trial, command, after, functools.partial(killed_after, *work)):
            kills[command.name] += 1
        if sum(kills.values()) >= n_kills:
            return kills
    raise AssertionError("unreachable")


def n_statements(prepared: Path, folder: Path, command: Command) -> int:
    """How many statements a command sends to SQLite."""
    counted = folder / "counted"
    shutil.copytree(prepared, counted)
    log = counted / "statements"

    def work() -> int:
        with open(log, "ab", buffering=0) as out:
            kill_at_statement(lambda: out.write(b"."))
            return called(*command.arguments)

    with inside(counted):
        assert child(work) == 0
    return log.stat().st_size


def test_kills_at_random_moments_are_healed_by_the_same_command(
    prepared: Path, tmp_path: Path
) -> None:
    kills = random_kills(prepared, tmp_path, 12, seed=11)
    assert sum(kills.values()) == 12


@pytest.mark.long
def test_a_thousand_kills_at_random_moments_are_healed_by_the_same_command(
    prepared: Path, tmp_path: Path
) -> None:
    kills = random_kills(prepared, tmp_path, 1000, seed=12)
    print("kills:", kills)
    assert min(kills.values()) > 0


# --- old stores --------------------------------------------------------------------------------

SCHEMAS = Path(__file__).parents[1] / "store" / "schemas"


def migrated() -> int:
    """Bring the store to the present schema."""
    with Wire("wire.db") as wire:
        _ = wire.writer
    return 0


def migration_kills(version: int, folder: Path, step: int) -> int:
    """Kill the migration of a store at every so many statements; return the number of kills.

    Each time the next one completes it, with the digest of an undisturbed migration.
    """
    old = gzip.decompress((SCHEMAS / f"schema-{version}.db.gz").read_bytes())
    folder.mkdir()
    with inside(folder):
        Path("wire.db").write_bytes(old)
        migrated()
        after = digest()
    for kills in itertools.count():
        shutil.rmtree(folder)
        folder.mkdir()
        with inside(folder):
            Path("wire.db").write_bytes(old)

            def killed(kills: int = kills) -> int:
                kill_at_statement(fuse(1 + kills * step, die))
                return migrated()

            ended = child(killed)
            migrated()
            assert digest() == after
        if ended == 0:
            return kills
        assert ended == -signal.SIGKILL
    raise AssertionError("unreachable")


@pytest.mark.parametrize("version", range(1, SCHEMA))
def test_a_kill_during_a_migration_is_healed_by_the_next(version: int, tmp_path: Path) -> None:
    assert migration_kills(version, tmp_path / "old", 89) >= 1


@pytest.mark.long
@pytest.mark.parametrize("version", range(1, SCHEMA))
def test_a_kill_at_any_statement_of_a_migration_is_healed(version: int, tmp_path: Path) -> None:
    print("trials:", migration_kills(version, tmp_path / "old", 1))
