"""Checks of the installation, the store, the disk, the feeds and the nights, with advice."""

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
from pathlib import Path

from segapsith.api.wire import Wire
from segapsith.errors import BusyError, MissingInputError, SegapsithError
from segapsith.operations.nightly import backup_files
from segapsith.operations.versions import versions
from segapsith_store import Store, health, notifications
from segapsith_store.connections import lock
from segapsith_store.queries import nights, subscriptions

__all__ = ["Finding", "examine"]

SAFE_SQLITE = (3, 51, 3)
"""The first version without the WAL-reset fault."""

MAX_AGE_HOURS = 36
"""Hours after which a night counts as missed."""

MIN_FAILURES = 3
"""Failures in a row at which a feed is reported."""

MIN_FREE_BYTES = 50_000_000
"""Free bytes that a night needs beside a copy of the store."""

RESTORE = "put the last backup in the place of the store, then segapsith verify"
OUTSIDE_CODES = frozenset({0, 65, 66, 69, 76})
"""Exit codes of nights that did their own work: a bad delivery, a feed, an alarm."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: `ok`, `note` (needs no action now) or `trouble`, and advice."""

    what: str
    state: str
    text: str
    advice: str = ""

    def as_json(self) -> dict[str, str]:
        return asdict(self)


def examine(wire: Wire, now: Callable[[], str] = subscriptions.moment) -> list[Finding]:
    """Return the results of all quick checks; nothing is changed."""
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
            *_runs(store),
            *_disk(wire),
            *_feeds(store, now()),
            *_nights(wire, store, now()),
            *_notifications(wire, store),
        ]


def _at(wire: Wire | Store) -> str:
    return f"--store {shlex.quote(wire.path)}"


def _installation() -> Iterator[Finding]:
    missing = [name for name, number in versions().items() if number == "missing"]
    if missing:
        yield Finding(
            "packages",
            "trouble",
            f"missing: {', '.join(missing)}",
            "install segapsith again with pip",
        )
    else:
        yield Finding(
            "packages",
            "ok",
            f"segapsith {versions()['segapsith']}, all required packages installed",
        )
    yield Finding("python", "ok", platform.python_version())
    if sqlite3.sqlite_version_info < SAFE_SQLITE:
        yield Finding(
            "sqlite",
            "note",
            (
                f"{sqlite3.sqlite_version} is older than {'.'.join(map(str, SAFE_SQLITE))}, which"
                " corrected a rare fault when several connections write and reset the log (WAL reset);"
                " here only one process writes and readers never reset the log"
            ),
            "do not let other programs write to the store",
        )
    else:
        yield Finding("sqlite", "ok", sqlite3.sqlite_version)


def _plugins(wire: Wire) -> Iterator[Finding]:
    registry = wire.registry
    n_installed = len(registry.offers)  # loads all, so that every problem is met
    for problem in registry.problems:
        yield Finding(
            "plugins", "note", str(problem), f"repair or remove the package {problem.package}"
        )
    try:
        wire.factory.learning()
    except SegapsithError as error:
        yield Finding("plugins", "trouble", str(error), "segapsith config prints the settings")
    else:
        yield Finding("plugins", "ok", f"{n_installed} installed")


def _unopened(wire: Wire, error: SegapsithError) -> Finding:
    if isinstance(error, MissingInputError):
        reason, advice = f"there is no store at {wire.path}", f"segapsith ingest SOURCE {_at(wire)}"
        copies = list(backup_files(wire).by_date().values())
        if copies:
            reason = f"{reason}, but {copies[-1]} is a copy of it"
            advice = f"{RESTORE}; or, for a new store, {advice}"
        return Finding("store", "trouble", reason, advice)
    return Finding("store", "trouble", str(error), RESTORE)


def _store(store: Store) -> Iterator[Finding]:
    try:
        faults = health.quick_faults(store)
        size = health.sizes(store)["file_bytes"]
    except SegapsithError as error:
        faults, size = [str(error)], 0
    if faults:
        yield Finding(
            "store", "trouble", "; ".join(faults),
            RESTORE,
        )  # fmt: skip
    else:
        yield Finding(
            "store", "ok", f"{store.path}, {size:,} bytes; no fault in the file and its references",
            f"segapsith verify {_at(store)} recomputes every sum",
        )  # fmt: skip
    open_to = [
        str(path)
        for path in (Path(store.path), Path(store.path).absolute().parent)
        if path.exists() and _writable_by_others(path)
    ]
    if open_to:
        yield Finding(
            "permissions", "trouble", f"other users may write to {', '.join(open_to)}",
            f"chmod o-w {shlex.join(open_to)}",
        )  # fmt: skip


def _writable_by_others(path: Path) -> bool:
    mode = path.stat().st_mode
    return bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX


def _lock(wire: Wire) -> Iterator[Finding]:
    if not os.path.exists(f"{wire.path}.lock"):
        return  # checking would create the file
    try:
        with contextlib.ExitStack() as stack:
            stack.enter_context(lock(wire.path, 0))
    except BusyError:
        yield Finding(
            "lock", "note", "another process is writing now",
            f"fuser {shlex.quote(wire.path + '.lock')} prints its number",
        )  # fmt: skip
    except SegapsithError as error:
        yield Finding("lock", "trouble", str(error), "run the program as the owner of the store")
    else:
        yield Finding("lock", "ok", "no process is writing")


def _runs(store: Store) -> Iterator[Finding]:
    """Explain a last run that did not end well; `running` may also be the work of a killed process."""
    last = next(iter(health.history(store, 1)), None)
    if last is None or last.status in ("done", "undone"):
        yield Finding("runs", "ok", "the last run is finished")
        return
    name = f"run {last.id} ({last.command}), started {last.started_at},"
    again = "run the same command again: it continues after the last stored batch"
    if last.status == "running":
        text = f"{name} is not finished: its process works still, or was killed"
        yield Finding("runs", "note", text, f"if no process is writing, {again}")
    else:
        text = f"{name} {last.status}; the batches that it stored are complete"
        yield Finding("runs", "note", text, again)


def _disk(wire: Wire) -> Iterator[Finding]:
    folders = {"store": Path(wire.path).absolute().parent, "backups": backup_files(wire).folder}
    size = os.path.getsize(wire.path) if os.path.isfile(wire.path) else 0
    for what, folder in folders.items():
        existing = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.is_dir())
        free = shutil.disk_usage(existing).free
        text = f"{what}: {free / 1e9:.1f} GB free at {existing}"
        if free < size + MIN_FREE_BYTES:
            yield Finding("disk", "trouble", text, "free some space before the next night")
        elif free < 5 * size:
            yield Finding(
                "disk", "note", text, "there is space for less than five copies of the store"
            )
        else:
            yield Finding("disk", "ok", text)


def _feeds(store: Store, now: str) -> Iterator[Finding]:
    feeds = subscriptions.listed(store)
    failing = [feed for feed in feeds if feed.failures >= MIN_FAILURES]
    for feed in failing:
        yield Finding(
            "feeds", "note", f"failed {feed.failures} times in a row: {feed.error}",
            f"segapsith feeds list {_at(store)}",
        )  # fmt: skip
    due = len(subscriptions.due(feeds, now))
    yield Finding(
        "feeds",
        "ok",
        f"{len(feeds)} subscription{'' if len(feeds) == 1 else 's'}, {due} due, {len(failing)} failing",
        f"segapsith update {_at(store)}" if due else "",
    )


def _nights(wire: Wire, store: Store, now: str) -> Iterator[Finding]:
    last = next(iter(nights.listed(store, 1)), None)
    if last is None:
        yield Finding(
            "nights", "note", "no night has run yet", f"segapsith schedule show {_at(wire)}"
        )
        return
    if last.finished_at is None and _hours(last.started_at, now) > 1:
        yield Finding(
            "nights", "note", f"the night of {last.night} was cut short; nothing is lost",
            f"segapsith update --nightly {_at(wire)}",
        )  # fmt: skip
    elif _hours(last.started_at, now) > MAX_AGE_HOURS:
        yield Finding(
            "nights", "note", f"the last night was {last.night}",
            f"check the timer; segapsith schedule show {_at(wire)} prints one",
        )  # fmt: skip
    elif last.code or last.result.get("alarms"):
        yield Finding(
            "nights",
            "note" if last.code in OUTSIDE_CODES else "trouble",
            last.line,
            f"correct what it names, then segapsith update --nightly {_at(wire)}",
        )
    else:
        yield Finding("nights", "ok", last.line)
    copies = list(backup_files(wire).by_date())
    if not copies or _hours(f"{copies[-1]}T00:00:00+00:00", now) > MAX_AGE_HOURS + 24:
        yield Finding(
            "backup", "note", f"the last one is of {copies[-1]}" if copies else "there is no backup",
            f"segapsith update --nightly {_at(wire)}",
        )  # fmt: skip
    else:
        yield Finding(
            "backup", "ok", f"the last one is of {copies[-1]}; number of copies: {len(copies)}"
        )


def _notifications(wire: Wire, store: Store) -> Iterator[Finding]:
    targets = {target.name for target in wire.settings.notify}
    left = notifications.backlog(store)
    for entry in left:
        text = f"{entry.target}: {entry.notices} {entry.status} since {entry.since}"
        if entry.error:
            text += f", tried {entry.attempts} times: {entry.error}"
        if entry.target not in targets:
            yield Finding(
                "notify", "note", f"{text}; this target is not configured any more",
                f"segapsith notify drop {shlex.quote(entry.target)} {_at(wire)}",
            )  # fmt: skip
        elif entry.status == "waiting":
            advice = (
                "segapsith notify test" if entry.error else f"segapsith notify send {_at(wire)}"
            )
            yield Finding("notify", "note", text, advice)
        else:
            yield Finding(
                "notify", "note", f"{text}; it is not sent again",
                f"segapsith notify drop {shlex.quote(entry.target)} {_at(wire)}",
            )  # fmt: skip
    if targets and not left:
        n = len(targets)
        yield Finding("notify", "ok", f"{n} target{'' if n == 1 else 's'}, nothing waiting")


def _hours(since: str, now: str) -> float:
    moments = [datetime.datetime.fromisoformat(text) for text in (since, now)]
    return (moments[1] - moments[0]).total_seconds() / 3600
