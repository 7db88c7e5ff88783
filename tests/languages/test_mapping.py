"""Tables in files: the same bytes, before and after their pages are dropped."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from segapsith.languages.mapping import ForeignMap, MappedBytes, Turn

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
