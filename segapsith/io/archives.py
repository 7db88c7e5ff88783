"""The members of zip and tar archives, in the order of their names.

Nothing is unpacked: names are only names, links are passed over, and the only thing written is an
anonymous temporary file where an archive comes from a pipe or is compressed as a whole. Declared
sizes are not believed; what members really produce is counted over the whole archive.
"""

from __future__ import annotations

import io
import os
import struct
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Protocol, cast

from segapsith import limits
from segapsith.errors import InputError
from segapsith.model import Reject

__all__ = ["Member", "is_archive", "members"]

_BLOCK = 512
_SPOOL = 16 * 1024 * 1024
_MAX_NAME = 4096


class Stream(Protocol):
    """A stream; `plain` is the file behind it if that can be sought."""

    plain: BinaryIO | None

    def read(self, size: int = -1, /) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class Member:
    """A member: the name of the archive, a slash and its own name; opened when it is read."""

    name: str
    open: Callable[[], BinaryIO]


def is_archive(head: bytes) -> bool:
    """Whether a stream that begins like this is a zip or a tar archive."""
    return _is_zip(head) or _is_tar(head)


def members(stream: Stream, name: str) -> Iterator[Member | Reject]:
    """Every regular member, sorted by name; what cannot be opened is a reject."""
    with tempfile.SpooledTemporaryFile(max_size=_SPOOL) as spooled:
        file = stream.plain
        if file is None:
            file = cast(BinaryIO, spooled)
            while data := stream.read(1 << 20):
                file.write(data)
        file.seek(0, os.SEEK_END)
        size = file.tell()
        file.seek(0)
        budget = _Budget(size, name)
        found = _zipped if _is_zip(file.read(4)) else _tarred
        yield from found(file, size, name, budget)


class _Budget:
    """Bytes that the members of an archive may still produce together."""

    def __init__(self, size: int, name: str) -> None:
        wanted = max(limits.SMALL_BYTES, limits.MAX_EXPANSION * size)
        self._name, self._left = name, min(wanted, limits.MAX_DECODED_BYTES)

    def spend(self, n_bytes: int) -> None:
        self._left -= n_bytes
        if self._left < 0:
            raise InputError(f"{self._name}: its members grow beyond what an archive may hold")


class _Spent(io.RawIOBase):
    """A member whose bytes are counted."""

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


def _zipped(file: BinaryIO, size: int, name: str, budget: _Budget) -> Iterator[Member | Reject]:
    if _directory_size(file, size) > limits.MAX_DIRECTORY_BYTES:
        raise InputError(f"{name}: its list of members is too long")
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OSError) as error:
        raise InputError(f"{name}: the archive is damaged: {error}") from error
    with archive:
        listed = sorted(archive.infolist(), key=lambda i: (i.filename, i.header_offset))
        if any(i.filename in ("[Content_Types].xml", "mimetype") for i in listed):
            raise InputError(f"{name}: it is an office document or a book, not an archive of texts")
        if len(listed) > limits.MAX_ARCHIVE_MEMBERS:
            raise InputError(f"{name}: it has more than {limits.MAX_ARCHIVE_MEMBERS:,} members")
        for info in listed:
            if info.is_dir() or _is_hidden(info.filename) or (info.external_attr >> 28) == 0o12:
                continue  # a directory, the furniture of some system, or a link
            inner = f"{name}/{info.filename}"
            if info.flag_bits & 1:
                yield Reject(inner, "it is encrypted")
            else:
                yield Member(inner, _opener(archive, info, budget))


def _opener(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: _Budget
) -> Callable[[], BinaryIO]:
    def opened() -> BinaryIO:
        try:
            stream = archive.open(info)
        except (NotImplementedError, RuntimeError, ValueError, struct.error) as error:
            raise zipfile.BadZipFile(str(error)) from error
        return cast(BinaryIO, _Spent(cast(BinaryIO, stream), budget))

    return opened


def _directory_size(file: BinaryIO, size: int) -> int:
    """Bytes of the list of members, as the end of the archive declares them."""
    file.seek(max(0, size - 70_000))
    tail = file.read(70_000)
    file.seek(0)
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) < place + 22:
        return 0  # without an end it is damaged, as will be found
    (declared,) = struct.unpack_from("<L", tail, place + 12)
    wide = tail.rfind(b"PK\x06\x06")
    if declared == 0xFFFFFFFF and wide >= 0 and len(tail) >= wide + 48:
        (declared,) = struct.unpack_from("<Q", tail, wide + 40)
    return min(int(declared), size)


# -- tar ---------------------------------------------------------------------------------------


def _is_tar(head: bytes) -> bool:
    return len(head) >= _BLOCK and head[0] != 0 and _sum_holds(head[:_BLOCK])


def _sum_holds(block: bytes) -> bool:
    declared = _number(block[148:156])
    return declared is not None and declared == sum(block[:148]) + 256 + sum(block[156:])


def _number(field: bytes) -> int | None:
    if field[:1] in (b"\x80", b"\xff"):
        return int.from_bytes(field[1:], "big") if field[:1] == b"\x80" else None
    text = field.split(b"\0")[0].strip()
    try:
        return int(text or b"0", 8)
    except ValueError:
        return None


def _tarred(file: BinaryIO, size: int, name: str, budget: _Budget) -> Iterator[Member | Reject]:
    listed: list[tuple[str, int, int]] = []
    damage = ""
    place, longer = 0, ""
    while place < size:
        file.seek(place)
        block = file.read(_BLOCK)
        if not block.strip(b"\0"):
            break
        if len(block) < _BLOCK:
            damage = "the archive ends inside a header"
            break
        length = _number(block[124:136])
        if not _sum_holds(block) or length is None or length < 0:
            damage = f"the header at byte {place:,} is damaged; what follows is not read"
            break
        kind, start = block[156:157], place + _BLOCK
        place = start + -(-length // _BLOCK) * _BLOCK
        if kind in b"LxX" and kind:
            data = file.read(min(length, 1 << 16))
            longer = _text(data) if kind == b"L" else _path(data) or longer
            continue
        own, longer = longer or _own_name(block), ""
        if kind not in (b"0", b"\0", b"7") or _is_hidden(own):
            continue  # directories, links, devices and notes of the packer
        if start + length > size:
            damage = f"the archive ends inside {own}"
            break
        listed.append((own[:_MAX_NAME], start, length))
        if len(listed) > limits.MAX_ARCHIVE_MEMBERS:
            raise InputError(f"{name}: it has more than {limits.MAX_ARCHIVE_MEMBERS:,} members")
    for own, start, length in sorted(listed):
        yield Member(f"{name}/{own}", _part(file, start, length, budget))
    if damage:
        yield Reject(name, damage)


def _part(file: BinaryIO, start: int, length: int, budget: _Budget) -> Callable[[], BinaryIO]:
    return lambda: cast(BinaryIO, _Spent(cast(BinaryIO, _Slice(file, start, length)), budget))


class _Slice(io.RawIOBase):
    """A stretch of a file."""

    def __init__(self, file: BinaryIO, start: int, length: int) -> None:
        self._file, self._place, self._end = file, start, start + length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        self._file.seek(self._place)
        data = self._file.read(min(len(buffer), self._end - self._place))
        self._place += len(data)
        buffer[: len(data)] = data
        return len(data)


def _text(data: bytes) -> str:
    return data.split(b"\0")[0].decode("utf-8", "replace")


def _own_name(block: bytes) -> str:
    own = _text(block[:100])
    prefix = _text(block[345:500]) if block[257:262] == b"ustar" else ""
    return f"{prefix}/{own}" if prefix else own


def _path(data: bytes) -> str:
    """The path in an extended header: records of a length, a name and a value."""
    place = 0
    while place < len(data):
        number, space, _ = data[place : place + 12].partition(b" ")
        if not space or not number.isdigit() or int(number) <= len(number) + 1:
            return ""
        record = data[place + len(number) + 1 : place + int(number)].rstrip(b"\n")
        if record.startswith(b"path="):
            return _text(record[5:])
        place += int(number)
    return ""
