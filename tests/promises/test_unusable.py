"""Stores that are none, or no longer sound: refused with a word, left as they are, and noticed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from segapsith.cli.app import run
from segapsith.demo import sample
from segapsith.errors import SegapsithError
from segapsith_store.seal import seal

pytestmark = pytest.mark.slow

SOURCE = str(sample.path("en"))
READING = (["status"], ["domains"], ["verify"], ["report", "--output", "out.html"], ["backup", "b"])
WRITING = (
    ["ingest", SOURCE],
    ["forget", "en-001"],
    ["topics"],
    ["sections"],
    ["update", "--nightly"],
)
PAGE = 16_384


def text_file(path: Path, _: Path) -> None:
    path.write_text("Minutes of the meeting of the second of March\n" * 200, encoding="utf-8")


def other_program(path: Path, _: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE documents (id INTEGER, uid TEXT)")
        connection.execute("INSERT INTO documents VALUES (1, 'mine')")
        connection.commit()


def cut_short(path: Path, whole: Path) -> None:
    data = whole.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def without_a_head(path: Path, whole: Path) -> None:
    path.write_bytes(bytes(100) + whole.read_bytes()[100:])


def torn(path: Path, whole: Path) -> None:
    """The root page of every table is noise."""
    data = bytearray(whole.read_bytes())
    with closing(sqlite3.connect(whole)) as connection:
        pages = [root for (root,) in connection.execute("SELECT rootpage FROM sqlite_master")]
    for page in filter(None, pages):
        data[(page - 1) * PAGE : page * PAGE] = b"\xa5" * PAGE
    path.write_bytes(data)


def said(trials: Any, command: list[str], path: Path) -> tuple[int, str]:
    """Exit code and words of a command in a child of its own."""
    words = trials.folder / "said"

    def work() -> None:
        os.chdir(trials.folder)
        sys.stderr = words.open("w", buffering=1)
        os._exit(run([*command, "--store", str(path), "--quiet"]))

    return trials.child(work), words.read_text()


@pytest.mark.parametrize("make", [text_file, other_program, without_a_head])
def test_what_is_no_store_is_refused_and_left_as_it_is(
    trials: Any, whole: Path, make: Callable[[Path, Path], None]
) -> None:
    path = trials.folder / "wire.db"
    make(path, whole)
    before = path.read_bytes()
    for command in (*READING, *WRITING):
        code, words = said(trials, command, path)
        assert 0 < code < 126, (command, words)
        assert "Traceback" not in words and words.startswith("segapsith")
        assert path.read_bytes() == before, command


@pytest.mark.parametrize("make", [cut_short, torn])
def test_a_damaged_store_is_noticed_and_never_a_crash(
    trials: Any, whole: Path, make: Callable[[Path, Path], None]
) -> None:
    path = trials.folder / "wire.db"
    for command in (*READING, *WRITING):
        make(path, whole)
        code, words = said(trials, command, path)
        assert 0 <= code < 126, (command, words)
        assert "Traceback" not in words and "should not happen" not in words, words
        assert code or command[0] != "verify"
        for end in ("-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)


def sealed_and_damaged(
    trials: Any, whole: Path, damages: Callable[[bytes], Iterable[bytes]]
) -> tuple[int, int]:
    """Damages a sealed store in several ways, one at a time: how many were noticed, and not."""
    path = trials.folder / "damaged.db"
    shutil.copy(whole, path)
    with trials.wire(path) as wire:
        wanted = seal(wire.writer)
    noticed = equal = 0
    for data in damages(path.read_bytes()):
        path.write_bytes(data)
        try:
            with trials.wire(path) as wire:
                verdict = wire.verify()
            sound = verdict.sound
        except SegapsithError:
            sound = False
        if sound:
            assert verdict.digest == wanted
        noticed, equal = noticed + (not sound), equal + sound
        for end in ("-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
    print("trials:", noticed + equal, "noticed:", noticed, "without effect:", equal)
    return noticed, equal


def overwritten(trials: Any, whole: Path, step: int) -> tuple[int, int]:
    """Makes noise of every so many pages."""

    def damages(data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), step * PAGE):
            yield data[:start] + b"\x5a" * PAGE + data[start + PAGE :]

    return sealed_and_damaged(trials, whole, damages)


def shortened(trials: Any, whole: Path, n_lengths: int) -> tuple[int, int]:
    """Cuts the file to so many lengths; half of them are whole pages."""

    def damages(data: bytes) -> Iterator[bytes]:
        for number in range(n_lengths):
            length = (2 * number + 1) * len(data) // (2 * n_lengths)
            yield data[: length - (length % PAGE if number % 2 else 0)]

    return sealed_and_damaged(trials, whole, damages)


def test_a_page_of_noise_is_noticed_or_does_not_matter(trials: Any, whole: Path) -> None:
    noticed, equal = overwritten(trials, whole, 23)
    assert noticed > equal


@pytest.mark.long
def test_any_page_of_noise_is_noticed_or_does_not_matter(trials: Any, whole: Path) -> None:
    noticed, equal = overwritten(trials, whole, 1)
    assert noticed > equal


def test_an_absent_store_and_a_directory_are_told(trials: Any) -> None:
    for path in (trials.folder / "none.db", trials.folder):
        for command in (*READING, *WRITING[1:3]):
            code, words = said(trials, command, path)
            assert 0 < code < 126 and "Traceback" not in words, (command, words)
    assert said(trials, WRITING[0], trials.folder)[0] == 73
    assert said(trials, ["ingest", SOURCE], trials.folder / "no" / "such" / "wire.db")[0] == 73


class _Remembered(metadata.Distribution):
    """An installed package as it was when it could be read."""

    def __init__(self, distribution: metadata.Distribution) -> None:
        self._texts = {
            name: distribution.read_text(name)
            for name in ("METADATA", "PKG-INFO", "entry_points.txt")
        }

    def read_text(self, filename: str) -> str | None:
        return self._texts.get(filename)

    def locate_file(self, path: Any) -> Any:
        raise FileNotFoundError(path)


def remember_packages() -> None:
    """Answer questions about installed packages from memory: the clone may lie in a directory
    that other users cannot read. For a child that ends soon."""
    packages = [_Remembered(one) for one in metadata.distributions()]

    def find(context: Any = None) -> list[_Remembered]:
        wanted = getattr(context, "name", None)
        return [one for one in packages if wanted in (None, one.metadata["Name"])]

    metadata.MetadataPathFinder.find_distributions = find  # type: ignore[method-assign,assignment]


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can become nobody")
@pytest.mark.parametrize("folder_mode", [0o755, 0o777])
def test_who_may_only_read_reads_and_is_told_so(trials: Any, whole: Path, folder_mode: int) -> None:
    """A store of somebody else: reading is answered, writing gives 77, and the file stays."""
    own = trials.folder / "own.db"
    with tempfile.TemporaryDirectory() as name:  # others may not look into pytest's own folders
        path, words = Path(name) / "wire.db", Path(name) / "said"
        for copy in (own, path):
            shutil.copy(whole, copy)
        path.chmod(0o644)
        Path(name).chmod(folder_mode)
        before = path.read_bytes()

        def as_nobody(command: list[str]) -> int:
            def work() -> None:
                sys.stderr = words.open("w", buffering=1)
                os.chdir(trials.folder)
                run([*command, "--store", str(own), "--quiet"])  # loads what nobody may not read
                remember_packages()
                words.write_text("")
                os.setgid(65534)
                os.setuid(65534)
                os._exit(run([*command, "--store", str(path), "--quiet"]))

            code = int(trials.child(work))
            told = words.read_text()
            assert "Traceback" not in told and "should not happen" not in told, told
            return code

        for command in (["status"], ["domains"], ["verify"]):
            assert as_nobody(command) == 0, words.read_text()
        for command in WRITING[:3]:
            assert as_nobody(command) == 77, words.read_text()
        assert path.read_bytes() == before


def test_a_package_that_cannot_be_found_is_named(
    trials: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", missing)
    code, words = said(trials, WRITING[0], trials.folder / "wire.db")
    assert code == 78
    assert "package numpy is not installed" in words and "should not happen" not in words


def test_a_truncated_store_is_noticed(trials: Any, whole: Path) -> None:
    assert shortened(trials, whole, 8) == (8, 0)


@pytest.mark.long
def test_two_hundred_truncations_are_noticed(trials: Any, whole: Path) -> None:
    assert shortened(trials, whole, 200) == (200, 0)
