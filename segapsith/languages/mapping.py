"""Large tables that are read here and there: in a file without a name instead of in memory.

The system drops pages of a file when memory is short, and `release` drops those of this process at
once. Reading a page again takes microseconds while the system still has it.
"""

from __future__ import annotations

import ctypes
import mmap
import tempfile
from pathlib import Path
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["ForeignMap", "MappedBytes", "Turn"]


class _Releasable(Protocol):
    def release(self) -> None: ...


class MappedBytes:
    """Bytes in an unnamed temporary file; in memory where there can be no such file.

    >>> table = MappedBytes(b"abc" * 1000)
    >>> table.release()
    >>> bytes(table.values[:4])
    b'abca'
    """

    def __init__(self, data: bytes | memoryview) -> None:
        self._map: mmap.mmap | None = None
        self.values: NDArray[np.uint8] = np.frombuffer(data, np.uint8)
        try:
            with tempfile.TemporaryFile() as file:
                file.write(data)
                file.flush()
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError):  # no writable folder, a full one, or nothing to write
            return
        self.values = np.frombuffer(self._map, np.uint8)

    def release(self) -> None:
        """Drop the pages that this process has read; they are read again when they are needed."""
        if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


class ForeignMap:
    """A file that another library has mapped, read only; only on Linux can its pages be dropped."""

    def __init__(self, name: str) -> None:
        self._name = name

    def release(self) -> None:
        """Drop the pages that this process has read; they are read again when they are needed."""
        maps = Path("/proc/self/maps")
        if not maps.exists():
            return
        library = ctypes.CDLL(None)
        for line in maps.read_text("utf-8", "surrogateescape").splitlines():
            if line.endswith(f"/{self._name}"):
                span, rights = line.split()[:2]
                start, end = (int(place, 16) for place in span.split("-"))
                if "w" not in rights:
                    size = ctypes.c_size_t(end - start)
                    library.madvise(ctypes.c_void_p(start), size, mmap.MADV_DONTNEED)


class Turn:
    """Who has pages in memory: one table at a time.

    >>> one, two = MappedBytes(b"one"), MappedBytes(b"two")
    >>> Turn.of(one), Turn.of(two)  # the pages of the first are dropped
    (None, None)
    """

    holder: ClassVar[_Releasable | None] = None

    @classmethod
    def of(cls, table: _Releasable) -> None:
        """Give the turn to a table; the pages of the one before are dropped."""
        last, cls.holder = cls.holder, table
        if last is not None and last is not table:
            last.release()
