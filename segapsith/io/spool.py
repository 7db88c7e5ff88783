"""HTTP answers that wait in a temporary file until they are read, and checks of an answer."""

from __future__ import annotations

import tempfile
import threading
import weakref
from dataclasses import dataclass, replace

from segapsith.errors import FeedError
from segapsith.io.http import Answer
from segapsith.io.xml import root_name

__all__ = ["MAX_SPOOL_BYTES", "RefusedError", "Spool", "Validators", "check_answer", "is_complete"]

MAX_SPOOL_BYTES = 256 * 1024**2
"""Bytes of bodies after which a spool reports that it is full."""

_TAIL_BYTES = 4096
"""Bytes at each end of a body that `is_complete` looks at."""

Validators = tuple[str | None, str | None]
"""The ETag and Last-Modified values that a request is made with."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One outcome of a request; the body of an answer is in the file."""

    validators: Validators
    outcome: Answer | BaseException
    start: int
    size: int


class Spool:
    """Outcomes of requests by key; bodies are stored in an anonymous temporary file.

    Threads may store at the same time.
    """

    def __init__(self, max_bytes: int = MAX_SPOOL_BYTES) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed by the finalizer
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._size = 0
        self._max_bytes = max_bytes

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    @property
    def full(self) -> bool:
        """Whether the bodies have reached the size limit."""
        return self._size >= self._max_bytes

    def put(self, key: str, validators: Validators, outcome: Answer | BaseException) -> None:
        """Store the answer to a request, or the error that it ended with."""
        body = outcome.body if isinstance(outcome, Answer) else b""
        with self._lock:
            self._file.seek(self._size)
            self._file.write(body)
            head = replace(outcome, body=b"") if isinstance(outcome, Answer) else outcome
            self._entries[key] = _Entry(validators, head, self._size, len(body))
            self._size += len(body)

    def peek(self, key: str, validators: Validators | None = None) -> Answer | None:
        """Return the stored answer for `key`, or None if there is none; raise a stored error.

        An answer to a request with other validators does not count: another process has read the
        feed in the meantime, or a run was undone.
        """
        entry = self._entries.get(key)
        if entry is None or validators not in (None, entry.validators):
            return None
        if isinstance(entry.outcome, BaseException):
            raise entry.outcome
        with self._lock:
            self._file.seek(entry.start)
            return replace(entry.outcome, body=self._file.read(entry.size))

    def take(self, key: str, validators: Validators) -> Answer | None:
        """Do what `peek` does and remove the entry."""
        try:
            return self.peek(key, validators)
        finally:
            self._entries.pop(key, None)


# -- checks of an answer -------------------------------------------------------------------------


class RefusedError(FeedError):
    """An answer without a feed; `retry_after` is the number of seconds that the server asks for."""

    def __init__(self, text: str, retry_after: int | None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


_MEANINGS = {
    401: "credentials are required",
    403: "access is refused",
    404: "there is nothing at this address",
    410: "the feed is gone for good; `segapsith feeds remove` ends the subscription",
    429: "too many requests",
    503: "the server is overloaded or closed for the moment",
}


def check_answer(answer: Answer, *, conditional: bool) -> None:
    """Raise a `FeedError` unless the answer has a body, or is "not modified" where that may be.

    >>> check_answer(Answer("http://a/", "http://a/", 304, b""), conditional=True)
    >>> check_answer(Answer("http://a/", "http://a/", 404, b""), conditional=False)
    Traceback (most recent call last):
    segapsith.io.spool.RefusedError: http://a/: 404, there is nothing at this address
    """
    if answer.has_body and not answer.body.strip():
        raise FeedError(f"{answer.url}: the answer is empty")
    if answer.has_body or (answer.status == 304 and conditional):
        return
    meaning = _MEANINGS.get(answer.status, "an answer with this status has no feed")
    wait = f"; retry after {answer.retry_after} s" if answer.retry_after is not None else ""
    raise RefusedError(f"{answer.url}: {answer.status}, {meaning}{wait}", answer.retry_after)


def is_complete(body: bytes) -> bool:
    """Return whether a body that is XML closes its root element; other formats count as complete.

    >>> is_complete(b"<rss><item></item></rss>"), is_complete(b"<rss><item></item>")
    (True, False)
    >>> is_complete(b"{}")
    True
    """
    start = body[:_TAIL_BYTES].replace(b"\0", b"")  # makes the tags of UTF-16 readable, too
    root = root_name(start.removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff"))
    end = body[-_TAIL_BYTES:].replace(b"\0", b"")
    return not root or b"</" + root.encode() in end
