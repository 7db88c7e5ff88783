"""Large tables that are read here and there: in a file without a name instead of in memory.

The system drops pages of a file when memory is short, and `release` drops those of this process at
once. Reading a page again takes microseconds while the system still has it.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["ForeignMap", "KeptArrays", "MappedBytes", "Turn", "kept_arrays"]

Arrays = Mapping[str, NDArray[Any]]


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
        # without a writable folder, in a full one, or with nothing to write it stays in memory
        with contextlib.suppress(OSError, ValueError), tempfile.TemporaryFile() as file:
            file.write(data)
            file.flush()
            self._read(file)

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """Return the bytes of a file, which nobody changes."""
        table = cls(b"")
        with path.open("rb") as file:
            table._read(file)
        return table

    def _read(self, file: BinaryIO) -> None:
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
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


# --- arrays that are computed once for all processes ----------------------------------------------

_ALIGNED = 64
"""Bytes: each array begins at a multiple of this number."""

_LENGTH_BYTES = 8


class KeptArrays(NamedTuple):
    """Arrays by name, and the table that they are in."""

    arrays: Arrays
    table: MappedBytes


def kept_arrays(name: str, made_from: str, make: Callable[[], Arrays]) -> KeptArrays:
    """Return what `make` returns; a file stores it for later processes, beside compiled kernels.

    `made_from` says what the arrays depend on: others are made when it changes.
    """
    key = hashlib.sha256(made_from.encode()).hexdigest()[:16]
    paths = [folder / f"{name}-{key}.arrays" for folder in _folders()]
    for path in paths:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            return _unpacked(MappedBytes.of_file(path), made_from)
    data = _packed(make(), made_from)
    for path in paths:
        with contextlib.suppress(OSError):
            _write(path, data)
            return _unpacked(MappedBytes.of_file(path), made_from)
    return _unpacked(MappedBytes(data), made_from)


def _folders() -> Iterator[Path]:
    """Yield where numba stores compiled kernels: files that are computed may lie there too."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    if given:
        yield Path(given)
        return
    yield Path(__file__).parent / "__pycache__"
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "segapsith"


def _write(path: Path, data: bytes) -> None:
    """Write a file as a whole: other processes see all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(prefix=path.name, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(partial, 0o644)  # like the compiled modules beside it
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def _packed(arrays: Arrays, made_from: str) -> bytes:
    """Return arrays in one piece: the length of a heading, the heading as JSON, the arrays."""
    entries: list[tuple[str, str, tuple[int, ...], int]] = []
    parts, size = [], 0
    for name, array in arrays.items():
        part = array.tobytes()
        part += bytes(-len(part) % _ALIGNED)
        entries.append((name, array.dtype.str, array.shape, size))
        parts.append(part)
        size += len(part)
    head = json.dumps({"made_from": made_from, "size": size, "arrays": entries}).encode()
    head += b" " * (-(len(head) + _LENGTH_BYTES) % _ALIGNED)
    return b"".join([len(head).to_bytes(_LENGTH_BYTES, "little"), head, *parts])


def _unpacked(table: MappedBytes, made_from: str) -> KeptArrays:
    """Return the arrays of a table; raise an error if it has others."""
    values = table.values
    begin = _LENGTH_BYTES + int.from_bytes(values[:_LENGTH_BYTES].tobytes(), "little")
    head = json.loads(values[_LENGTH_BYTES:begin].tobytes())
    if head["made_from"] != made_from or len(values) != begin + head["size"]:
        raise ValueError("the file has other arrays")
    return KeptArrays(
        {
            name: np.ndarray(shape, dtype, values, begin + at)
            for name, dtype, shape, at in head["arrays"]
        },
        table,
    )
