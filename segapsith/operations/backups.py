"""Files with a date in their names: made whole, checked, and the old ones let go."""

from __future__ import annotations

import contextlib
import datetime
import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segapsith.errors import StorageError, StoreCreationError
from segapsith_store import Store
from segapsith_store.connections import plain_errors
from segapsith_store.digest import digest

__all__ = ["Dated", "back_up", "kept"]


def kept(nights: Iterable[str], daily: int, weekly: int = 0) -> set[str]:
    """The dates whose files stay: the last ones, and the last one of each of the last weeks.

    >>> sorted(kept([f"2026-03-{day:02}" for day in range(1, 20)], 2, 2))
    ['2026-03-15', '2026-03-18', '2026-03-19']
    """
    dates = sorted(set(nights))
    weeks: dict[tuple[int, int], str] = {}
    for night in dates:
        year, week, _ = datetime.date.fromisoformat(night).isocalendar()
        weeks[year, week] = night
    by_week = [weeks[week] for week in sorted(weeks)]
    return {*(dates[-daily:] if daily else []), *(by_week[-weekly:] if weekly else [])}


@dataclass(frozen=True, slots=True)
class Dated:
    """Files STEM-DATE.SUFFIX in a folder; no other file there is ever touched."""

    folder: Path
    stem: str
    suffix: str

    def path(self, night: str) -> Path:
        return self.folder / f"{self.stem}-{night}{self.suffix}"

    def present(self) -> dict[str, Path]:
        """The files by their dates, oldest first."""
        name = re.compile(re.escape(self.stem) + r"-(\d{4}-\d\d-\d\d)" + re.escape(self.suffix))
        found = {}
        for path in self.folder.iterdir() if self.folder.is_dir() else ():
            match = name.fullmatch(path.name)
            if match and _is_date(match[1]) and path.is_file() and not path.is_symlink():
                found[match[1]] = path
        return dict(sorted(found.items()))

    def make_room(self) -> None:
        """The folder, made if it is missing."""
        with plain_errors(str(self.folder)):
            try:
                self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            except (FileExistsError, NotADirectoryError) as error:
                raise StoreCreationError(f"{self.folder} is not a directory") from error

    def write(self, night: str, text: str) -> Path:
        """A text under its date: the whole of it, or what was there before."""
        self.make_room()
        path = self.path(night)
        fresh = path.with_name(f".{path.name}.new")
        with plain_errors(str(path)):
            try:
                fresh.write_text(text, encoding="utf-8")
                os.replace(fresh, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    fresh.unlink(missing_ok=True)
                raise
        return path

    def rotate(self, daily: int, weekly: int = 0) -> list[str]:
        """Removes what is not kept any longer; the names of what went."""
        present = self.present()
        staying = kept(present, daily, weekly)
        gone = []
        for night, path in present.items():
            if night not in staying:
                with plain_errors(str(path)):
                    path.unlink(missing_ok=True)
                gone.append(path.name)
        return gone


def _is_date(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def back_up(store: Store, shelf: Dated, night: str, wanted: str | None = None) -> dict[str, Any]:
    """A copy of the store under its date, kept only if it opens, is sound and says the same.

    `wanted` is the digest that it must have; None if others may write meanwhile.
    """
    shelf.make_room()
    target = shelf.path(night)
    fresh = target.with_name(f".{target.name}.new")
    with plain_errors(str(fresh)):
        for left in (fresh, fresh.with_name(f".{fresh.name}.part")):
            left.unlink(missing_ok=True)  # of a night that was cut short
        free, size = shutil.disk_usage(shelf.folder).free, os.path.getsize(store.path)
    if free < size:
        raise StorageError(
            f"{target}: the copy needs {size:,} bytes and {free:,} are free;"
            " make room, or keep fewer backups (keep_daily, keep_weekly)"
        )
    try:
        store.backup(fresh)
        with Store.reading(fresh) as copy:
            wrong = copy.damage()
            found = digest(copy, anew=True)
        if wrong:
            raise StorageError(f"{target}: the copy is damaged ({wrong[0]}); it is not kept")
        if wanted is not None and found != wanted:
            raise StorageError(f"{target}: the copy differs from the store; it is not kept")
        with plain_errors(str(target)):
            os.replace(fresh, target)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise
    return {"file": str(target), "bytes": os.path.getsize(target), "digest": found}
