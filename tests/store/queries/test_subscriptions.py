"""Feeds as the store keeps them: validators with their stories, and a pace that fits."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.engine.records import Update
from segapsith.model import Document, FeedState, Reject
from segapsith_store import Store, feed_states
from segapsith_store.feed_states import FIRST, LONGEST, LONGEST_WAIT, SHORTEST, later
from segapsith_store.queries import subscriptions

URL = "https://example.org/wire"
NOW = "2026-03-02T06:00:00+00:00"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.writing(tmp_path / "wire.db") as made:
        yield made


def kept(store: Store, url: str = URL) -> subscriptions.Feed:
    found = subscriptions.find(store, url)
    assert found is not None
    return found


def test_subscribing_twice_changes_nothing_but_a_title(store: Store) -> None:
    assert subscriptions.add(store, URL, "Wire")
    assert not subscriptions.add(store, URL)
    assert [(f.url, f.title) for f in subscriptions.listed(store)] == [(URL, "Wire")]
    subscriptions.add(store, URL, "The wire")
    assert kept(store).title == "The wire"


def test_subscriptions_stay_in_their_order(store: Store) -> None:
    urls = [f"{URL}/{name}" for name in "cab"]
    for url in urls:
        subscriptions.add(store, url)
    assert [f.url for f in subscriptions.listed(store)] == urls
    assert subscriptions.remove(store, urls[0])
    assert not subscriptions.remove(store, urls[0])
    subscriptions.add(store, urls[0])
    assert [f.url for f in subscriptions.listed(store)] == [*urls[1:], urls[0]]


def test_a_new_subscription_is_due_at_once(store: Store) -> None:
    subscriptions.add(store, URL)
    assert subscriptions.due(subscriptions.listed(store), NOW)


def test_news_shorten_the_interval_and_silence_lengthens_it(store: Store) -> None:
    subscriptions.add(store, URL)
    subscriptions.record(store, FeedState(URL, NOW, "e", "m", new=3))
    feed = kept(store)
    assert (feed.etag, feed.last_modified, feed.checked_at) == ("e", "m", NOW)
    assert (feed.interval, feed.last_new_at) == (FIRST // 2, NOW)
    assert feed.next_check_at == later(NOW, FIRST // 2)
    then = later(NOW, 10)
    subscriptions.record(store, FeedState(URL, then, "e", "m"))
    assert kept(store).interval == FIRST // 2 * 3 // 2
    assert kept(store).last_new_at == NOW
    for _ in range(20):
        subscriptions.record(store, FeedState(URL, then))
    assert kept(store).interval == LONGEST
    for _ in range(20):
        subscriptions.record(store, FeedState(URL, then, new=1))
    assert kept(store).interval == SHORTEST


def test_the_longest_interval_lets_a_nightly_run_find_every_feed_due() -> None:
    assert later(NOW, LONGEST) < later(NOW, 23 * 3600)


def test_a_failure_keeps_the_validators_and_waits_longer_each_time(store: Store) -> None:
    subscriptions.add(store, URL)
    subscriptions.record(store, FeedState(URL, NOW, "e", "m"))
    pauses = []
    for number in range(1, 12):
        subscriptions.record(store, FeedState(URL, NOW, error="no answer " * 200))
        feed = kept(store)
        assert (feed.etag, feed.last_modified, feed.failures) == ("e", "m", number)
        assert feed.error.startswith("no answer")
        assert len(feed.error) <= feed_states.MAX_ERROR_CHARS
        pauses.append(str(feed.next_check_at))
    assert pauses == sorted(pauses)
    assert pauses[-1] == later(NOW, LONGEST)
    subscriptions.record(store, FeedState(URL, NOW, "e", "m"))
    assert (kept(store).failures, kept(store).error) == (0, "")


def test_what_a_server_asks_for_is_kept_within_reason(store: Store) -> None:
    subscriptions.add(store, URL)
    for wished, held in ((90_000, 90_000), (10**9, LONGEST_WAIT)):
        subscriptions.record(store, FeedState(URL, NOW, error="429", retry_after=wished))
        feed = kept(store)
        assert feed.retry_at == feed.next_check_at == later(NOW, held)
        assert subscriptions.waits(feed, later(NOW, held - 1))
        assert not subscriptions.waits(feed, later(NOW, held))
        assert subscriptions.due([feed], later(NOW, held - 1)) == []
        assert subscriptions.due([feed], later(NOW, held)) == [feed]
    subscriptions.record(store, FeedState(URL, NOW, "e"))
    assert kept(store).retry_at is None


def test_addresses_that_are_only_ingested_are_remembered_but_not_listed(store: Store) -> None:
    subscriptions.record(store, FeedState(URL, NOW, error="no answer"))
    assert subscriptions.find(store, URL) is None
    subscriptions.record(store, FeedState(URL, NOW, "e"))
    assert kept(store).etag == "e"
    assert subscriptions.listed(store) == []
    assert not subscriptions.remove(store, URL)
    assert subscriptions.add(store, URL)
    assert kept(store).etag == "e"


# -- together with the stories ---------------------------------------------------------------


def stories(n: int) -> list[Document | Reject]:
    return [
        Document(f"{URL}#{i}", body=f"The river number {i} rose and flooded the town.")
        for i in range(n)
    ]


@pytest.mark.slow
def test_validators_come_with_the_last_batch(
    open_wire: Callable[..., Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    wire = open_wire(batch_size=4)
    batches: list[tuple[int, FeedState | None]] = []
    save = Store.save

    def watched(store: Store, batch: Update) -> None:
        batches.append((len(batch.documents), batch.feed))
        save(store, batch)

    monkeypatch.setattr(Store, "save", watched)
    state = FeedState(URL, NOW, "e", "m")
    wire.engine.ingest([*stories(6), state, *stories(9)[6:]], wire.factory.plan())
    assert [n for n, _ in batches] == [4, 2, 3]
    assert [feed for _, feed in batches] == [None, FeedState(URL, NOW, "e", "m", new=2 + 4), None]
    assert kept(wire.writer).etag == "e"
    assert subscriptions.items(wire.writer, URL) == 9
    assert wire.verify().sound


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["versions", "feeds"])
def test_stories_and_validators_are_kept_together_or_not_at_all(
    open_wire: Callable[..., Wire], broken: str
) -> None:
    wire = open_wire()
    subscriptions.add(wire.writer, URL)
    event = {"versions": "INSERT ON versions", "feeds": "UPDATE ON feeds"}[broken]
    wire.writer.change(
        lambda c: (
            c.execute(
                f"CREATE TRIGGER broken BEFORE {event} BEGIN SELECT raise(ABORT, 'no'); END"
            ).rowcount
        )
    )
    items: list[Any] = [*stories(3), FeedState(URL, NOW, "e", "m")]
    with pytest.raises(sqlite3.IntegrityError):
        wire.engine.ingest(items)
    assert wire.writer.number("SELECT count(*) FROM documents") == 0
    assert kept(wire.writer).etag is None
    wire.writer.change(lambda c: c.execute("DROP TRIGGER broken").rowcount)
    assert wire.engine.ingest(items).new == 3
    assert kept(wire.writer).etag == "e"


def test_undoing_a_run_makes_its_feeds_wanted_again(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire()
    subscriptions.add(wire.writer, URL)
    wire.engine.ingest([*stories(3), FeedState(URL, NOW, "e", "m")])
    wire.runs.undo()
    feed = kept(wire.writer)
    assert feed.etag is feed.last_modified is feed.next_check_at is None
    assert wire.verify().sound


def test_feeds_do_not_enter_the_digest(open_wire: Callable[..., Wire]) -> None:
    with_feed, without = open_wire("a.db"), open_wire("b.db")
    with_feed.engine.ingest([*stories(5)[:2], FeedState(URL, NOW, "e"), *stories(5)[2:]])
    without.engine.ingest(stories(5))
    assert with_feed.status()["digest"] == without.status()["digest"]
