"""The folder of shards: whole shards only, written under another name and renamed."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from segapsith.errors import BusyError, InputError, UsageError
from segapsith.io.shards import MAGIC, SUFFIX, ShardHeader, read_header

__all__ = ["ShardFile", "ShardFolder"]

_HEAD_BYTES = 1 << 16
_NAME_CHARS = 16
"""Characters of a shard's hash in its name."""


@dataclass(frozen=True, slots=True)
class ShardFile:
    """A shard in the folder."""

    path: Path
    group: int
    header: ShardHeader
    n_bytes: int


class ShardFolder:
    """The output folder of one preparation, locked while it is open.

    Unfinished files are in a hidden folder beside it; if that is on another file system or cannot be
    made, in a hidden folder inside.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._shards: dict[tuple[int, int], list[ShardFile]] = {}
        self._used: set[Path] = set()

    def __enter__(self) -> Self:
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self.path}: --output should be a directory, and this is a file")
        self._is_new = not self.path.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        self._unfinished = self._workplace()
        self._lock = FileLock(self._unfinished / ".lock", timeout=0)
        try:
            self._lock.acquire()
        except Timeout as error:
            raise BusyError(f"{self.path}: another process prepares into this folder") from error
        for left in self._unfinished.glob(f"*{SUFFIX}"):  # of a run that was killed
            left.unlink()
        for shard in self._existing():
            self._shards.setdefault((shard.group, shard.header.part), []).append(shard)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.release()
        shutil.rmtree(self._unfinished, ignore_errors=True)
        if self._is_new:
            with contextlib.suppress(OSError):  # it has shards
                self.path.rmdir()

    def _workplace(self) -> Path:
        """Make the folder of unfinished files."""
        whole = self.path.resolve()
        beside = whole.with_name(f".{whole.name}.unfinished")
        with contextlib.suppress(OSError):
            beside.mkdir(exist_ok=True)
            if beside.stat().st_dev == whole.stat().st_dev and os.access(beside, os.W_OK):
                return beside
            beside.rmdir()
        inside = whole / ".unfinished"
        inside.mkdir(exist_ok=True)
        return inside

    def _existing(self) -> Iterator[ShardFile]:
        for path in sorted(self.path.iterdir()):
            if path.name.startswith("."):
                continue
            group, _, _ = path.name.partition("-")
            try:
                with path.open("rb") as file:
                    head = file.read(_HEAD_BYTES)
                    if head.count(b"\n") < 2:
                        head += file.readline()
                header = read_header(head, str(path))
                is_ours = path.suffix == SUFFIX and head.startswith(MAGIC) and group.isdigit()
            except (OSError, InputError) as error:
                raise _foreign(self.path, path.name) from error
            if not is_ours:
                raise _foreign(self.path, path.name)
            yield ShardFile(path, int(group), header, path.stat().st_size)

    def others(self, recipe: str) -> list[ShardFile]:
        """Return the shards that were made from other inputs or with other settings."""
        all_shards = (shard for shards in self._shards.values() for shard in shards)
        return [shard for shard in all_shards if shard.header.recipe != recipe]

    def remove(self, shards: list[ShardFile]) -> None:
        """Delete shards."""
        for shard in shards:
            shard.path.unlink()
            self._shards[shard.group, shard.header.part].remove(shard)

    def find(self, group: int, part: int, made_from: str) -> ShardFile | None:
        """Return the shard that was made from these inputs, if it is there; it is kept."""
        for shard in self._shards.get((group, part), ()):
            if shard.header.made_from == made_from:
                self._used.add(shard.path)
                return shard
        return None

    def all_of(self, group: int, made_from: str) -> list[ShardFile]:
        """Return all shards of a group, or nothing if one is missing."""
        shards: list[ShardFile] = []
        while shard := self.find(group, len(shards), made_from):
            shards.append(shard)
            if shard.header.is_last:
                return shards
        return []

    def write(self, group: int, data: bytes) -> ShardFile:
        """Write a shard under another name and rename it."""
        header = read_header(
            data[:_HEAD_BYTES] if data.count(b"\n", 0, _HEAD_BYTES) > 1 else data, ""
        )
        digest = data[: data.index(b"\n")].rpartition(b" ")[2].decode("ascii")
        name = f"{group:06}-{header.part:06}-{digest[:_NAME_CHARS]}{SUFFIX}"
        draft, path = self._unfinished / name, self.path / name
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        self._used.add(path)
        return ShardFile(path, group, header, len(data))

    def remove_unused(self) -> int:
        """Delete the shards that this preparation neither wrote nor kept; return their number."""
        unused = [
            shard
            for shards in self._shards.values()
            for shard in shards
            if shard.path not in self._used
        ]
        self.remove(unused)
        return len(unused)


def _foreign(folder: Path, name: str) -> UsageError:
    return UsageError(
        f"{folder}: {name} is not a shard of this version; --output should be an empty directory"
        " or one that prepare made"
    )
