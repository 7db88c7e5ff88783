"""Open a store file: one writer, by a lock file beside it, and many readers."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

from segapsith.errors import (
    BusyError,
    ForeignStoreError,
    MissingInputError,
    OldSchemaError,
    PermissionDeniedError,
    QueryTimeoutError,
    SegapsithError,
    StorageError,
    StoreCreationError,
    UnfinishedStoreError,
)
from segapsith_store.schema import APPLICATION_ID, SCHEMA

__all__ = [
    "MEMORY",
    "TRANSLATED",
    "Database",
    "Holder",
    "check_can_be_store",
    "database_errors",
    "emptying_log",
    "lock",
    "lock_holder",
    "open_reader",
    "open_writer",
    "plain_errors",
    "raise_plainly",
    "read_only_uri",
    "stop_after",
]

MEMORY = ":memory:"

CACHE = 32 * 1024
"""Kilobytes of page cache of a writer, enough to write a batch once, at its end."""

PAGE = 16 * 1024
"""Bytes of a page of a new store: a text rarely leaves a large part of it empty."""

CHECK_EVERY = 20_000
"""Steps of SQLite between two looks at the clock, about a millisecond."""


@dataclass(slots=True)
class Database:
    """An open store file. Tests replace the connection to make statements fail."""

    conn: sqlite3.Connection


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds the lock of a store, as it described itself in the lock file."""

    pid: int
    command: str
    since: str
    empties_log: int = 0
    """Not 0 while it waits until no program reads from the write-ahead log; each wait has another number."""

    @classmethod
    def this_process(cls) -> Holder:
        """Return this process: its program and, of this program, its command."""
        program = Path(sys.argv[0]) if sys.argv else Path("python")
        name = program.parent.name if program.name == "__main__.py" else program.stem
        words = [name or "python"]
        if name == "segapsith":
            words += [word for word in sys.argv[1:2] if not word.startswith("-")]
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        return cls(os.getpid(), " ".join(words), now)

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command}, since {self.since})"


TRANSLATED = (sqlite3.DatabaseError, UnicodeDecodeError, MemoryError, OSError)
"""Errors of SQLite and the system that `raise_plainly` replaces."""


def raise_plainly(path: str, error: BaseException) -> NoReturn:
    """Raise what an error of SQLite or the system means: busy, full, damaged, not permitted.

    Wrong statements are raised as they are.
    """
    if isinstance(error, sqlite3.OperationalError):
        raise _operational(path, error) from error
    if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
        raise error
    if isinstance(error, sqlite3.DatabaseError):
        if "not a database" in str(error):
            raise ForeignStoreError(f"{path} is not a store: {error}") from error
        raise StorageError(
            f"{path} is damaged ({error}); put the last backup in its place"
        ) from error
    if isinstance(error, UnicodeDecodeError):  # the message of SQLite quotes damaged text
        raise StorageError(
            f"{path} is damaged ({error.reason} in its own text); take the last backup"
        ) from error
    if isinstance(error, MemoryError):
        raise StorageError(f"{path}: out of memory; the last batch was not stored") from error
    if isinstance(error, OSError):
        raise _system(path, error) from error
    raise error


@contextlib.contextmanager
def plain_errors(path: str) -> Iterator[None]:
    """Translate errors of SQLite and the system; a query that is asked often does without."""
    try:
        yield
    except TRANSLATED as error:
        raise_plainly(path, error)


@contextlib.contextmanager
def database_errors(path: str) -> Iterator[None]:
    """Translate errors of SQLite; other errors inside the block pass through."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise_plainly(path, error)


def _operational(path: str, error: sqlite3.OperationalError) -> SegapsithError:
    text = str(error)
    if "interrupted" in text:
        return QueryTimeoutError(f"{path}: the query took too long and was stopped")
    if "locked" in text or "busy" in text:
        return BusyError(f"{path} is busy: another process is writing; try again or use --wait")
    if "full" in text or "disk I/O" in text:
        return StorageError(
            f"{path}: {text}; free some room and run the same command again, nothing is lost"
        )
    if "readonly" in text:
        return PermissionDeniedError(f"{path} cannot be written: {text}")
    if "unable to open" in text:
        return StoreCreationError(f"{path} cannot be opened: {text}")
    return StorageError(f"{path}: {text}")


def _system(path: str, error: OSError) -> SegapsithError:
    if isinstance(error, PermissionError):
        return PermissionDeniedError(f"{path}: no permission ({error.strerror})")
    return StorageError(f"{path}: {error.strerror or error}")


@contextlib.contextmanager
def lock(path: str, wait: float) -> Iterator[None]:
    """Hold the lock for writing; the kernel releases it however the process ends."""
    from filelock import FileLock, Timeout  # only writers need it

    if path == MEMORY:
        yield
        return
    check_can_be_store(path)  # before the lock, which would create missing directories
    held = FileLock(f"{path}.lock", timeout=wait, mode=0o644)
    try:
        held.acquire()
    except Timeout as error:
        who = lock_holder(path) or "another process"
        raise BusyError(
            f"{path} is busy: {who} is writing (waited {wait:g} s; --wait SECONDS)"
        ) from error
    except PermissionError as error:
        raise PermissionDeniedError(f"{path}.lock: no permission to write beside it") from error
    except OSError as error:
        raise StoreCreationError(f"{path} cannot be created: {error.strerror}") from error
    try:
        _describe_holder(path, json.dumps(asdict(Holder.this_process())))
        yield
    finally:
        _describe_holder(path, "")
        held.release()


def _describe_holder(path: str, text: str) -> None:
    """Write who holds the lock into its file; the lock itself does not depend on it."""
    with contextlib.suppress(OSError):
        Path(f"{path}.lock").write_text(text, "utf-8")


@contextlib.contextmanager
def emptying_log(path: str) -> Iterator[None]:
    """Ask programs that read the store to release its log; only the holder of the lock may ask.

    `segapsith serve` looks for this and closes its connections for a moment.
    """
    holder = lock_holder(path)
    if holder is None or holder.pid != os.getpid():
        yield
        return
    _describe_holder(path, json.dumps(asdict(replace(holder, empties_log=time.monotonic_ns()))))
    try:
        yield
    finally:
        _describe_holder(path, json.dumps(asdict(holder)))


def lock_holder(path: str) -> Holder | None:
    """Return which process holds the lock of a store; None if none described itself."""
    try:
        return Holder(**json.loads(Path(f"{path}.lock").read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def read_only_uri(path: str) -> str:
    """Return the address under which SQLite opens a file for reading only."""
    return f"file:{quote(str(Path(path).absolute()))}?mode=ro"


def open_reader(path: str, seconds: float | None = None) -> Database:
    """Open an existing store for reading only.

    With `seconds`, a query that still runs that long after the opening is stopped.
    """
    _check_is_file(path)
    uri = read_only_uri(path)
    with plain_errors(path):
        connection = _connect_reader(uri)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            if os.path.exists(f"{path}-journal"):
                # a store has a rollback journal only until its header says WAL, and a kill at that
                # moment leaves a journal that a reader may not roll back
                connection.close()
                raise _unfinished(path) from None
            # in a directory without write permission SQLite cannot create the shared-memory file
            if os.access(Path(path).absolute().parent, os.W_OK):
                connection.close()
                raise
            connection.close()
            connection = _connect_reader(f"{uri}&immutable=1")
        try:
            if _is_empty(connection):
                raise _unfinished(path)
            _check_is_store(path, connection)
            version = _pragma(connection, "user_version")
        except BaseException:
            connection.close()
            raise
    if version < SCHEMA:
        connection.close()
        raise OldSchemaError(
            f"{path} has schema {version}, this program reads {SCHEMA};"
            " any command that writes brings it up to date after a backup"
        )
    if seconds is not None:
        stop_after(connection, seconds)
    return Database(connection)


def _connect_reader(uri: str) -> sqlite3.Connection:
    # Several threads may use a reader, one after the other.
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10, check_same_thread=False)


def stop_after(connection: sqlite3.Connection, seconds: float) -> None:
    """Stop a query of a connection that still runs `seconds` from now."""
    end = time.monotonic() + seconds
    connection.set_progress_handler(lambda: int(time.monotonic() > end), CHECK_EVERY)


def _unfinished(path: str) -> UnfinishedStoreError:
    return UnfinishedStoreError(
        f"{path} is a store whose creation was interrupted, and holds nothing yet:"
        f" run the command that creates it again (segapsith ingest SOURCE --store {path})"
    )


def open_writer(path: str, wait: float) -> Database:
    """Open a store for writing; the caller holds the lock. A missing file is created."""
    with plain_errors(path):
        connection = sqlite3.connect(path, isolation_level=None, timeout=wait)
        try:
            if _is_empty(connection):
                connection.execute(f"PRAGMA page_size = {PAGE}")
            else:
                _check_is_store(path, connection)
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute(f"PRAGMA cache_size = -{CACHE}")
            if path != MEMORY:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
    return Database(connection)


def _check_is_file(path: str) -> None:
    if path == MEMORY:
        raise MissingInputError("a store in memory has nothing to read")
    try:
        if not os.path.exists(path):
            raise MissingInputError(
                f"there is no store at {path}; `segapsith ingest SOURCE --store {path}` creates one"
            )
    except ValueError as error:
        raise MissingInputError(f"there is no store at {path!r}: {error}") from error
    if not os.path.isfile(path):
        raise ForeignStoreError(f"{path} is not a file, so it is not a store")
    if not os.access(path, os.R_OK):
        raise PermissionDeniedError(f"{path}: no permission to read")


def check_can_be_store(path: str) -> None:
    """Raise the error that writing to this path would raise; create nothing."""
    if os.path.isdir(path):
        raise StoreCreationError(f"{path} is a directory; name a file for the store")
    if os.path.exists(path):
        if not os.access(path, os.W_OK):
            raise PermissionDeniedError(f"{path}: no permission to write")
        return
    parent = Path(path).absolute().parent
    if not parent.is_dir():
        raise StoreCreationError(f"{path} cannot be created: {parent} is not a directory")
    if not os.access(parent, os.W_OK):
        raise PermissionDeniedError(f"{path} cannot be created: no permission in {parent}")


def _is_empty(connection: sqlite3.Connection) -> bool:
    """Return whether the file is what a kill leaves before the schema is committed.

    The schema with both its numbers is one transaction; before it there is no byte, or the header
    that `PRAGMA journal_mode = WAL` writes.
    """
    n_tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    numbers = (_pragma(connection, "user_version"), _pragma(connection, "application_id"))
    return n_tables == 0 and numbers == (0, 0)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _check_is_store(path: str, connection: sqlite3.Connection) -> None:
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise ForeignStoreError(f"{path} is the database of another program; it is left untouched")
    version = _pragma(connection, "user_version")
    if version > SCHEMA:
        raise ForeignStoreError(
            f"{path} has schema {version}, this program reads up to {SCHEMA}; use a newer release"
        )
