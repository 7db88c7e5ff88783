"""Portions of archives: what one task prepares.

Portions depend on the inputs alone, never on the number of workers. Small files are put together
and travel as bytes, so workers need no common file system. A large file is read here and travels as
stories, `STORIES` at a time.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeAlias, cast

from segapsith.errors import InputError, MissingInputError, PluginError, SegapsithError, UsageError
from segapsith.io.inputs import Inputs, walk
from segapsith.model import Document, Reject

__all__ = [
    "STORIES",
    "FileGroup",
    "InputFile",
    "Portion",
    "SourceFile",
    "groups",
    "large_portions",
    "read_portion",
    "whole",
]

Item: TypeAlias = Document | Reject
Failures: TypeAlias = list[tuple[str, str]]
"""Class and message of the errors that ended named inputs."""

STORIES = 1000
"""Items of one shard, at most."""

GROUP_BYTES = 4 << 20
"""Bytes from which on no further file joins a group."""

GROUP_FILES = 1000
"""Files of one group, at most: many archives have one story in each."""

WHOLE_BYTES = 8 << 20
"""Bytes above which a file is read here."""


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that was named, or that is below a folder that was."""

    name: str
    n_bytes: int
    in_folder: bool
    """Whether a file that cannot be read is one rejected item, and not a failed input."""


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that are prepared together, with their number among all groups."""

    number: int
    files: tuple[InputFile, ...]

    @property
    def is_large(self) -> bool:
        """Whether its only file is too large to travel as bytes."""
        return self.files[0].n_bytes > WHOLE_BYTES

    def key(self, recipe: str) -> str:
        """Return a hash of names and contents of the files, and of the recipe."""
        digest = hashlib.sha256(recipe.encode("utf-8"))
        for file in self.files:
            label = f"\0{file.name}\0{int(file.in_folder)}\0"
            digest.update(label.encode("utf-8", "surrogateescape"))
            digest.update(_content_hash(file.name))
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that travels to a worker."""

    name: str
    data: bytes
    in_folder: bool
    error: str = ""
    """Why it cannot be read."""


@dataclass(frozen=True, slots=True)
class Portion:
    """One item of the task `prepare`: files to read, or items that were read already."""

    made_from: str
    files: tuple[SourceFile, ...] = ()
    items: tuple[Document | Reject, ...] = ()
    part: int = 0
    is_last: bool = True
    failures: tuple[tuple[str, str], ...] = ()


def groups(names: Sequence[str], failures: list[SegapsithError]) -> Iterator[FileGroup]:
    """Yield the files of named inputs in groups, in order; add what is missing to `failures`."""
    held: list[InputFile] = []
    n_bytes, number = 0, 0
    for file in _files(names, failures):
        is_large = file.n_bytes > WHOLE_BYTES
        if held and (is_large or n_bytes >= GROUP_BYTES or len(held) >= GROUP_FILES):
            yield FileGroup(number, tuple(held))
            held, n_bytes, number = [], 0, number + 1
        held.append(file)
        n_bytes += file.n_bytes
        if is_large:
            yield FileGroup(number, tuple(held))
            held, n_bytes, number = [], 0, number + 1
    if held:
        yield FileGroup(number, tuple(held))


def _files(names: Sequence[str], failures: list[SegapsithError]) -> Iterator[InputFile]:
    for name in names:
        if name == "-" or "://" in name:
            raise UsageError(
                f"{name}: prepare reads files and directories; save it to a file first"
            )
        try:
            is_there, reason = os.path.exists(name), "no such file or directory"
        except ValueError as error:
            is_there, reason = False, str(error)
        if not is_there:
            failures.append(MissingInputError(f"{name}: {reason}"))
            continue
        if not os.path.isdir(name):
            yield InputFile(name, _size(name), in_folder=False)
            continue
        for path in walk(Path(name)):
            yield InputFile(str(path), _size(str(path)), in_folder=True)


def _size(name: str) -> int:
    return os.path.getsize(name) if os.path.isfile(name) else 0


def _content_hash(name: str) -> bytes:
    """Return the hash of a file's content; a file that cannot be read has that of nothing."""
    try:
        if not os.path.isfile(name):
            return b""
        with open(name, "rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return b""


def whole(group: FileGroup, made_from: str) -> Portion:
    """Return a group of files with their contents."""
    return Portion(made_from, tuple(map(_with_content, group.files)))


def _with_content(file: InputFile) -> SourceFile:
    """Return a file with its content, or with the reason why it cannot be read."""
    name = file.name
    if not os.path.isfile(name):
        return SourceFile(name, b"", file.in_folder, f"{name}: not read: not a regular file")
    try:
        return SourceFile(name, Path(name).read_bytes(), file.in_folder)
    except OSError as error:
        return SourceFile(name, b"", file.in_folder, f"{name}: {error.strerror or error}")


def read_portion(
    portion: Portion, inputs: Inputs
) -> Iterator[tuple[int, list[Item], bool, Failures]]:
    """Yield the items of each shard: its part, its items, whether it is the last, and failures."""
    if not portion.files:
        yield portion.part, list(portion.items), portion.is_last, list(portion.failures)
        return
    failures: Failures = []
    items = (item for file in portion.files for item in _read_whole(file, inputs, failures))
    yield from cut(items, failures)


def _read_whole(file: SourceFile, inputs: Inputs, failures: Failures) -> Iterator[Item]:
    def opened() -> BinaryIO:
        if file.error:
            raise InputError(file.error)
        return io.BytesIO(file.data)

    return read_file(file.name, opened, inputs, in_folder=file.in_folder, failures=failures)


def read_file(
    name: str,
    opened: Callable[[], BinaryIO | io.RawIOBase],
    inputs: Inputs,
    *,
    in_folder: bool,
    failures: Failures,
) -> Iterator[Item]:
    """Yield the items of a file, as `Inputs` does; what ends it early is a reject or a failure."""
    try:
        try:
            with opened() as raw:
                yield from inputs.stream(cast(BinaryIO, raw), name)
        except OSError as error:
            raise InputError(f"{name}: {error.strerror or error}") from error
    except PluginError:
        raise
    except SegapsithError as failure:
        if in_folder:
            yield Reject(name, str(failure).removeprefix(f"{name}: "))
        else:
            failures.append((type(failure).__name__, str(failure)))


def large_portions(group: FileGroup, made_from: str, inputs: Inputs) -> Iterator[Portion]:
    """Yield the stories of a large file, `STORIES` at a time."""
    (file,) = group.files
    failures: Failures = []
    items = read_file(
        file.name,
        partial(io.FileIO, file.name),
        inputs,
        in_folder=file.in_folder,
        failures=failures,
    )
    for part, held, is_last, failed in cut(items, failures):
        yield Portion(made_from, (), tuple(held), part, is_last, tuple(failed))


def cut(
    items: Iterable[Item], failures: Failures
) -> Iterator[tuple[int, list[Item], bool, Failures]]:
    """Yield items in parts of `STORIES`; the last part has the failures, which are known then."""
    rest = iter(items)
    held = list(islice(rest, STORIES))
    part = 0
    while True:
        following = list(islice(rest, STORIES))
        is_last = not following
        if held or failures:
            yield part, held, is_last, failures if is_last else []
        if is_last:
            return
        held, part = following, part + 1
