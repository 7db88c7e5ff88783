"""Members of zip and tar archives, in the order of their names.

Nothing is unpacked to disk: member names are never used as paths, and links are skipped. Only an
archive from a pipe, or one that is compressed as a whole, is copied to an anonymous temporary file.
The size limit applies to the bytes that all members of an archive produce, not to declared sizes.
"""

from __future__ import annotations

import io
import os
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple, Protocol, cast

from segapsith import limits
from segapsith.errors import InputError
from segapsith.model import Reject

__all__ = ["Member", "is_archive", "members"]

_TAR_BLOCK_BYTES = 512
_MAX_MEMORY_BYTES = 16 * 1024 * 1024
"""Bytes of an archive that are copied to memory; more go to a temporary file."""

_MAX_NAME_CHARS = 4096


class Stream(Protocol):
    """A stream; `plain` is the underlying file if that is seekable, else None."""

    plain: BinaryIO | None

    def read(self, size: int = -1, /) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Member:
    """A member, named `ARCHIVE/MEMBER`; `open` is called when it is read."""

    name: str
    open: Callable[[], BinaryIO]


def is_archive(head: bytes) -> bool:
    """Return whether a stream with this beginning is a zip or tar archive."""
    return _is_zip(head) or _is_tar(head)


def members(stream: Stream, name: str) -> Iterator[Member | Reject]:
    """Yield every regular member, sorted by name; one that cannot be opened is a reject."""
    with tempfile.SpooledTemporaryFile(max_size=_MAX_MEMORY_BYTES) as spooled:
        file = stream.plain
        if file is None:
            file = cast(BinaryIO, spooled)
            while data := stream.read(1 << 20):
                file.write(data)
        file.seek(0, os.SEEK_END)
        size = file.tell()
        file.seek(0)
        budget = _Budget(size, name)
        list_members = _zip_members if _is_zip(file.read(4)) else _tar_members
        yield from list_members(file, size, name, budget)


class _Budget:
    """Bytes that the members of an archive may still produce in all."""

    def __init__(self, size: int, name: str) -> None:
        allowed = max(limits.SMALL_BYTES, limits.MAX_EXPANSION * size)
        self._limit = min(allowed, limits.MAX_DECODED_BYTES)
        self._name, self._left = name, self._limit

    def spend(self, n_bytes: int) -> None:
        self._left -= n_bytes
        if self._left < 0:
            raise InputError(
                f"{self._name}: not read further: its members exceed {self._limit:,} bytes in all"
            )


class _CountedMember(io.RawIOBase):
    """A member whose bytes are counted against the budget of its archive."""

    def __init__(self, stream: BinaryIO, budget: _Budget) -> None:
        self._stream, self._budget = stream, budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        try:
            data = self._stream.read(len(buffer))
        except (NotImplementedError, RuntimeError, ValueError, struct.error) as error:
            raise zipfile.BadZipFile(str(error)) from error
        self._budget.spend(len(data))
        buffer[: len(data)] = data
        return len(data)


def _is_hidden(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return name.endswith("/") or parts[-1].startswith(".") or parts[0] == "__MACOSX"


# -- zip ---------------------------------------------------------------------------------------


def _is_zip(head: bytes) -> bool:
    return head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"))


def _zip_members(
    file: BinaryIO, size: int, name: str, budget: _Budget
) -> Iterator[Member | Reject]:
    if _directory_size(file, size) > limits.MAX_DIRECTORY_BYTES:
        raise InputError(
            f"{name}: not read: its list of members exceeds {limits.MAX_DIRECTORY_BYTES:,} bytes"
        )
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError) as error:
        raise InputError(f"{name}: the archive is damaged: {error}") from error
    with archive:
        listed = sorted(archive.infolist(), key=lambda i: (i.filename, i.header_offset))
        if any(i.filename in ("[Content_Types].xml", "mimetype") for i in listed):
            raise InputError(
                f"{name}: not read: this is an office document or an e-book, not an archive of texts"
            )
        if len(listed) > limits.MAX_ARCHIVE_MEMBERS:
            raise _too_many_members(name)
        for info in listed:
            if not info.filename or info.is_dir() or _is_hidden(info.filename):
                continue
            if (info.external_attr >> 28) == 0o12:
                continue  # a symbolic link
            member_name = f"{name}/{info.filename}"
            if info.flag_bits & 1:
                yield Reject(member_name, "not read: the member is encrypted")
            else:
                yield Member(member_name, _opener(archive, info, budget))


def _opener(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: _Budget
) -> Callable[[], BinaryIO]:
    def open_member() -> BinaryIO:
        try:
            stream = archive.open(info)
        except (NotImplementedError, RuntimeError, ValueError, struct.error) as error:
            raise zipfile.BadZipFile(str(error)) from error
        return cast(BinaryIO, _CountedMember(cast(BinaryIO, stream), budget))

    return open_member


def _directory_size(file: BinaryIO, size: int) -> int:
    """Return the bytes of the list of members that the end of the archive declares."""
    file.seek(max(0, size - 70_000))
    tail = file.read(70_000)
    file.seek(0)
    record = tail.rfind(b"PK\x05\x06")
    if record < 0 or len(tail) < record + 22:
        return 0  # damaged: `zipfile` reports it
    (declared,) = struct.unpack_from("<L", tail, record + 12)
    zip64_record = tail.rfind(b"PK\x06\x06")
    if declared == 0xFFFFFFFF and zip64_record >= 0 and len(tail) >= zip64_record + 48:
        (declared,) = struct.unpack_from("<Q", tail, zip64_record + 40)
    return min(int(declared), size)


# -- tar ---------------------------------------------------------------------------------------


def _is_tar(head: bytes) -> bool:
    return (
        len(head) >= _TAR_BLOCK_BYTES
        and head[0] != 0
        and _has_valid_checksum(head[:_TAR_BLOCK_BYTES])
    )


def _has_valid_checksum(block: bytes) -> bool:
    declared = _number(block[148:156])
    return declared is not None and declared == sum(block[:148]) + 256 + sum(block[156:])


def _number(field: bytes) -> int | None:
    """Return an octal or binary number of a tar header, or None if it is not one."""
    if field[:1] in (b"\x80", b"\xff"):
        return int.from_bytes(field[1:], "big") if field[:1] == b"\x80" else None
    text = field.split(b"\0")[0].strip()
    try:
        return int(text or b"0", 8)
    except ValueError:
        return None


class _TarEntry(NamedTuple):
    """A regular member of a tar archive."""

    name: str
    start: int
    length: int


def _tar_members(
    file: BinaryIO, size: int, name: str, budget: _Budget
) -> Iterator[Member | Reject]:
    entries: list[_TarEntry] = []
    damage = ""
    try:
        for entry in _tar_entries(file, size):
            entries.append(entry)
            if len(entries) > limits.MAX_ARCHIVE_MEMBERS:
                raise _too_many_members(name)
    except _DamagedTarError as error:
        damage = str(error)
    for entry in sorted(entries):
        yield Member(f"{name}/{entry.name}", _opener_of_slice(file, entry, budget))
    if damage:
        yield Reject(name, damage)


class _DamagedTarError(Exception):
    """The rest of a tar archive cannot be read."""


def _tar_entries(file: BinaryIO, size: int) -> Iterator[_TarEntry]:
    """Yield the regular members in the order of the archive."""
    position, long_name = 0, ""
    while position < size:
        file.seek(position)
        block = file.read(_TAR_BLOCK_BYTES)
        if not block.strip(b"\0"):
            return
        if len(block) < _TAR_BLOCK_BYTES:
            raise _DamagedTarError("the archive ends inside a header")
        length = _number(block[124:136])
        if not _has_valid_checksum(block) or length is None or length < 0:
            raise _DamagedTarError(
                f"the header at byte {position:,} is damaged; what follows is not read"
            )
        kind, start = block[156:157], position + _TAR_BLOCK_BYTES
        position = start + -(-length // _TAR_BLOCK_BYTES) * _TAR_BLOCK_BYTES
        if kind in (b"L", b"x", b"X"):  # the name of the next member, in GNU or POSIX form
            data = file.read(min(length, 1 << 16))
            long_name = _text(data) if kind == b"L" else _path(data) or long_name
            continue
        member_name, long_name = long_name or _name_in_header(block), ""
        if kind not in (b"0", b"\0", b"7") or _is_hidden(member_name):
            continue  # directories, links, devices and headers of the packing program
        if start + length > size:
            raise _DamagedTarError(f"the archive ends inside {member_name}")
        yield _TarEntry(member_name[:_MAX_NAME_CHARS], start, length)


def _too_many_members(name: str) -> InputError:
    return InputError(
        f"{name}: not read: an archive may have at most {limits.MAX_ARCHIVE_MEMBERS:,} members"
    )


def _opener_of_slice(file: BinaryIO, entry: _TarEntry, budget: _Budget) -> Callable[[], BinaryIO]:
    def open_member() -> BinaryIO:
        part = _Slice(file, entry.start, entry.length)
        return cast(BinaryIO, _CountedMember(cast(BinaryIO, part), budget))

    return open_member


class _Slice(io.RawIOBase):
    """A part of a file."""

    def __init__(self, file: BinaryIO, start: int, length: int) -> None:
        self._file, self._position, self._end = file, start, start + length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        self._file.seek(self._position)
        data = self._file.read(min(len(buffer), self._end - self._position))
        self._position += len(data)
        buffer[: len(data)] = data
        return len(data)


def _text(data: bytes) -> str:
    return data.split(b"\0")[0].decode("utf-8", "replace")


def _name_in_header(block: bytes) -> str:
    name = _text(block[:100])
    prefix = _text(block[345:500]) if block[257:262] == b"ustar" else ""
    return f"{prefix}/{name}" if prefix else name


def _path(data: bytes) -> str:
    """Return the path in an extended header, whose records are `LENGTH NAME=VALUE`."""
    position = 0
    while position < len(data):
        number, space, _ = data[position : position + 12].partition(b" ")
        if not space or not number.isdigit() or int(number) <= len(number) + 1:
            return ""
        record = data[position + len(number) + 1 : position + int(number)].rstrip(b"\n")
        if record.startswith(b"path="):
            return _text(record[5:])
        position += int(number)
    return ""
