"""Goes and gets feeds for a store: with the validators it kept, at the pace the servers ask for.

Servers are asked before anybody takes the lock of the store (`ask_ahead`, `ask_named`): what they
say waits in a spool, and is stored, with its validators, in one go. So a slow server keeps nobody
from writing.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import re
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from segapsith.api.wire import KeyedItems, Wire
from segapsith.engine.runs import RunSummary
from segapsith.errors import (
    FeedError,
    ForeignStoreError,
    PluginError,
    SegapsithError,
)
from segapsith.io.full_text import FullText
from segapsith.io.http import Address, Answer, fetch, place
from segapsith.io.inputs import Inputs
from segapsith.io.xml import root_name
from segapsith.model import Document, FeedState, Reject
from segapsith.plugin.contracts import Source
from segapsith.settings import Settings
from segapsith_store import Store
from segapsith_store.queries import subscriptions

__all__ = ["FeedFetcher", "FeedReport", "ask_ahead", "ask_named", "update"]

AT_ONCE = 8
"""Feeds that are asked for at the same time."""
SPOOL = 256 * 1024**2
"""Bytes of answers that may wait; feeds beyond are asked for when their turn comes."""
_TAIL = 4096

Validators = tuple[str | None, str | None]
"""ETag and Last-Modified of what the store has."""


class _Spool:
    """Answers that wait to be taken; their bodies lie in a file without a name."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        weakref.finalize(self, self._file.close)  # with the last who knows it
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[Validators, Answer | BaseException, int, int]] = {}
        self._size = 0

    def __contains__(self, key: str) -> bool:
        return key in self._kept

    @property
    def full(self) -> bool:
        return self._size >= SPOOL

    def put(self, key: str, asked: Validators, said: Answer | BaseException) -> None:
        body = said.body if isinstance(said, Answer) else b""
        with self._lock:
            self._file.seek(self._size)
            self._file.write(body)
            bare = replace(said, body=b"") if isinstance(said, Answer) else said
            self._kept[key] = (asked, bare, self._size, len(body))
            self._size += len(body)

    def look(self, key: str, asked: Validators | None = None) -> Answer | None:
        """What was said to this question; None if nobody asked it so. Raises what went wrong."""
        found = self._kept.get(key)
        if found is None or asked not in (None, found[0]):
            return None  # another process has read the feed meanwhile, or taken it back
        _, said, start, size = found
        if isinstance(said, BaseException):
            raise said
        with self._lock:
            self._file.seek(start)
            return replace(said, body=self._file.read(size))

    def take(self, key: str, asked: Validators) -> Answer | None:
        """The same, once: the next who asks is sent to the server."""
        try:
            return self.look(key, asked)
        finally:
            self._kept.pop(key, None)


class FeedFetcher:
    """Fetches an address and remembers, in the store, what its server said about it.

    Without a store (a dry run) nothing is remembered, nor used.
    """

    def __init__(
        self,
        settings: Settings,
        store: Callable[[], Store] | None,
        *,
        now: Callable[[], str] = subscriptions.moment,
        get: Callable[..., Answer] = fetch,
    ) -> None:
        self.timeout = settings.http.timeout
        named = re.split(r"[\s,]+", settings.http.allow_hosts.strip())
        self.allow = frozenset(place(entry) for entry in named if entry)
        self.now = now
        self._follows = settings.reading.full_text
        self._store = store
        self._get = get
        self._ahead = _Spool()

    def __call__(self, url: str) -> tuple[bytes, str, FeedState | None]:
        """The body, empty if nothing changed; the name without credentials; what is to be kept."""
        address = Address.of(url)
        key = address.full_url
        known = None if self._store is None else subscriptions.find(self._store(), key)
        now = self.now()
        if known is not None and subscriptions.waits(known, now):
            raise FeedError(
                f"{address.url}: its server asked not to be asked before {known.retry_at}"
            )
        etag, last_modified = (known.etag, known.last_modified) if known else (None, None)
        try:
            answer = self._ahead.take(key, (etag, last_modified))
            if answer is None:
                answer = self._ask(key, etag, last_modified)
            _must_be_useful(answer, conditional=bool(etag or last_modified))
        except FeedError as error:
            self._remember_failure(key, now, error)
            raise
        if self._store is None:
            return answer.body, address.url, None
        if answer.status == 304:  # its validators stand, whatever of them the answer repeats
            return b"", address.url, FeedState(key, now, etag, last_modified)
        if not _is_whole(answer.body):
            return answer.body, address.url, FeedState(key, now)
        return answer.body, address.url, FeedState(key, now, answer.etag, answer.last_modified)

    def _ask(self, key: str, etag: str | None, last_modified: str | None) -> Answer:
        return self._get(
            key, etag=etag, last_modified=last_modified, allow=self.allow, timeout=self.timeout
        )

    def ask_ahead(self, feeds: Iterable[subscriptions.Feed]) -> None:
        """Asks for feeds, several at a time and a host one thing at a time, until all have answered.

        Nothing is read from the store or written to it: what is said waits until its feed is
        taken. Those that wait already are not asked again.
        """
        hosts: dict[str, list[tuple[str, Validators]]] = {}
        now = self.now()
        for feed in feeds:
            try:
                address = Address.of(feed.url)
            except FeedError:  # who reads it is told
                continue
            key = address.full_url
            if key not in self._ahead and not subscriptions.waits(feed, now):
                asked = (key, (feed.etag, feed.last_modified))
                hosts.setdefault(address.place, []).append(asked)
        self._together([partial(self._one_by_one, todo) for todo in hosts.values()])

    def _one_by_one(self, todo: Sequence[tuple[str, Validators]]) -> None:
        for key, asked in todo:
            if self._ahead.full:
                return
            try:
                said: Answer | BaseException = self._ask(key, *asked)
            except Exception as error:  # whoever takes the answer is told
                said = error
            self._ahead.put(key, asked, said)

    @staticmethod
    def _together(work: Sequence[Callable[[], None]]) -> None:
        """Does all of it, in a few threads."""
        waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        done: queue.SimpleQueue[None] = queue.SimpleQueue()
        for piece in work:
            waiting.put(piece)

        def serve() -> None:
            while True:
                try:
                    waiting.get_nowait()()
                except queue.Empty:
                    return
                done.put(None)

        for _ in range(min(AT_ONCE, len(work))):
            # Daemons, unlike the threads of a pool: a run that is stopped waits for no server.
            threading.Thread(target=serve, name="fetch", daemon=True).start()
        for _ in work:
            done.get()

    def follow_ahead(
        self, urls: Iterable[str], sources: Mapping[str, Source], store: Store | None
    ) -> None:
        """Asks for the articles behind the items of feeds that wait, if that is wanted."""
        if not self._follows:
            return
        follow = FullText(
            self._page_ahead, partial(_recalled, store), partial(_is_forgotten, store)
        )
        for url in urls:
            inputs = Inputs([url], sources, fetch=self._waiting, follow=follow)
            with contextlib.suppress(PluginError):  # who reads the feed is told
                for _ in inputs.items():
                    if self._ahead.full:
                        return

    def _waiting(self, url: str) -> tuple[bytes, str, None]:
        """The body of a feed that waits; it goes on waiting."""
        address = Address.of(url)
        answer = self._ahead.look(address.full_url)
        return (b"" if answer is None else answer.body), address.url, None

    def _page_ahead(self, url: str) -> bytes:
        key = f"page {url}"
        if key not in self._ahead:
            try:
                said: Answer | BaseException = self._ask(url, None, None)
            except FeedError as error:
                said = error
            self._ahead.put(key, (None, None), said)
        return self._page(self._ahead.look(key), url)

    def page(self, url: str) -> bytes:
        """A page that is read once and not subscribed to; nothing about it is kept."""
        return self._page(self._ahead.take(f"page {url}", (None, None)), url)

    def _page(self, answer: Answer | None, url: str) -> bytes:
        answer = answer or self._ask(url, None, None)
        _must_be_useful(answer, conditional=False)
        return answer.body

    def follower(self) -> FullText | None:
        """What makes articles of summaries, if that is wanted."""
        if not self._follows:
            return None
        return FullText(
            self.page,
            lambda uid: _recalled(self._store and self._store(), uid),
            lambda uid: _is_forgotten(self._store and self._store(), uid),
        )

    def _remember_failure(self, key: str, now: str, error: FeedError) -> None:
        if self._store is not None:
            wished = error.retry_after if isinstance(error, _RefusedError) else None
            subscriptions.record(
                self._store(), FeedState(key, now, error=str(error), retry_after=wished)
            )


def _is_forgotten(store: Store | None, uid: str) -> bool:
    """Whether a document was forgotten: it will be refused, so nothing is fetched for it."""
    return store is not None and bool(store.forgotten_uids([uid]))


def _recalled(store: Store | None, uid: str) -> tuple[str, str] | None:
    """The summary that was followed for a document, and the text that was found then."""
    if store is None:
        return None
    found = store.row(
        "SELECT v.metadata, v.body FROM documents d JOIN versions v ON v.document = d.id"
        " AND v.number = d.version WHERE d.uid = ?",
        [uid],
    )
    summary = None if found is None else json.loads(found[0]).get("summary")
    return (summary, found[1]) if found is not None and isinstance(summary, str) else None


class _RefusedError(FeedError):
    """A server answered, but with no feed."""

    def __init__(self, text: str, retry_after: int | None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


_MEANINGS = {
    401: "it wants credentials",
    403: "it refuses",
    404: "there is nothing at this address",
    410: "it is gone for good; `segapsith feeds remove` ends the subscription",
    429: "it was asked too often",
    503: "it is overloaded or closed for the moment",
}


def _must_be_useful(answer: Answer, conditional: bool) -> None:
    if answer.has_body and not answer.body.strip():
        raise FeedError(f"{answer.url}: the answer is empty")
    if answer.has_body or (answer.status == 304 and conditional):
        return
    meaning = _MEANINGS.get(answer.status, "no feed comes with that")
    wait = f"; it asks to wait {answer.retry_after} s" if answer.retry_after is not None else ""
    raise _RefusedError(f"{answer.url}: {answer.status}, {meaning}{wait}", answer.retry_after)


def _is_whole(body: bytes) -> bool:
    """Whether a body that is XML ends as it began; other formats tell by themselves.

    >>> _is_whole(b"<rss><item></item></rss>"), _is_whole(b"<rss><item></item>"), _is_whole(b"{}")
    (True, False, True)
    """
    narrow = body[:_TAIL].replace(b"\0", b"")  # UTF-16 too, as far as tags go
    root = root_name(narrow.removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff"))
    end = body[-_TAIL:].replace(b"\0", b"")
    return not root or b"</" + root.encode() in end


# -- the run over the subscriptions --------------------------------------------------------------


@dataclass(slots=True)
class FeedReport:
    """What came of one feed: read, unchanged, failed, or waiting as its server asked."""

    url: str
    title: str
    status: str = "unchanged"
    failure: SegapsithError | None = None
    counts: dict[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        counts = {name: self.counts.get(name, 0) for name in _COUNTED}
        error = "" if self.failure is None else str(self.failure)
        return {
            "url": self.url, "title": self.title, "status": self.status, "error": error, **counts,
        }  # fmt: skip


_COUNTED = ("read", "new", "duplicate", "corrected", "rejected", "forgotten")


def update(
    wire: Wire,
    courier: FeedFetcher,
    sources: Mapping[str, Source],
    *,
    everything: bool = False,
    name: str = "",
    watch: Callable[[RunSummary], None] | None = None,
) -> tuple[RunSummary, list[FeedReport]]:
    """Reads the subscriptions that are due, or all; one run, one transaction or more a feed.

    A feed that fails is reported and the others go on. If no feed brings an item, there is no run
    (its number is 0).
    """
    ask_ahead(wire, courier, sources, everything=everything)
    feeds = _wanted(subscriptions.listed(wire.writer), courier, everything)
    night = _Night(wire.writer, courier, sources, watch)
    items = night.items(feeds)
    first = next(items, None)
    if first is None:
        return RunSummary(), night.reports
    delivery = KeyedItems("", itertools.chain([first], items))
    summary = wire.ingest(delivery, name=name, command="update", watch=night.saw)
    return summary, night.reports


def ask_ahead(
    wire: Wire, courier: FeedFetcher, sources: Mapping[str, Source], *, everything: bool = False
) -> None:
    """Asks the subscriptions that are due, or all, while others may still write."""

    def ask(store: Store) -> None:
        feeds = _wanted(subscriptions.listed(store), courier, everything)
        courier.ask_ahead(feeds)
        courier.follow_ahead([feed.url for feed in feeds], sources, store)

    try:
        wire.read(ask)
    except ForeignStoreError:  # of an older release: who writes brings it up to date
        ask(wire.writer)


def ask_named(
    wire: Wire, courier: FeedFetcher, sources: Mapping[str, Source], names: Sequence[str]
) -> None:
    """Asks the addresses among named inputs, while others may still write."""
    urls = []
    for name in names:
        if "://" in name:
            with contextlib.suppress(FeedError):  # who reads it is told
                urls.append(Address.of(name).full_url)

    def ask(store: Store | None) -> None:
        known = [None if store is None else subscriptions.find(store, url) for url in urls]
        feeds = [feed or subscriptions.unknown(url) for feed, url in zip(known, urls, strict=True)]
        courier.ask_ahead(feeds)
        courier.follow_ahead(urls, sources, store)

    if not urls:
        return
    if not os.path.exists(wire.path):
        ask(None)
        return
    try:
        wire.read(ask)
    except ForeignStoreError:
        ask(wire.writer)


def _wanted(
    subscribed: list[subscriptions.Feed], courier: FeedFetcher, everything: bool
) -> list[subscriptions.Feed]:
    return subscribed if everything else subscriptions.due(subscribed, courier.now())


class _Night:
    """One run over the feeds, with what came of each."""

    def __init__(
        self,
        store: Store,
        courier: FeedFetcher,
        sources: Mapping[str, Source],
        watch: Callable[[RunSummary], None] | None,
    ) -> None:
        self.reports: list[FeedReport] = []
        self._store, self._courier, self._sources, self._watch = store, courier, sources, watch
        self._seen: dict[str, Any] = RunSummary().as_json()

    def saw(self, summary: RunSummary) -> None:
        """A batch is in the store."""
        self._seen = summary.as_json()
        if self._watch is not None:
            self._watch(summary)

    def items(self, feeds: Sequence[subscriptions.Feed]) -> Iterator[Document | Reject | FeedState]:
        """The items of each feed, and behind them what is kept with the last."""
        for feed in feeds:
            report = FeedReport(Address.of(feed.url).url, feed.title)
            self.reports.append(report)
            if subscriptions.waits(feed, self._courier.now()):
                report.status = "waiting"
                continue
            stories, state = self._read(feed, report)
            if not stories:
                if state is not None:
                    subscriptions.record(self._store, state)
                continue
            before = self._seen
            yield from stories
            yield state or FeedState(feed.url, self._courier.now())
            report.counts = {count: self._seen[count] - before[count] for count in _COUNTED}

    def _read(
        self, feed: subscriptions.Feed, report: FeedReport
    ) -> tuple[list[Document | Reject], FeedState | None]:
        """All items of a feed at once: a body is bounded, and a plugin that fails spoils one."""
        inputs = Inputs(
            [feed.url], self._sources, fetch=self._courier, follow=self._courier.follower()
        )
        try:
            found = list(inputs.items())
            report.failure = next(iter(inputs.failures), None)
        except PluginError as error:
            found, report.failure = [], error
        stories = [item for item in found if not isinstance(item, FeedState)]
        state = next((item for item in found if isinstance(item, FeedState)), None)
        if report.failure is not None:
            report.status = "failed"
            if not isinstance(report.failure, FeedError):  # those the courier has kept
                state = FeedState(feed.url, self._courier.now(), error=str(report.failure))
        elif stories:
            report.status = "read"
        return stories, state
