"""Goes and gets feeds for a store: with the validators it kept, at the pace the servers ask for."""

from __future__ import annotations

import itertools
import json
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from segapsith.api import Wire
from segapsith.contracts import Source
from segapsith.engine import RunSummary
from segapsith.errors import ConfigurationError, FeedError, PluginError, SegapsithError
from segapsith.fetching import Address, Answer, fetch, place
from segapsith.full_text import FullText
from segapsith.inputs import Inputs
from segapsith.model import Document, Reject
from segapsith.records import FeedState
from segapsith.safe_xml import root_name
from segapsith.settings import Settings
from segapsith_store import Store, subscriptions

__all__ = ["Courier", "FeedReport", "update"]

LONGEST_TIMEOUT = 3600.0
AT_ONCE = 8
"""Feeds that are asked for at the same time."""
_TAIL = 4096


class Courier:
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
        self.timeout = float(settings["http_timeout"])
        if not 0 < self.timeout <= LONGEST_TIMEOUT:
            raise ConfigurationError(
                f"http_timeout={self.timeout:g} should be above 0 and at most {LONGEST_TIMEOUT:g}"
            )
        named = re.split(r"[\s,]+", str(settings["allow_hosts"]).strip())
        self.allow = frozenset(place(entry) for entry in named if entry)
        self.now = now
        self._follows = bool(settings["full_text"])
        self._store = store
        self._get = get
        self._ahead: dict[str, Future[Answer]] = {}

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
        under_way = self._ahead.pop(key, None)
        try:
            answer = under_way.result() if under_way else self._ask(key, etag, last_modified)
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

    def ahead(self, feeds: Sequence[subscriptions.Feed]) -> Iterator[subscriptions.Feed]:
        """The feeds in their order; those that follow are asked for already, by a few threads.

        A host is asked one thing at a time. Nothing but the asking is done ahead: what is kept in
        the store is read and written by whoever takes the feeds.
        """
        hosts: dict[str, threading.Lock] = {}
        waiting: deque[subscriptions.Feed] = deque()
        try:
            for feed in feeds:
                if not subscriptions.waits(feed, self.now()):
                    address = Address.of(feed.url)
                    alone = hosts.setdefault(address.place, threading.Lock())
                    self._ahead[address.full_url] = self._asked(address.full_url, feed, alone)
                waiting.append(feed)
                if len(waiting) >= AT_ONCE:  # bounds the threads, and the bodies that wait
                    yield waiting.popleft()
            while waiting:
                yield waiting.popleft()
        finally:
            for answer in self._ahead.values():
                answer.cancel()
            self._ahead.clear()

    def _asked(self, key: str, feed: subscriptions.Feed, alone: threading.Lock) -> Future[Answer]:
        """An answer that is under way."""
        answer: Future[Answer] = Future()

        def ask() -> None:
            with alone:
                if not answer.set_running_or_notify_cancel():
                    return
                try:
                    answer.set_result(self._ask(key, feed.etag, feed.last_modified))
                except BaseException as error:  # whoever takes the answer is told
                    answer.set_exception(error)

        # A daemon, unlike the threads of a pool: a run that is stopped waits for no server.
        threading.Thread(target=ask, name="fetch", daemon=True).start()
        return answer

    def page(self, url: str) -> bytes:
        """A page that is read once and not subscribed to; nothing about it is kept."""
        answer = self._get(
            url, etag=None, last_modified=None, allow=self.allow, timeout=self.timeout
        )
        _must_be_useful(answer, conditional=False)
        return answer.body

    def follower(self) -> FullText | None:
        """What makes articles of summaries, if that is wanted."""
        return FullText(self.page, self._recall) if self._follows else None

    def _recall(self, uid: str) -> tuple[str, str] | None:
        """The summary that was followed for a document, and the text that was found then."""
        if self._store is None:
            return None
        found = self._store().row(
            "SELECT v.metadata, v.body FROM documents d JOIN versions v ON v.document = d.id"
            " AND v.number = d.version WHERE d.uid = ?",
            [uid],
        )
        summary = None if found is None else json.loads(found[0]).get("summary")
        return (summary, found[1]) if found is not None and isinstance(summary, str) else None

    def _remember_failure(self, key: str, now: str, error: FeedError) -> None:
        if self._store is not None:
            wished = error.retry_after if isinstance(error, _RefusedError) else None
            subscriptions.record(
                self._store(), FeedState(key, now, error=str(error), retry_after=wished)
            )


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


_COUNTED = ("read", "new", "duplicate", "corrected", "rejected")


def update(
    wire: Wire,
    courier: Courier,
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
    subscribed = subscriptions.listed(wire.writer)
    feeds = subscribed if everything else subscriptions.due(subscribed, courier.now())
    night = _Night(wire.writer, courier, sources, watch)
    items = night.items(feeds)
    first = next(items, None)
    if first is None:
        return RunSummary(), night.reports
    plan = wire.workshop.plan("update", name=name)
    summary = wire.engine.ingest(itertools.chain([first], items), plan, night.saw)
    return summary, night.reports


class _Night:
    """One run over the feeds, with what came of each."""

    def __init__(
        self,
        store: Store,
        courier: Courier,
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
        for feed in self._courier.ahead(feeds):
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
