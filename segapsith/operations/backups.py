"""Files with a date in their names: written completely, checked, and deleted when they are old."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from segapsith.errors import StorageError, StoreCreationError
from segapsith_store import Store
from segapsith_store.connections import plain_errors
from segapsith_store.digest import digest as digest_of

__all__ = ["Backup", "DatedFiles", "back_up", "retained"]


def retained(dates: Iterable[str], daily: int, weekly: int = 0) -> set[str]:
    """Return the dates whose files stay: the last `daily` ones, and the last of each of the last
    `weekly` weeks.

    >>> sorted(retained([f"2026-03-{day:02}" for day in range(1, 20)], 2, 2))
    ['2026-03-15', '2026-03-18', '2026-03-19']
    """
    in_order = sorted(set(dates))
    last_of_week: dict[tuple[int, int], str] = {}
    for date in in_order:
        year, week, _ = datetime.date.fromisoformat(date).isocalendar()
        last_of_week[year, week] = date
    by_week = [last_of_week[week] for week in sorted(last_of_week)]
    return {*(in_order[-daily:] if daily else []), *(by_week[-weekly:] if weekly else [])}


@dataclass(frozen=True, slots=True)
class DatedFiles:
    """Files STEM-DATE.SUFFIX in a folder; no other file of the folder is changed or deleted."""

    folder: Path
    stem: str
    suffix: str

    def path(self, date: str) -> Path:
        return self.folder / f"{self.stem}-{date}{self.suffix}"

    def by_date(self) -> dict[str, Path]:
        """Return the files by their dates, oldest first."""
        name = re.compile(re.escape(self.stem) + r"-(\d{4}-\d\d-\d\d)" + re.escape(self.suffix))
        files = {}
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            match = name.fullmatch(path.name)
            if match and _is_date(match[1]) and path.is_file() and not path.is_symlink():
                files[match[1]] = path
        return dict(sorted(files.items()))

    def make_folder(self) -> None:
        """Create the folder if it is missing."""
        with plain_errors(str(self.folder)):
            try:
                self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError) as error:
                raise StoreCreationError(f"{self.folder} is not a directory") from error

    def write(self, date: str, text: str) -> Path:
        """Write a text under its date; if that fails, the earlier file stays as it was."""
        self.make_folder()
        path = self.path(date)
        temporary = path.with_name(f".{path.name}.new")
        with plain_errors(str(path)):
            try:
                temporary.write_text(text, encoding="utf-8")
                os.replace(temporary, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    temporary.unlink(missing_ok=True)
                raise
        return path

    def rotate(self, daily: int, weekly: int = 0) -> list[str]:
        """Delete the files that are not `retained`, and return their names."""
        files = self.by_date()
        staying = retained(files, daily, weekly)
        deleted = []
        for date, path in files.items():
            if date not in staying:
                with plain_errors(str(path)):
                    path.unlink(missing_ok=True)
                deleted.append(path.name)
        return deleted


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Backup:
    """A checked copy of a store."""

    path: Path
    size: int
    """Bytes."""
    digest: str

    def as_json(self) -> dict[str, str | int]:
        return {"file": str(self.path), "bytes": self.size, "digest": self.digest}


def back_up(store: Store, files: DatedFiles, date: str, *, digest: str | None = None) -> Backup:
    """Copy the store under a date; the copy is kept only if it opens, is undamaged and equal.

    `digest` is the digest that the copy must have; None if others may write at the same time.
    """
    files.make_folder()
    target = files.path(date)
    temporary = target.with_name(f".{target.name}.new")
    with plain_errors(str(temporary)):
        for leftover in (temporary, temporary.with_name(f".{temporary.name}.part")):
            leftover.unlink(missing_ok=True)  # of a night that was interrupted
        free, size = shutil.disk_usage(files.folder).free, os.path.getsize(store.path)
    if free < size:
        raise StorageError(
            f"{target}: the copy needs {size:,} bytes and {free:,} are free;"
            " free some space, or keep fewer backups (keep_daily, keep_weekly)"
        )
    try:
        store.backup(temporary)
        with Store.reading(temporary) as copy:
            faults = copy.damage()
            digest_of_copy = digest_of(copy, anew=True)
        if faults:
            raise StorageError(f"{target}: the copy is damaged ({faults[0]}) and was deleted")
        if digest is not None and digest_of_copy != digest:
            raise StorageError(f"{target}: the copy differs from the store and was deleted")
        with plain_errors(str(target)):
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    return Backup(target, os.path.getsize(target), digest_of_copy)
