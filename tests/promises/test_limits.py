"""Too little of something: room, open files, memory. A plain word, a code, and nothing lost."""

from __future__ import annotations

import os
import resource
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from segapsith import sample
from segapsith.cli.app import run

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
    from segapsith.api import Wire
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
    lowest = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").is_dir() else 12
    codes = set()
    for more in (0, 2, 4):
        code, said = ended(trials, path, resource.RLIMIT_NOFILE, lowest + more)
        codes.add(code)
        assert 0 <= code < 126
        assert "Traceback" not in said
    assert codes - {0}
    healed(trials, path, wanted)


@pytest.mark.long
@pytest.mark.parametrize("megabytes", [50, 100, 200, 400, 600, 800, 1000, 1500, 2000])
def test_too_little_memory_is_named_and_nothing_is_lost(
    trials: Any, wanted: str, megabytes: int
) -> None:
    path = trials.folder / "wire.db"
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    code, said = ended(trials, path, resource.RLIMIT_AS, used + megabytes * 10**5)
    assert 0 <= code < 126
    assert "Traceback" not in said
    healed(trials, path, wanted)


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
