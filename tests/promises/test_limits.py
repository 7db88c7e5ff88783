"""Too little of something: room, open files, memory. A plain word, a code, and nothing lost."""

from __future__ import annotations

import os
import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from segapsith.cli.app import run
from segapsith.demo import sample

pytestmark = pytest.mark.slow

SOURCE = str(sample.path("en"))


def ended(trials: Any, path: Path, kind: int, limit: int) -> tuple[int, str]:
    """Exit code and words of an ingest under a limit."""
    said = trials.folder / f"said-{limit}"

    def limited() -> None:
        sys.stderr = said.open("w", buffering=1)
        resource.setrlimit(kind, (limit, limit))
        code = run(["ingest", SOURCE, "--lang", "en", "--store", str(path), "--quiet"])
        os._exit(code)

    return trials.child(limited), said.read_text()


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> str:
    from segapsith.api.wire import Wire
    from segapsith.settings import resolve

    folder = tmp_path_factory.mktemp("limits")
    assert run(["ingest", SOURCE, "--lang", "en", "--store", str(folder / "w.db"), "--quiet"]) == 0
    with Wire(folder / "w.db", resolve({"lang": "en"}, environment={})) as wire:
        found: str = wire.status()["digest"]
        return found


def healed(trials: Any, path: Path, wanted: str) -> None:
    assert run(["ingest", SOURCE, "--lang", "en", "--store", str(path), "--quiet"]) == 0
    assert trials.digest(path) == wanted


@pytest.mark.parametrize("limit", [20_000, 400_000, 1_200_000])
def test_a_full_disk_is_named_and_nothing_is_lost(trials: Any, wanted: str, limit: int) -> None:
    path = trials.folder / "wire.db"
    code, said = ended(trials, path, resource.RLIMIT_FSIZE, limit)
    assert code in (73, 74), said
    assert said.startswith("segapsith: ")
    assert "Traceback" not in said
    healed(trials, path, wanted)


def test_too_few_open_files_are_named_and_nothing_is_lost(trials: Any, wanted: str) -> None:
    path = trials.folder / "wire.db"
    unused = os.open(os.devnull, os.O_RDONLY)  # the first number that no open file has
    os.close(unused)
    codes = set()
    for more in (1, 3, 5):  # one is for the messages
        code, said = ended(trials, path, resource.RLIMIT_NOFILE, unused + more)
        codes.add(code)
        assert 0 <= code < 126
        assert "Traceback" not in said
    assert codes - {0}
    healed(trials, path, wanted)


def starved(trials: Any, wanted: str, levels: list[int]) -> int:
    """Ingests in processes of at most so many megabytes; for how many that was too little."""
    ended_by_it = 0
    for megabytes in levels:
        path, limit = trials.folder / f"{megabytes}.db", megabytes * 10**6
        done = subprocess.run(
            [sys.executable, "-m", "segapsith", "ingest", SOURCE, "--lang", "en", "--quiet"],
            env={**os.environ, "SEGAPSITH_STORE": str(path), "OPENBLAS_NUM_THREADS": "1"},
            preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "Traceback" not in done.stderr
        if done.returncode:
            assert done.returncode in (70, 74) and "memory" in done.stderr.lower(), done
            ended_by_it += 1
        healed(trials, path, wanted)
    print("trials:", len(levels), "of which too little memory:", ended_by_it)
    return ended_by_it


def test_too_little_memory_is_named_and_nothing_is_lost(trials: Any, wanted: str) -> None:
    assert starved(trials, wanted, [320]) == 1


@pytest.mark.long
def test_nine_levels_of_memory_are_named_and_nothing_is_lost(trials: Any, wanted: str) -> None:
    assert starved(trials, wanted, [100, 200, 260, 320, 400, 480, 560, 700, 1000]) >= 4


# -- a disk that is really full --------------------------------------------------------------------

FULL = """
mount -t tmpfs -o size={size}k tmpfs "$1" || exit 99
cd "$1"
"$2" -m segapsith ingest "$3" --lang en --store wire.db --quiet
code=$?
cp wire.db* "$4" 2>/dev/null
exit $code
"""


def on_a_small_disk(trials: Any, wanted: str, sizes: range) -> int:
    """Ingests on disks of so many kilobytes; how often there was no room."""
    full = 0
    for size in sizes:
        mount, kept = trials.folder / "mount", trials.folder / f"kept-{size}"
        mount.mkdir(exist_ok=True)
        kept.mkdir()
        done = subprocess.run(
            [
                "unshare", "-m", "sh", "-c", FULL.format(size=size), "sh", str(mount),
                sys.executable, SOURCE, str(kept),
            ],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode in (1, 99) and "segapsith" not in done.stderr:
            pytest.skip(f"a file system in memory cannot be mounted here: {done.stderr.strip()}")
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 73, 74), done.stderr
        assert done.returncode == 0 or done.stderr.startswith("segapsith: ")
        full += done.returncode != 0
        healed(trials, kept / "wire.db", wanted)
    print("trials:", len(sizes), "of which without room:", full)
    return full


@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare")
def test_a_disk_without_room_is_named_and_nothing_is_lost(trials: Any, wanted: str) -> None:
    assert on_a_small_disk(trials, wanted, range(1000, 1001)) == 1


@pytest.mark.long
@pytest.mark.skipif(shutil.which("unshare") is None, reason="there is no unshare")
def test_forty_disks_without_room_are_named_and_nothing_is_lost(trials: Any, wanted: str) -> None:
    assert on_a_small_disk(trials, wanted, range(40, 4040, 100)) >= 10


def test_nothing_is_made_that_others_may_write(trials: Any) -> None:
    path = trials.folder / "wire.db"
    inbox = trials.folder / "inbox"
    inbox.mkdir()
    (inbox / "a.jsonl").write_bytes(Path(SOURCE).read_bytes()[:4000].rsplit(b"\n", 1)[0])

    def careless() -> None:
        os.umask(0)
        base = ["--store", str(path), "--lang", "en", "--quiet"]
        codes = [
            run(["feeds", "add", "https://example.org/a", *base[:2], "--quiet"]),
            run(["feeds", "remove", "https://example.org/a", *base[:2], "--quiet"]),
            run(["update", "--nightly", "--inbox", str(inbox), *base]),
        ]
        os._exit(max(codes))

    assert trials.child(careless) == 0
    made = [p for p in trials.folder.rglob("*") if p != inbox and inbox not in p.parents]
    assert {p.name for p in made} >= {"wire.db", "wire.backups", "wire.reports"}
    assert [str(p) for p in made if p.stat().st_mode & (stat.S_IWOTH | stat.S_IWGRP)] == []
