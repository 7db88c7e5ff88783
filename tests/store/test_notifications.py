"""The queue: each key once for a target, texts only as long as they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from segapsith.model import Notice
from segapsith_store import Store, notifications
from segapsith_store.notifications import Queued


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.writing(tmp_path / "wire.db") as opened:
        yield opened


def queue(store: Store, *keys: str, target: str = "desk") -> None:
    entries = [
        Queued(target, Notice(key, "alarm", f"title {key}", at="2026-03-02")) for key in keys
    ]
    store.change(lambda c: notifications.queue(c, entries) or 0)


def keys(store: Store, target: str = "desk") -> list[str]:
    return [one.notice.key for one in notifications.waiting(store, target, 10)]


def test_a_key_is_queued_once_for_each_target(store: Store) -> None:
    queue(store, "a", "b")
    queue(store, "b", "c")
    queue(store, "a", target="other")
    assert keys(store) == ["a", "b", "c"] and keys(store, "other") == ["a"]
    assert [one.notice.key for one in notifications.waiting(store, "desk", 2)] == ["a", "b"]


def test_what_was_sent_has_no_text_and_is_not_queued_again(store: Store) -> None:
    queue(store, "a")
    (one,) = notifications.waiting(store, "desk", 10)
    notifications.begin_sending(store, [one.id])
    assert keys(store) == []
    notifications.end_sending(store, [one.id], "sent", at="2026-03-03")
    queue(store, "a")
    assert keys(store) == [] and notifications.backlog(store) == []
    assert list(store.rows("SELECT notice, attempts FROM notifications")) == [("{}", 1)]


def test_what_was_interrupted_is_uncertain_and_what_failed_waits(store: Store) -> None:
    queue(store, "a", "b")
    first, second = notifications.waiting(store, "desk", 10)
    notifications.begin_sending(store, [first.id, second.id])
    notifications.end_sending(store, [second.id], "waiting", error="no network")
    assert notifications.give_up_interrupted(store) == 1
    assert keys(store) == ["b"]
    left = {one.status: one for one in notifications.backlog(store)}
    assert left["waiting"].error == "no network" and "may have arrived" in left["uncertain"].error
    assert notifications.drop(store, "other") == 0 and notifications.drop(store) == 2
    assert notifications.backlog(store) == []


def test_a_transaction_that_fails_queues_nothing(store: Store) -> None:
    def write(connection: object) -> int:
        notifications.queue(connection, [Queued("desk", Notice("a", "alarm", "t"))])  # type: ignore[arg-type]
        raise KeyError

    with pytest.raises(KeyError):
        store.change(write)
    assert keys(store) == []
