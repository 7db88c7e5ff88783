"""Fetch feeds for a store: conditional requests, the run over the subscriptions, full articles.

Servers are asked before the store is locked (`prefetch_due`, `prefetch_named`). Their answers wait
in a spool, and each feed is then stored together with its validators in one transaction. So a slow
server prevents nobody from writing.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
from segapsith.io.addresses import Address, allowed_places
from segapsith.io.full_text import FullText
from segapsith.io.http import Answer, fetch
from segapsith.io.inputs import Inputs, live_source
from segapsith.io.spool import RefusedError, Spool, Validators, check_answer, is_complete
from segapsith.model import Document, FeedState, Reject
from segapsith.plugin.contracts import Source
from segapsith.settings import Settings
from segapsith_store import Store
from segapsith_store.queries import subscriptions

__all__ = [
    "FeedFetcher",
    "FeedReport",
    "FeedUpdate",
    "positions",
    "prefetch_due",
    "prefetch_named",
    "update",
]


MAX_THREADS = 8
"""Feeds that are fetched at the same time."""

_NO_VALIDATORS: Validators = (None, None)


# -- one address ---------------------------------------------------------------------------------


class FeedFetcher:
    """Fetches feeds with the validators of the store, and the articles that their items link to.

    `store` returns the store that validators are read from and failures are recorded in. Without
    it (a dry run) requests are unconditional and nothing is recorded.
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
        self.allow = allowed_places(settings.http.allow_hosts)
        self.now = now
        self._follow_links = settings.reading.full_text
        self._store = store
        self._get = get
        self._spool = Spool()

    def fetch(self, url: str) -> tuple[bytes, str, FeedState | None]:
        """Return the body (empty if nothing changed), the address without credentials, and the
        state to store with the last item.

        A failure is recorded in the store and raised.
        """
        address = Address.of(url)
        key = address.full_url
        feed = None if self._store is None else subscriptions.find(self._store(), key)
        now = self.now()
        if feed is not None and subscriptions.waits(feed, now):
            raise FeedError(
                f"{address.url}: skipped: its server asked for no request before {feed.retry_at}"
            )
        validators = (feed.etag, feed.last_modified) if feed else _NO_VALIDATORS
        try:
            answer = self._spool.take(key, validators)
            if answer is None:
                answer = self._request(key, validators)
            check_answer(answer, conditional=any(validators))
        except FeedError as error:
            self._record_failure(key, now, error)
            raise
        if self._store is None:
            return answer.body, address.url, None
        if answer.status == 304:  # the old validators hold, whether the answer repeats them or not
            return b"", address.url, FeedState(key, now, *validators)
        if not is_complete(answer.body):
            return answer.body, address.url, FeedState(key, now)
        return answer.body, address.url, FeedState(key, now, answer.etag, answer.last_modified)

    def _request(self, key: str, validators: Validators) -> Answer:
        etag, last_modified = validators
        return self._get(
            key, etag=etag, last_modified=last_modified, allow=self.allow, timeout=self.timeout
        )

    def _record_failure(self, key: str, now: str, error: FeedError) -> None:
        if self._store is not None:
            retry_after = error.retry_after if isinstance(error, RefusedError) else None
            subscriptions.record(
                self._store(), FeedState(key, now, error=str(error), retry_after=retry_after)
            )

    # -- requests before the store is locked -----------------------------------------------------

    def prefetch(self, feeds: Iterable[subscriptions.Feed]) -> None:
        """Request feeds, several hosts at a time and one feed of a host at a time, and wait.

        The store is neither read nor written: the answers wait in the spool until `fetch` takes
        them. Feeds that are in the spool already are not requested again.
        """
        requests: dict[str, list[tuple[str, Validators]]] = {}
        now = self.now()
        for feed in feeds:
            try:
                address = Address.of(feed.url)
            except FeedError:  # `fetch` reports it
                continue
            key = address.full_url
            if key not in self._spool and not subscriptions.waits(feed, now):
                validators = (feed.etag, feed.last_modified)
                requests.setdefault(address.place, []).append((key, validators))
        _in_threads([partial(self._request_in_turn, of_host) for of_host in requests.values()])

    def _request_in_turn(self, requests: Sequence[tuple[str, Validators]]) -> None:
        for key, validators in requests:
            if self._spool.full:
                return
            try:
                outcome: Answer | BaseException = self._request(key, validators)
            except Exception as error:  # raised when the answer is taken
                outcome = error
            try:
                self._spool.put(key, validators, outcome)
            except OSError:  # no space for the spool: the other feeds are fetched in their turn
                return

    def prefetch_articles(
        self, urls: Iterable[str], sources: Mapping[str, Source], store: Store | None
    ) -> None:
        """Request the articles that the items of prefetched feeds link to, if `full_text` is on."""
        if not self._follow_links:
            return
        full_text = FullText(
            self._prefetch_page, partial(_recalled, store), partial(_is_forgotten, store)
        )
        for url in urls:
            inputs = Inputs([url], sources, fetch=self._prefetched, follow=full_text)
            with contextlib.suppress(PluginError):  # reported when the feed is read
                for _ in inputs.items():
                    if self._spool.full:
                        return

    def _prefetched(self, url: str) -> tuple[bytes, str, None]:
        """Return the body of a prefetched feed and leave it in the spool."""
        address = Address.of(url)
        answer = self._spool.peek(address.full_url)
        return (b"" if answer is None else answer.body), address.url, None

    def _prefetch_page(self, url: str) -> bytes:
        key = _page_key(url)
        if key not in self._spool:
            try:
                outcome: Answer | BaseException = self._request(url, _NO_VALIDATORS)
            except FeedError as error:
                outcome = error
            self._spool.put(key, _NO_VALIDATORS, outcome)
        return self._page(self._spool.peek(key), url)

    # -- articles --------------------------------------------------------------------------------

    def fetch_page(self, url: str) -> bytes:
        """Return the body of a page; nothing about it is recorded."""
        return self._page(self._spool.take(_page_key(url), _NO_VALIDATORS), url)

    def _page(self, answer: Answer | None, url: str) -> bytes:
        answer = answer or self._request(url, _NO_VALIDATORS)
        check_answer(answer, conditional=False)
        return answer.body

    def full_text(self) -> FullText | None:
        """Return what replaces summaries by articles, or None if `full_text` is off."""
        if not self._follow_links:
            return None
        return FullText(
            self.fetch_page,
            lambda uid: _recalled(self._store and self._store(), uid),
            lambda uid: _is_forgotten(self._store and self._store(), uid),
        )


def _page_key(url: str) -> str:
    """Return the key of a page in the spool; no address of a feed contains a space."""
    return f"page {url}"


def _in_threads(tasks: Sequence[Callable[[], None]]) -> None:
    """Run all tasks in at most `MAX_THREADS` threads and wait for them."""
    waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
    done: queue.SimpleQueue[None] = queue.SimpleQueue()
    for task in tasks:
        waiting.put(task)

    def work() -> None:
        while True:
            try:
                task = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                task()
            finally:
                done.put(None)  # after an error, too: the caller waits for every task

    for _ in range(min(MAX_THREADS, len(tasks))):
        # Daemon threads, which a pool does not have: a run that is stopped waits for no server.
        threading.Thread(target=work, name="fetch", daemon=True).start()
    for _ in tasks:
        done.get()


def _is_forgotten(store: Store | None, uid: str) -> bool:
    """Return whether a document was forgotten: it will be refused, so nothing is fetched for it."""
    return store is not None and bool(store.forgotten_uids([uid]))


def _recalled(store: Store | None, uid: str) -> tuple[str, str] | None:
    """The summary that was followed for a document, and the text that was found then."""
    if store is None:
        return None
    document = store.document(uid)
    if document is None:
        return None
    version = store.version(document.id, document.version)
    summary = json.loads(version.metadata).get("summary")
    return (summary, version.body) if isinstance(summary, str) else None


# -- the subscriptions that are due --------------------------------------------------------------

_COUNTS = ("read", "new", "duplicate", "corrected", "rejected", "forgotten")


@dataclass(frozen=True, slots=True)
class FeedReport:
    """The outcome of one feed: read, unchanged, failed, or waiting because its server asked."""

    url: str
    title: str
    status: str
    failure: SegapsithError | None = None
    counts: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        counts = {name: self.counts.get(name, 0) for name in _COUNTS}
        error = "" if self.failure is None else str(self.failure)
        return {
            "url": self.url, "title": self.title, "status": self.status, "error": error, **counts,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class FeedUpdate:
    """The outcome of one run over the subscriptions; its run is 0 if no feed brought an item."""

    summary: RunSummary
    reports: tuple[FeedReport, ...]

    @property
    def failures(self) -> list[SegapsithError]:
        """The errors of the feeds that failed, in the order of the feeds."""
        return [report.failure for report in self.reports if report.failure is not None]

    def as_json(self) -> dict[str, Any]:
        return {
            **self.summary.as_json(), "feeds": [report.as_json() for report in self.reports],
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class _FeedItems:
    """The items of one feed, the state to store with them, and what went wrong."""

    items: tuple[Document | Reject, ...] = ()
    state: FeedState | None = None
    failure: SegapsithError | None = None

    @property
    def status(self) -> str:
        if self.failure is not None:
            return "failed"
        return "read" if self.items else "unchanged"


def update(
    wire: Wire,
    fetcher: FeedFetcher,
    sources: Mapping[str, Source],
    *,
    everything: bool = False,
    name: str = "",
    on_batch: Callable[[RunSummary], None] | None = None,
) -> FeedUpdate:
    """Ingest the subscriptions that are due, or all, in one run; each feed ends a transaction.

    A feed that fails is reported and the others are still read. If no feed brings an item, there
    is no run.
    """
    prefetch_due(wire, fetcher, sources, everything=everything)
    feeds = _selected(subscriptions.listed(wire.writer), fetcher, everything)
    delivery = _FeedDelivery(wire.writer, fetcher, sources, on_batch)
    items = delivery.items(feeds)
    first = next(items, None)
    if first is None:
        return FeedUpdate(RunSummary(), tuple(delivery.reports))
    summary = wire.ingest(
        KeyedItems("", itertools.chain([first], items)),
        name=name,
        command="update",
        on_batch=delivery.count_batch,
    )
    return FeedUpdate(summary, tuple(delivery.reports))


def prefetch_due(
    wire: Wire, fetcher: FeedFetcher, sources: Mapping[str, Source], *, everything: bool = False
) -> None:
    """Request the subscriptions that are due, or all, while others may still write."""

    def prefetch(store: Store) -> None:
        feeds = _selected(subscriptions.listed(store), fetcher, everything)
        fetcher.prefetch(feeds)
        fetcher.prefetch_articles([feed.url for feed in feeds], sources, store)

    _with_store(wire, prefetch)


def prefetch_named(
    wire: Wire, fetcher: FeedFetcher, sources: Mapping[str, Source], names: Sequence[str]
) -> None:
    """Request the addresses among named inputs, while others may still write."""
    urls = []
    for name in names:
        if "://" in name:
            with contextlib.suppress(FeedError):  # reported when the input is read
                urls.append(Address.of(name).full_url)

    def prefetch(store: Store | None) -> None:
        stored = [None if store is None else subscriptions.find(store, url) for url in urls]
        fetcher.prefetch(
            feed or subscriptions.unknown(url) for feed, url in zip(stored, urls, strict=True)
        )
        fetcher.prefetch_articles(urls, sources, store)

    if not urls:
        return
    if os.path.exists(wire.path):
        _with_store(wire, prefetch)
    else:
        prefetch(None)


def positions(wire: Wire, sources: Mapping[str, Source], names: Sequence[str]) -> dict[str, str]:
    """Return, for each live stream among named inputs, the position up to which it was read."""
    addresses = []
    for name in names:
        live = live_source(sources, name) if "://" in name else None
        if live is not None:
            addresses.append(live.address(name))
    known: dict[str, str] = {}

    def look_up(store: Store) -> None:
        for address in addresses:
            stream = subscriptions.find(store, address)
            if stream is not None and stream.etag is not None:
                known[address] = stream.etag

    if addresses and os.path.exists(wire.path):
        _with_store(wire, look_up)
    return known


def _with_store(wire: Wire, prefetch: Callable[[Store], None]) -> None:
    """Read from the store without its lock, unless its schema must be migrated first."""
    try:
        wire.read(prefetch)
    except ForeignStoreError:
        prefetch(wire.writer)


def _selected(
    subscribed: list[subscriptions.Feed], fetcher: FeedFetcher, everything: bool
) -> list[subscriptions.Feed]:
    return subscribed if everything else subscriptions.due(subscribed, fetcher.now())


def _read_feed(url: str, fetcher: FeedFetcher, sources: Mapping[str, Source]) -> _FeedItems:
    """Return all items of a feed at once: a body is bounded, and a failing plugin spoils one feed."""
    inputs = Inputs([url], sources, fetch=fetcher.fetch, follow=fetcher.full_text())
    items: list[Document | Reject] = []
    state: FeedState | None = None
    failure: SegapsithError | None = None
    try:
        for item in inputs.items():
            if isinstance(item, FeedState):
                state = item
            elif isinstance(item, Document | Reject):
                items.append(item)
        failure = next(iter(inputs.failures), None)
    except PluginError as error:
        items, state, failure = [], None, error
    if failure is not None and not isinstance(failure, FeedError):  # `fetch` recorded the others
        state = FeedState(url, fetcher.now(), error=str(failure))
    return _FeedItems(tuple(items), state, failure)


class _FeedDelivery:
    """The items of several feeds, read one feed at a time while a run stores them.

    A report is complete when it is added: the state that follows the items of a feed ends a batch,
    so the counts of the run are those up to this feed.
    """

    def __init__(
        self,
        store: Store,
        fetcher: FeedFetcher,
        sources: Mapping[str, Source],
        on_batch: Callable[[RunSummary], None] | None,
    ) -> None:
        self.reports: list[FeedReport] = []
        self._store, self._fetcher, self._sources = store, fetcher, sources
        self._on_batch = on_batch
        self._totals = _counts(RunSummary())

    def count_batch(self, summary: RunSummary) -> None:
        """Note the counts of the run after each batch."""
        self._totals = _counts(summary)
        if self._on_batch is not None:
            self._on_batch(summary)

    def items(self, feeds: Iterable[subscriptions.Feed]) -> Iterator[Document | Reject | FeedState]:
        """Yield the items of each feed, followed by the state to store with them."""
        for feed in feeds:
            url = Address.of(feed.url).url
            if subscriptions.waits(feed, self._fetcher.now()):
                self.reports.append(FeedReport(url, feed.title, "waiting"))
                continue
            content = _read_feed(feed.url, self._fetcher, self._sources)
            before = self._totals
            if content.items:
                yield from content.items
                yield content.state or FeedState(feed.url, self._fetcher.now())
            elif content.state is not None:
                subscriptions.record(self._store, content.state)
            counts = {name: self._totals[name] - before[name] for name in _COUNTS}
            self.reports.append(
                FeedReport(url, feed.title, content.status, content.failure, counts)
            )


def _counts(summary: RunSummary) -> dict[str, int]:
    return {name: getattr(summary, name) for name in _COUNTS}
