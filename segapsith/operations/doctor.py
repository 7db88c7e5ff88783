"""What is wrong here, and what to do: the installation, the store, the disk, the feeds, the nights."""

from __future__ import annotations

import contextlib
import datetime
import os
import platform
import shlex
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from segapsith.api.wire import Wire
from segapsith.errors import BusyError, MissingInputError, SegapsithError
from segapsith.operations.nightly import backups
from segapsith_store import Store, health
from segapsith_store.connections import lock
from segapsith_store.queries import nights, subscriptions

__all__ = ["Finding", "examine", "versions"]

SAFE_SQLITE = (3, 51, 3)
"""The first without the WAL-reset fault."""

OLD_HOURS = 36
"""A night or a backup that is older was missed."""

MANY_FAILURES = 3
"""In a row, from which a feed is not merely having a bad hour."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: `ok`, `note` (worth knowing) or `trouble`, and what to do."""

    what: str
    state: str
    text: str
    advice: str = ""

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def versions() -> dict[str, str]:
    """Of Python, SQLite, the program and every package that it needs."""
    packages = {"segapsith"}
    for line in requires("segapsith") or []:
        if "extra ==" not in line:
            packages.add(_name(line))
    found = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    return found | {name: _version(name) for name in sorted(packages)}


def _name(requirement: str) -> str:
    """
    >>> _name("typer>=0.26; python_version > '3'"), _name("sqlite-utils (>=4.1)")
    ('typer', 'sqlite-utils')
    """
    end = next((i for i, c in enumerate(requirement) if not (c.isalnum() or c in "-_.")), None)
    return requirement[:end]


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def examine(wire: Wire, now: Callable[[], str] = subscriptions.moment) -> list[Finding]:
    """Looks at everything that can be looked at quickly; changes nothing."""
    findings = [*_installation(), *_plugins(wire)]
    try:
        store = Store.reading(wire.path)
    except SegapsithError as error:
        return [*findings, _unopened(wire, error), *_disk(wire)]
    with store:
        return [
            *findings,
            *_store(store),
            *_lock(wire),
            *_disk(wire),
            *_feeds(store, now()),
            *_nights(wire, store, now()),
        ]


def _at(wire: Wire | Store) -> str:
    return f"--store {shlex.quote(wire.path)}"


def _installation() -> Iterator[Finding]:
    missing = [name for name, found in versions().items() if found == "missing"]
    if missing:
        yield Finding(
            "packages",
            "trouble",
            f"missing: {', '.join(missing)}",
            "install segapsith again with pip",
        )
    else:
        yield Finding("packages", "ok", f"segapsith {version('segapsith')}, all it needs is here")
    yield Finding("python", "ok", platform.python_version())
    if sqlite3.sqlite_version_info < SAFE_SQLITE:
        yield Finding(
            "sqlite",
            "note",
            (
                f"{sqlite3.sqlite_version} is older than {'.'.join(map(str, SAFE_SQLITE))}, which"
                " repaired a rare fault when several connections write and reset the log (WAL reset);"
                " here one process writes and readers never reset it"
            ),
            "do not let other programs write to the store",
        )
    else:
        yield Finding("sqlite", "ok", sqlite3.sqlite_version)


def _plugins(wire: Wire) -> Iterator[Finding]:
    registry = wire.registry
    for problem in registry.problems:
        yield Finding(
            "plugins", "note", str(problem), f"repair or remove the package {problem.package}"
        )
    try:
        wire.factory.learning()
    except SegapsithError as error:
        yield Finding("plugins", "trouble", str(error), "segapsith config shows what is chosen")
    else:
        yield Finding("plugins", "ok", f"{len(registry.offers)} can be used")


def _unopened(wire: Wire, error: SegapsithError) -> Finding:
    if isinstance(error, MissingInputError):
        return Finding("store", "trouble", str(error), f"segapsith ingest SOURCE {_at(wire)}")
    return Finding(
        "store", "trouble", str(error), "put the last backup in its place (docs/operations.md)"
    )


def _store(store: Store) -> Iterator[Finding]:
    try:
        faults = health.quick_faults(store)
        size = health.sizes(store)["file_bytes"]
    except SegapsithError as error:
        faults, size = [str(error)], 0
    if faults:
        yield Finding(
            "store", "trouble", "; ".join(faults),
            "put the last backup in its place (docs/operations.md)",
        )  # fmt: skip
    else:
        yield Finding(
            "store", "ok", f"{store.path}, {size:,} bytes; the file and its references are sound",
            f"segapsith verify {_at(store)} does every sum again",
        )  # fmt: skip
    open_to = [
        str(path)
        for path in (Path(store.path), Path(store.path).absolute().parent)
        if path.exists() and _writable_by_others(path)
    ]
    if open_to:
        yield Finding(
            "permissions", "trouble", f"others may write to {', '.join(open_to)}",
            f"chmod o-w {shlex.join(open_to)}",
        )  # fmt: skip


def _writable_by_others(path: Path) -> bool:
    mode = path.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def _lock(wire: Wire) -> Iterator[Finding]:
    if not os.path.exists(f"{wire.path}.lock"):
        return  # asking for it would make it
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(lock(wire.path, 0))
    except BusyError:
        yield Finding(
            "lock", "note", "another process is writing now",
            f"if none should: fuser {shlex.quote(wire.path + '.lock')} names it",
        )  # fmt: skip
    except SegapsithError as error:
        yield Finding("lock", "trouble", str(error), "run as the user who owns the store")
    else:
        yield Finding("lock", "ok", "nobody is writing")


def _disk(wire: Wire) -> Iterator[Finding]:
    places = {"store": Path(wire.path).absolute().parent, "backups": backups(wire).folder}
    size = os.path.getsize(wire.path) if os.path.isfile(wire.path) else 0
    for what, folder in places.items():
        present = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.is_dir())
        free = shutil.disk_usage(present).free
        told = f"{what}: {free / 1e9:.1f} GB free at {present}"
        if free < size + 50_000_000:
            yield Finding("disk", "trouble", told, "make room, or the next night will not fit")
        elif free < 5 * size:
            yield Finding("disk", "note", told, "less than five copies of the store would fit")
        else:
            yield Finding("disk", "ok", told)


def _feeds(store: Store, now: str) -> Iterator[Finding]:
    feeds = subscriptions.listed(store)
    failing = [feed for feed in feeds if feed.failures >= MANY_FAILURES]
    for feed in failing:
        yield Finding(
            "feeds", "note", f"failed {feed.failures} times in a row: {feed.error}",
            f"segapsith feeds list {_at(store)}",
        )  # fmt: skip
    due = len(subscriptions.due(feeds, now))
    yield Finding(
        "feeds",
        "ok",
        f"{len(feeds)} subscriptions, {due} due, {len(failing)} failing",
        f"segapsith update {_at(store)}" if due else "",
    )


def _nights(wire: Wire, store: Store, now: str) -> Iterator[Finding]:
    last = next(iter(nights.listed(store, 1)), None)
    if last is None:
        yield Finding(
            "nights", "note", "no night has been run", f"segapsith schedule show {_at(wire)}"
        )
        return
    if last.finished_at is None and _hours(last.started_at, now) > 1:
        yield Finding(
            "nights", "note", f"the night of {last.night} was cut short; nothing is lost",
            f"segapsith update --nightly {_at(wire)}",
        )  # fmt: skip
    elif _hours(last.started_at, now) > OLD_HOURS:
        yield Finding(
            "nights", "note", f"the last night was {last.night}",
            f"is the timer on? segapsith schedule show {_at(wire)}",
        )  # fmt: skip
    elif last.code or last.result.get("alarms"):
        yield Finding("nights", "note", last.line, "the exit codes are in docs/operations.md")
    else:
        yield Finding("nights", "ok", last.line)
    copies = list(backups(wire).present())
    if not copies or _hours(f"{copies[-1]}T00:00:00+00:00", now) > OLD_HOURS + 24:
        yield Finding(
            "backup", "note", f"the last one is of {copies[-1]}" if copies else "there is none",
            f"segapsith update --nightly {_at(wire)}",
        )  # fmt: skip
    else:
        yield Finding("backup", "ok", f"{len(copies)}, the last of {copies[-1]}")


def _hours(since: str, now: str) -> float:
    moments = [datetime.datetime.fromisoformat(text) for text in (since, now)]
    return (moments[1] - moments[0]).total_seconds() / 3600
