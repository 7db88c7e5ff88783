"""Tables in files: the same bytes, before and after their pages are dropped."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from segapsith.languages.mapping import Arrays, ForeignMap, MappedBytes, Turn, kept_arrays

DATA = bytes(range(256)) * 4096


def resident() -> int:
    """Return the bytes of files that this process has in memory."""
    status = Path("/proc/self/status").read_text("utf-8")
    (line,) = (line for line in status.splitlines() if line.startswith("RssFile"))
    return int(line.split()[1]) * 1024


def test_bytes_are_the_same_after_a_release() -> None:
    table = MappedBytes(DATA)
    before = table.values.tobytes()
    table.release()
    assert before == table.values.tobytes() == DATA


@pytest.mark.parametrize("data", [b"", b"x"])
def test_small_tables_can_be_released(data: bytes) -> None:
    table = MappedBytes(data)
    table.release()
    assert table.values.tobytes() == data


def test_without_a_temporary_folder_a_table_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> NoReturn:
        raise OSError("no space")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    table = MappedBytes(DATA)
    table.release()
    assert table.values.tobytes() == DATA


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux drops pages at once")
def test_the_pages_of_the_table_before_are_dropped() -> None:
    one, two = MappedBytes(DATA * 8), MappedBytes(b"two")
    Turn.of(one)
    assert int(np.sum(one.values, dtype=np.int64)) == 8 * 4096 * 255 * 128
    used = resident()
    Turn.of(two)
    assert resident() < used - len(DATA) * 6
    assert one.values[:3].tolist() == [0, 1, 2]


def test_a_file_that_nobody_mapped_is_no_error() -> None:
    ForeignMap("no-such-file.dic").release()


def numbers() -> Arrays:
    return {
        "grid": np.arange(6, dtype=np.float16).reshape(2, 3),
        "none": np.zeros(0, np.int64),
        "texts": np.array(["en", "fra"]),
    }


def refuse_to_make() -> Arrays:
    raise AssertionError("the arrays are in the file")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_arrays_are_made_once_and_then_read(kept: Path) -> None:
    made = kept_arrays("some", "first", numbers).arrays
    (path,) = kept.iterdir()
    read = kept_arrays("some", "first", refuse_to_make).arrays
    for name, array in numbers().items():
        for same in (made[name], read[name]):
            assert same.dtype == array.dtype
            assert same.tolist() == array.tolist()
            assert not same.flags.writeable
    assert path.stat().st_mode & 0o777 == 0o644


def test_arrays_made_from_something_else_are_made_again(kept: Path) -> None:
    kept_arrays("some", "first", numbers)
    other = kept_arrays("some", "second", lambda: {"grid": np.zeros(1)}).arrays
    assert list(other) == ["grid"]


@pytest.mark.parametrize("damage", [b"", b"x", DATA])
def test_a_damaged_file_is_written_again(kept: Path, damage: bytes) -> None:
    kept_arrays("some", "first", numbers)
    (path,) = kept.iterdir()
    whole = path.read_bytes()
    for content in (damage, whole[:-1], whole.replace(b"first", b"other")):
        path.unlink()
        path.write_bytes(content)
        assert kept_arrays("some", "first", numbers).arrays["grid"].tolist() == [
            [0, 1, 2],
            [3, 4, 5],
        ]
        assert path.read_bytes() == whole


def test_without_a_folder_to_write_to_arrays_are_made_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "below"))
    for _ in range(2):
        assert kept_arrays("some", "first", numbers).arrays["grid"].shape == (2, 3)
