"""Named inputs to items: files, directories, compressed files, archives, standard input, addresses.

The content of an input decides its format. One unreadable input does not stop the others; the errors
are collected in `failures`.
"""

from __future__ import annotations

import bz2
import datetime
import gzip
import hashlib
import io
import logging
import lzma
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, cast

from segapsith import limits
from segapsith.errors import FeedError, InputError, MissingInputError, PluginError, SegapsithError
from segapsith.intake.feed_ids import feed_uid
from segapsith.io.archives import Member, is_archive, members
from segapsith.io.following import Following
from segapsith.model import Document, FeedState, Item, Positioned, Reject
from segapsith.plugin.contracts import LiveSource, Source, is_followable, reads_addresses

__all__ = ["Fetch", "Inputs", "Live", "live_source", "walk"]

RECONNECT_SECONDS = 5.0
"""Time until a live stream that failed is opened again."""

_log = logging.getLogger(__name__)

Fetch = Callable[[str], tuple[bytes, str, FeedState | None]]
"""Return, for an address, its body (empty if nothing is new), the name that its items get, and the
feed state to store with the last of them."""

HEAD_BYTES = 8192
"""Bytes that a source receives to recognise its format."""

_OPENERS: dict[bytes, Callable[..., object]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}


_DAMAGE_ERRORS = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, zipfile.BadZipFile)


@dataclass(frozen=True, slots=True)
class Live:
    """How streams are read that may never end.

    `positions` are by address where it was read up to. With `following` the inputs stay open.
    """

    positions: Mapping[str, str] = field(default_factory=dict)
    following: Following | None = None


class Inputs:
    """Reads named inputs in the given order; files of a directory in sorted order.

    `format_name` is the source to use instead of the one that recognises the content, `fetch` reads
    an address, `follow` is applied to each document. With `bags_only`, items need counted words.
    `live` is for inputs that stay open.
    """

    def __init__(
        self,
        names: Sequence[str],
        sources: Mapping[str, Source],
        format_name: str | None = None,
        bags_only: bool = False,
        fetch: Fetch | None = None,
        follow: Callable[[Document], Document] | None = None,
        live: Live | None = None,
    ) -> None:
        self._names = list(names)
        self._sources = sources
        self._format_name = format_name
        self._bags_only = bags_only
        self._fetch = fetch
        self._follow = follow
        self._live = live or Live()
        self.failures: list[SegapsithError] = []

    @property
    def key(self) -> str:
        """A hash of the names and the format; equal inputs have equal keys."""
        names = [n if n == "-" or "://" in n else os.path.abspath(n) for n in self._names]
        content = "\0".join([*names, self._format_name or ""])
        return hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def items(self) -> Iterator[Item]:
        """Yield the items of all inputs; the items of an address are followed by its feed state."""
        following = self._live.following
        return self._items() if following is None else following.items(self._items())

    def _items(self) -> Iterator[Item]:
        for name in self._names:
            try:
                for item in self._read(name):
                    if isinstance(item, Positioned):
                        yield replace(item, item=self._changed(item.item))
                    else:
                        yield item if isinstance(item, FeedState) else self._changed(item)
            except PluginError:
                raise
            except SegapsithError as failure:
                self.failures.append(failure)

    def _changed(self, item: Document | Reject) -> Document | Reject:
        """Return an item with its full text, if that is wanted; reject one without its words."""
        if not isinstance(item, Document):
            return item
        if self._bags_only and item.bag is None:
            reason = "no `words` (word to count), which --bag requires"
            return Reject(item.uid or "(no id)", reason)
        return item if self._follow is None else self._follow(item)

    def _read(self, name: str) -> Iterator[Document | Reject | FeedState | Positioned]:
        following = self._live.following
        if name == "-":
            raw = sys.stdin.buffer
            yield from self.stream(following.pipe(raw) if following else raw, "stdin")
            return
        if "://" in name:
            yield from self._address(name)
            return
        try:
            if not os.path.exists(name):
                raise MissingInputError(f"{name}: no such file or directory")
        except ValueError as error:
            raise MissingInputError(f"{name!r}: {error}") from error
        if self._bags_only and name.endswith(".npz"):
            from segapsith.io.count_matrices import count_matrix  # imports SciPy, which is slow

            yield from count_matrix(Path(name))
            return
        if not os.path.isdir(name):
            yield from self._file(name)
            return
        for path in walk(Path(name)):
            try:
                yield from self._file(str(path))
            except PluginError:
                raise
            except SegapsithError as failure:
                yield Reject(str(path), str(failure).removeprefix(f"{path}: "))

    def _address(self, url: str) -> Iterator[Document | Reject | FeedState | Positioned]:
        if (live := live_source(self._sources, url)) is not None:
            yield from self._received(live, url)
            return
        if self._live.following is not None:
            raise InputError(f"{url}: not read: a feed cannot be followed; use `update`")
        if self._fetch is None:
            raise InputError(
                f"{url}: not read: addresses are not allowed here; save it to a file first"
            )
        body, name, state = self._fetch(url)
        if body:
            # `fetch` has decompressed the body, and archives are not read from the network.
            for item in self.stream(io.BytesIO(body), name, fetched=True):
                if isinstance(item, Document):
                    yield _of_feed(item, name)
                    continue
                if state is not None:  # not stored completely: fetch everything again next time
                    state = replace(state, etag=None, last_modified=None)
                yield item
        if state is not None:
            yield state

    def _received(self, source: LiveSource, url: str) -> Iterator[Positioned]:
        """Yield the items behind the stored position; when following, wait for more."""
        name, following = source.address(url), self._live.following
        position = self._live.positions.get(name)
        while True:
            try:
                for received in source.receive(url, position):
                    if received is not None:
                        item, position = received
                        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
                        yield Positioned(item, FeedState(name, now, etag=position))
                    elif following is None or following.stopped:
                        return
                return
            except FeedError as error:
                if following is None:
                    raise
                _log.warning("%s; trying again in %g seconds", error, RECONNECT_SECONDS)
                following.pause(RECONNECT_SECONDS)
            if following.stopped:
                return

    def _file(self, name: str) -> Iterator[Document | Reject]:
        if not os.path.isfile(name):
            raise InputError(f"{name}: not read: not a regular file")
        following = self._live.following
        try:
            with following.file(name) if following else open(name, "rb") as raw:
                yield from self.stream(raw, name)
        except OSError as error:
            raise InputError(f"{name}: {error.strerror or error}") from error

    def stream(
        self, raw: BinaryIO, name: str, depth: int = 0, fetched: bool = False
    ) -> Iterator[Document | Reject]:
        """Yield the items of an open input, which is decompressed and may be an archive."""
        try:
            following = self._live.following is not None
            stream = _Counted(raw, name, unpacked=fetched, endless=following)
            head = stream.head(HEAD_BYTES)
            if not head.strip():
                raise InputError(f"{name}: not read: the input is empty")
            if is_archive(head) and not fetched and not following:
                yield from self._archive(stream, name, depth)
                return
            source = self._source(head, name)
            if following and not is_followable(source, head):
                raise InputError(
                    f"{name}: not read: this format cannot be followed; give one object of JSON"
                    " per line"
                )
            yield from source.read(io.BufferedReader(stream, 1 << 16), name)
        except _DAMAGE_ERRORS as error:
            raise InputError(f"{name}: the compressed file is damaged: {error}") from error
        except PluginError as error:
            cause = error.__cause__
            if isinstance(cause, (*_DAMAGE_ERRORS, OSError)):
                raise InputError(f"{name}: could not be read to the end: {cause}") from error
            if isinstance(cause, InputError):
                raise cause from error
            raise

    def _archive(self, stream: _Counted, name: str, depth: int) -> Iterator[Document | Reject]:
        """Yield the items of every member, in the order of their names."""
        if depth >= limits.MAX_ARCHIVE_DEPTH:
            raise InputError(
                f"{name}: not read: archives may be nested at most {limits.MAX_ARCHIVE_DEPTH} deep"
            )
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
                yield from self.stream(raw, member.name, depth + 1)
        except (*_DAMAGE_ERRORS, OSError) as error:
            raise InputError(f"{member.name}: the member is damaged: {error}") from error

    def _source(self, head: bytes, name: str) -> Source:
        if self._format_name is not None:
            return self._sources[self._format_name]
        scores = {n: source.sniff(head) for n, source in sorted(self._sources.items())}
        best = max(scores, key=lambda n: scores[n], default=None)
        if best is None or scores[best] <= 0:
            raise InputError(f"{name}: not read: unknown format; give it with --format NAME")
        return self._sources[best]


def live_source(sources: Mapping[str, Source], url: str) -> LiveSource | None:
    """Return the source that has addresses of this kind, if there is one."""
    scheme = url.partition("://")[0].lower()
    for _, source in sorted(sources.items()):
        if reads_addresses(source) and scheme in source.schemes:
            return source
    return None


def _of_feed(item: Document, url: str) -> Document:
    """Prefix the id of an item with its feed, because ids are unique within one feed only.

    >>> _of_feed(Document("1"), "https://example.org/wire").uid
    'https://example.org/wire#1'
    """
    uid = feed_uid(url, item.uid) if item.uid else ""
    return replace(item, uid=uid, source=item.source or url)


class _Metered(io.RawIOBase):
    """Counts the bytes that are read from a stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.n_bytes = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        read = getattr(self._stream, "read1", self._stream.read)
        data = read(len(buffer))
        self.n_bytes += len(data)
        buffer[: len(data)] = data
        return len(data)


class _Counted(io.RawIOBase):
    """The decompressed content of a stream; raises `InputError` above the size limits."""

    def __init__(
        self, raw: BinaryIO, name: str, unpacked: bool = False, endless: bool = False
    ) -> None:
        self._name, self._n_produced, self._ahead = name, 0, b""
        self._endless = endless
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
        """Return the first bytes, of an endless stream the first line, without consuming them."""
        while (
            len(self._ahead) < size
            and not (self._endless and _has_line(self._ahead))
            and (data := self._more(size - len(self._ahead)))
        ):
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
        self._n_produced += len(data)
        if self._n_produced > limits.MAX_DECODED_BYTES and not self._endless:
            raise InputError(
                f"{self._name}: not read further: more than {limits.MAX_DECODED_BYTES:,} bytes"
            )
        allowed = max(limits.SMALL_BYTES, limits.MAX_EXPANSION * self._metered.n_bytes)
        if self._packed and self._n_produced > allowed:
            raise InputError(
                f"{self._name}: not read further: decompresses to more than"
                f" {limits.MAX_EXPANSION} times its size"
            )
        return data


def _has_line(head: bytes) -> bool:
    """Return whether a beginning has a complete line that is not blank."""
    return b"\n" in head.lstrip()


def walk(folder: Path) -> Iterator[Path]:
    """Yield the regular files below a folder, sorted; links and hidden files are skipped."""
    for parent, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(files):
            path = Path(parent, file)
            if not path.is_symlink() and not file.startswith("."):
                yield path
