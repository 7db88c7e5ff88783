"""Named inputs to items: files, directories, compressed files, archives, standard input, addresses.

What an input is, is told from its content. One unreadable input does not stop the others; what went wrong is kept in `failures`.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import lzma
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from segapsith import limits
from segapsith.errors import InputError, MissingInputError, PluginError, SegapsithError
from segapsith.io.archives import Member, is_archive, members
from segapsith.io.count_matrices import count_matrix
from segapsith.model import Document, FeedState, Reject
from segapsith.plugin.contracts import Source

__all__ = ["Fetch", "Inputs"]

Fetch = Callable[[str], tuple[bytes, str, FeedState | None]]
"""From an address to its body (empty if nothing is new), the name that its items go under, and
what is to be kept with the last of them."""

HEAD = 8192
"""Bytes that a source is shown to recognise its own."""

_OPENERS: dict[bytes, Callable[..., object]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}


_DAMAGES = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile)


class Inputs:
    """Reads named inputs in the order given; directories are walked in sorted order."""

    def __init__(
        self,
        names: Sequence[str],
        sources: Mapping[str, Source],
        chosen: str | None = None,
        bags_only: bool = False,
        fetch: Fetch | None = None,
        follow: Callable[[Document], Document] | None = None,
    ) -> None:
        self._names = list(names)
        self._sources = sources
        self._chosen = chosen
        self._bags_only = bags_only
        self._fetch = fetch
        self._follow = follow
        self.failures: list[SegapsithError] = []

    @property
    def key(self) -> str:
        """A hash of what was named: the same names are the same delivery."""
        named = [n if n == "-" or "://" in n else os.path.abspath(n) for n in self._names]
        content = "\0".join([*named, self._chosen or ""])
        return hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def items(self) -> Iterator[Document | Reject | FeedState]:
        """Every item of every input; behind those of an address, what its server said."""
        for name in self._names:
            try:
                for item in self._named(name):
                    checked = self._ready(item) if self._bags_only else item
                    if self._follow is not None and isinstance(checked, Document):
                        yield self._follow(checked)
                    else:
                        yield checked
            except PluginError:
                raise
            except SegapsithError as failure:
                self.failures.append(failure)

    @staticmethod
    def _ready(item: Document | Reject | FeedState) -> Document | Reject | FeedState:
        """A unit that was made elsewhere; a text is not one."""
        if isinstance(item, Document) and item.bag is None:
            return Reject(
                item.uid or "(no id)", "it has no `words` (word to count), as --bag wants"
            )
        return item

    def _named(self, name: str) -> Iterator[Document | Reject | FeedState]:
        if name == "-":
            yield from self._stream(sys.stdin.buffer, "stdin")
            return
        if "://" in name:
            yield from self._address(name)
            return
        try:
            if not os.path.exists(name):
                raise MissingInputError(f"{name}: there is no such file or directory")
        except ValueError as error:
            raise MissingInputError(f"{name!r}: {error}") from error
        if self._bags_only and name.endswith(".npz"):
            yield from count_matrix(Path(name))
            return
        if not os.path.isdir(name):
            yield from self._file(name)
            return
        for path in _walk(Path(name)):
            try:
                yield from self._file(str(path))
            except PluginError:
                raise
            except SegapsithError as failure:
                yield Reject(str(path), str(failure).removeprefix(f"{path}: "))

    def _address(self, url: str) -> Iterator[Document | Reject | FeedState]:
        if self._fetch is None:
            raise InputError(f"{url}: addresses are not read here; save the feed to a file first")
        body, name, state = self._fetch(url)
        if body:
            # what was fetched is unpacked already, and no archive comes over the network
            for item in self._stream(io.BytesIO(body), name, fetched=True):
                if isinstance(item, Document):
                    yield _of_feed(item, name)
                    continue
                if state is not None:  # not stored whole: ask for all of it again
                    state = replace(state, etag=None, last_modified=None)
                yield item
        if state is not None:
            yield state

    def _file(self, name: str) -> Iterator[Document | Reject]:
        if not os.path.isfile(name):
            raise InputError(f"{name}: it is not a regular file")
        try:
            with open(name, "rb") as raw:
                yield from self._stream(raw, name)
        except OSError as error:
            raise InputError(f"{name}: {error.strerror or error}") from error

    def _stream(
        self, raw: BinaryIO, name: str, depth: int = 0, fetched: bool = False
    ) -> Iterator[Document | Reject]:
        try:
            stream = _Counted(raw, name, unpacked=fetched)
            head = stream.head(HEAD)
            if not head.strip():
                raise InputError(f"{name}: it is empty")
            if is_archive(head) and not fetched:
                yield from self._archive(stream, name, depth)
                return
            source = self._source(head, name)
            yield from source.read(io.BufferedReader(stream, 1 << 16), name)
        except _DAMAGES as error:
            raise InputError(f"{name}: the compressed file is damaged: {error}") from error
        except PluginError as error:
            cause = error.__cause__
            if isinstance(cause, (*_DAMAGES, OSError)):
                raise InputError(f"{name}: it could not be read to its end: {cause}") from error
            if isinstance(cause, InputError):
                raise cause from error
            raise

    def _archive(self, stream: _Counted, name: str, depth: int) -> Iterator[Document | Reject]:
        """The items of every member, in the order of their names."""
        if depth >= limits.MAX_ARCHIVE_DEPTH:
            raise InputError(f"{name}: it lies in {depth} archives already and is left closed")
        for member in members(stream, name):
            if isinstance(member, Reject):
                yield member
                continue
            try:
                yield from self._member(member, depth)
            except PluginError:
                raise
            except SegapsithError as failure:
                yield Reject(member.name, str(failure).removeprefix(f"{member.name}: "))

    def _member(self, member: Member, depth: int) -> Iterator[Document | Reject]:
        try:
            with member.open() as raw:
                yield from self._stream(raw, member.name, depth + 1)
        except (*_DAMAGES, OSError) as error:
            raise InputError(f"{member.name}: the member is damaged: {error}") from error

    def _source(self, head: bytes, name: str) -> Source:
        if self._chosen is not None:
            return self._sources[self._chosen]
        sure = {n: source.sniff(head) for n, source in sorted(self._sources.items())}
        best = max(sure, key=lambda n: sure[n], default=None)
        if best is None or sure[best] <= 0:
            raise InputError(f"{name}: no source knows this format (--format NAME)")
        return self._sources[best]


def _of_feed(item: Document, url: str) -> Document:
    """An item under its feed: guids are unique within one feed only.

    >>> _of_feed(Document("1"), "https://example.org/wire").uid
    'https://example.org/wire 1'
    """
    uid = f"{url} {item.uid}"
    if len(uid) > limits.MAX_UID_CHARS:
        uid = f"{url[:400]} sha256:{hashlib.sha256(uid.encode('utf-8', 'replace')).hexdigest()}"
    return replace(item, uid=uid if item.uid else "", source=item.source or url)


class _Metered(io.RawIOBase):
    """Counts the bytes that are taken from a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        read = getattr(self._stream, "read1", self._stream.read)
        data = read(len(buffer))
        self.taken += len(data)
        buffer[: len(data)] = data
        return len(data)


class _Counted(io.RawIOBase):
    """What a stream holds or decompresses to; counts the bytes really produced, and stops."""

    def __init__(self, raw: BinaryIO, name: str, unpacked: bool = False) -> None:
        self._name, self._produced, self._ahead = name, 0, b""
        self._metered = _Metered(raw)
        packed = io.BufferedReader(self._metered, 1 << 16)
        magic = b"" if unpacked else packed.peek(8)
        opener = next((o for mark, o in _OPENERS.items() if magic.startswith(mark)), None)
        self._packed = opener is not None
        self._stream: BinaryIO = cast(BinaryIO, opener(packed, "rb")) if opener else packed
        self.plain = raw if not self._packed and raw.seekable() else None

    def readable(self) -> bool:
        return True

    def head(self, size: int) -> bytes:
        """The first bytes, which are still to be read."""
        while len(self._ahead) < size and (data := self._more(size - len(self._ahead))):
            self._ahead += data
        return self._ahead[:size]

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        if self._ahead:
            data, self._ahead = self._ahead[: len(buffer)], self._ahead[len(buffer) :]
        else:
            data = self._more(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _more(self, size: int) -> bytes:
        read = getattr(self._stream, "read1", self._stream.read)
        data: bytes = read(size)
        self._produced += len(data)
        if self._produced > limits.MAX_DECODED_BYTES:
            raise InputError(f"{self._name}: more than {limits.MAX_DECODED_BYTES:,} bytes")
        allowed = max(limits.SMALL_BYTES, limits.MAX_EXPANSION * self._metered.taken)
        if self._packed and self._produced > allowed:
            raise InputError(
                f"{self._name}: it grows to more than {limits.MAX_EXPANSION} times its size"
            )
        return data


def _walk(folder: Path) -> Iterator[Path]:
    """Every regular file below a folder, sorted; links that lead outside are left alone."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            path = Path(parent, file)
            if not path.is_symlink() and not file.startswith("."):
                yield path
