"""Open a store file: one writer, by a lock file beside it, and many readers."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from filelock import FileLock, Timeout

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
    "Database",
    "check_can_be_store",
    "database_errors",
    "lock",
    "open_reader",
    "open_writer",
    "plain_errors",
    "read_only_uri",
]

MEMORY = ":memory:"

CACHE = 32 * 1024
"""Kilobytes of page cache of a writer, enough to write a batch once, at its end."""

CHECK_EVERY = 20_000
"""Steps of SQLite between two looks at the clock, about a millisecond."""


@dataclass(slots=True)
class Database:
    """An open store file. Tests replace the connection to make statements fail."""

    conn: sqlite3.Connection


@contextlib.contextmanager
def plain_errors(path: str) -> Iterator[None]:
    """Translate errors of SQLite and the system: busy, full, damaged, not permitted."""
    try:
        with database_errors(path):
            yield
    except UnicodeDecodeError as error:  # the message of SQLite quotes damaged text
        raise StorageError(
            f"{path} is damaged ({error.reason} in its own text); take the last backup"
        ) from error
    except MemoryError as error:
        raise StorageError(f"{path}: out of memory; the last batch was not stored") from error
    except OSError as error:
        raise _system(path, error) from error


@contextlib.contextmanager
def database_errors(path: str) -> Iterator[None]:
    """Translate errors of SQLite; other errors inside the block pass through."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise _operational(path, error) from error
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.IntegrityError | sqlite3.ProgrammingError):
            raise
        if "not a database" in str(error):
            raise ForeignStoreError(f"{path} is not a store: {error}") from error
        raise StorageError(
            f"{path} is damaged ({error}); take the last backup, or see `segapsith verify`"
        ) from error


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
    if path == MEMORY:
        yield
        return
    check_can_be_store(path)  # before the lock, which would create missing directories
    held = FileLock(f"{path}.lock", timeout=wait, mode=0o644)
    try:
        held.acquire()
    except Timeout as error:
        raise BusyError(
            f"{path} is busy: another process is writing (waited {wait:g} s; --wait SECONDS)"
        ) from error
    except PermissionError as error:
        raise PermissionDeniedError(f"{path}.lock: no permission to write beside it") from error
    except OSError as error:
        raise StoreCreationError(f"{path} cannot be created: {error.strerror}") from error
    try:
        yield
    finally:
        held.release()


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
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            # in a directory without write permission SQLite cannot create the shared-memory file
            if os.access(Path(path).absolute().parent, os.W_OK):
                connection.close()
                raise
            connection.close()
            connection = sqlite3.connect(
                f"{uri}&immutable=1", uri=True, isolation_level=None, timeout=10
            )
        try:
            if _is_empty(connection):
                raise UnfinishedStoreError(
                    f"{path} is a store whose creation was interrupted, and holds nothing yet:"
                    f" run the command that creates it again (segapsith ingest SOURCE --store {path})"
                )
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
        end = time.monotonic() + seconds
        connection.set_progress_handler(lambda: int(time.monotonic() > end), CHECK_EVERY)
    return Database(connection)


def open_writer(path: str, wait: float) -> Database:
    """Open a store for writing; the caller holds the lock. A missing file is created."""
    with plain_errors(path):
        connection = sqlite3.connect(path, isolation_level=None, timeout=wait)
        try:
            if not _is_empty(connection):
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
