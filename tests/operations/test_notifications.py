"""Notifications: queued with the record of the night, sent once, tried again, never lost."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import DeliveryError, UncertainDeliveryError
from segapsith.model import Notice
from segapsith.operations import doctor
from segapsith.operations.nightly import STEPS
from segapsith.operations.notifications import deliver
from segapsith.plugin.registry import load_plugins
from segapsith.settings import NOTICE_KINDS, NotifyTarget
from segapsith_store import Store, notifications

pytestmark = pytest.mark.slow

ITEMS = sample.lines("en")
KINDS = tuple(kind for kind in NOTICE_KINDS if kind != "search")


class Post:
    """A notifier that remembers what it was given, and fails when it is asked to."""

    sent: list[list[Notice]]
    error: BaseException | None

    def send(self, notices: Sequence[Notice]) -> None:
        if type(self).error is not None:
            raise type(self).error
        type(self).sent.append(list(notices))


@pytest.fixture
def post(monkeypatch: pytest.MonkeyPatch, house: Any) -> type[Post]:
    Post.sent, Post.error = [], None

    class Plugin:
        @staticmethod
        def register_notifiers() -> dict[str, type[Post]]:
            return {"post": Post}

    from segapsith import hookimpl

    Plugin.register_notifiers = staticmethod(hookimpl(Plugin.register_notifiers))  # type: ignore[method-assign]
    registry = load_plugins(Plugin())
    monkeypatch.setattr(Wire, "registry", property(lambda _: registry))
    house.notify = (NotifyTarget("desk", "post", KINDS),)
    return Post


def keys(post: type[Post]) -> list[str]:
    return [notice.key for sent in post.sent for notice in sent]


def backlog(house: Any) -> list[tuple[str, str, int]]:
    with Store.reading(house.path) as store:
        return [(one.target, one.status, one.notices) for one in notifications.backlog(store)]


def test_a_night_reports_what_is_new_in_one_delivery(house: Any, post: type[Post]) -> None:
    house.drop("a.jsonl", ITEMS[:60])
    night = house.night()
    assert night.code == 0 and len(post.sent) == 1
    found = {notice.kind for notice in post.sent[0]}
    assert {"new-section", "new-topic", "new-domain"} <= found
    assert f"{len(post.sent[0])} notices sent" in night.line
    assert backlog(house) == []


def test_nothing_is_reported_twice(house: Any, post: type[Post]) -> None:
    house.drop("a.jsonl", ITEMS[:40])
    house.night()
    first = keys(post)
    house.night()
    house.drop("b.jsonl", ITEMS[40:120])
    house.night()
    assert len(set(keys(post))) == len(keys(post)) > len(first) > 0


def test_what_could_not_be_sent_is_listed_and_sent_the_next_night(
    house: Any, post: type[Post]
) -> None:
    house.drop("a.jsonl", ITEMS[:40])
    post.error = DeliveryError("no network")
    night = house.night()
    assert night.code == 69 and "no network" in night.line
    ((target, status, number),) = backlog(house)
    assert (target, status) == ("desk", "waiting") and number > 0
    with house.open() as wire:
        (finding,) = [one for one in doctor.examine(wire) if one.what == "notify"]
    assert finding.state == "note" and "tried 1 times" in finding.text
    post.error = None
    house.night()
    assert len(keys(post)) >= number and backlog(house) == []


@pytest.mark.parametrize("error", [UncertainDeliveryError("cut off"), KeyboardInterrupt()])
def test_what_may_have_arrived_is_not_sent_again(
    house: Any, post: type[Post], error: BaseException
) -> None:
    house.drop("a.jsonl", ITEMS[:40])
    post.error = error
    if isinstance(error, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            house.night()
        house.pass_day()
    else:
        assert house.night().code == 69
    post.error = None
    house.night()
    ((_, status, number),) = backlog(house)
    assert status == "uncertain" and number > 0
    assert not any(key.startswith("new-domain/") for key in keys(post))
    with house.open() as wire:
        assert notifications.drop(wire.writer, "desk") == number
    assert backlog(house) == []


def test_a_night_that_was_cut_short_is_reported_by_the_next(house: Any, post: type[Post]) -> None:
    house.drop("a.jsonl", ITEMS[:20])
    house.night()
    before = len(keys(post))
    house.drop("b.jsonl", ITEMS[20:80])
    names = [step.name for step in STEPS]
    with house.open() as wire:  # killed after the feeds: no record was stored
        from segapsith.operations.nightly import NightlyRun, _run_step

        night = NightlyRun(wire, now=lambda: house.date)
        for step in STEPS[: names.index("feeds") + 1]:
            _run_step(step, night)
    house.pass_day()
    house.night()
    assert sum(key.startswith("new-domain/") for key in keys(post)[before:]) > 0


def test_the_queue_is_written_with_the_record_of_the_night(house: Any, post: type[Post]) -> None:
    house.drop("a.jsonl", ITEMS[:40])
    house.night(tuple(step for step in STEPS if step.name != "notify"))
    ((_, status, number),) = backlog(house)
    assert status == "waiting" and number > 0 and post.sent == []
    with house.open() as wire:
        assert deliver(wire, lambda: house.date).sent == {"desk": number}
        texts = wire.writer.rows("SELECT notice FROM notifications")
        assert {text for (text,) in texts} == {"{}"}


def test_a_failed_night_and_a_saved_search_are_reported(house: Any, post: type[Post]) -> None:
    word = max(ITEMS[0]["text"].split(), key=len).strip(".,")
    house.notify = (
        NotifyTarget("desk", "post", ("failure",)),
        NotifyTarget("watch", "post", ("search",), word),
    )
    house.drop("a.jsonl", ITEMS[:30])
    (Path(house.folder) / "inbox" / "b.xyz").write_bytes(b"")
    night = house.night()
    assert night.code == 65
    (failure,) = [n for sent in post.sent for n in sent if n.kind == "failure"]
    (search,) = [n for sent in post.sent for n in sent if n.kind == "search"]
    assert "b.xyz" in failure.text and word in search.title and search.details["total"] > 0
    house.night()
    assert sum(key.startswith("search/") for key in keys(post)) == 1
