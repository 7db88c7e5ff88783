"""What a night reports and to whom: collect notices, and send what is queued.

A notice is queued in the transaction that stores the record of its night (`NightlyRun.store_record`).
It is marked before it is sent and afterwards, so that nothing is sent twice.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from segapsith.api.wire import Wire
from segapsith.errors import (
    ConfigurationError,
    DeliveryError,
    PluginTimeoutError,
    SegapsithError,
    UncertainDeliveryError,
)
from segapsith.model import Notice
from segapsith.operations.alarms import Alarm
from segapsith.plugin.guards import GuardedNotifier
from segapsith.settings import NotifyTarget
from segapsith_store import Store, notifications
from segapsith_store.notifications import Queued
from segapsith_store.queries import nights
from segapsith_store.queries.browsing.story_search import StoryQuery
from segapsith_store.queries.news import Highlight, read_highlights
from segapsith_store.queries.sections import section_labels
from segapsith_store.queries.topics import section_of_topic, topic_labels, topic_of_domain

__all__ = [
    "Delivery",
    "Occasion",
    "collect",
    "deliver",
    "failure_notice",
    "notified_run",
    "send_test",
]

log = logging.getLogger("segapsith.operations.notifications")
log.addHandler(logging.NullHandler())

MOST = 10
"""Sections, topics, new and rising domains of a night that are reported, of each kind."""

MOST_HEADLINES = 5
"""Stories of a saved search that are named."""

MOST_TOGETHER = 50
"""Notices of one delivery."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """A night: its date, its moment, and the last run that earlier nights have reported."""

    night: str
    at: str
    after: int
    alarms: Sequence[Alarm] = ()


@dataclass(slots=True)
class Delivery:
    """What was sent, by target, and what failed."""

    sent: dict[str, int] = field(default_factory=dict)
    failures: list[SegapsithError] = field(default_factory=list)


def notified_run(store: Store, previous_run: int) -> int:
    """Return the last run that a night has reported; `previous_run` if no night has.

    A night that was cut short before it stored its record has reported nothing.
    """
    reported = (night.result.get("last_run") for night in nights.listed(store))
    return next((int(run) for run in reported if run is not None), previous_run)


# -- what to report ------------------------------------------------------------------------------


def collect(wire: Wire, occasion: Occasion) -> tuple[list[Queued], list[SegapsithError]]:
    """Return the notices of a night for each target, and saved searches that cannot be read."""
    targets = wire.settings.notify
    kinds = {kind for target in targets for kind in target.on}
    with wire.reading() as store:
        common = list(_common(store, occasion, kinds)) if targets else []
        queued = [
            Queued(target.name, notice)
            for target in targets
            for notice in common
            if notice.kind in target.on
        ]
        failures: list[SegapsithError] = []
        for target in targets:
            if target.search:
                try:
                    matches = _search(wire, target, occasion)
                except SegapsithError as error:
                    text = f"[[notify]] {target.name!r}: search = {target.search!r}: {error}"
                    failures.append(ConfigurationError(text, setting="notify"))
                else:
                    queued += [Queued(target.name, notice) for notice in matches]
    return queued, failures


def _common(store: Store, occasion: Occasion, kinds: set[str]) -> Iterator[Notice]:
    """Yield the notices that are the same for every target."""
    for alarm in occasion.alarms if "alarm" in kinds else ():
        mark = hashlib.sha256(alarm.reason.encode()).hexdigest()[:12]
        yield Notice(
            f"alarm/{occasion.night}/{alarm.name}/{mark}",
            "alarm",
            f"Alarm {alarm.name}: {alarm.reason}",
            f"Look closer with: {alarm.look}",
            occasion.at,
            alarm.as_json(),
        )
    yield from _groups(store, occasion, kinds)
    if kinds & {"new-domain", "rising"}:
        highlights = read_highlights(store, occasion.after, MOST)
        for domain in highlights.new if "new-domain" in kinds else ():
            yield _of_domain(occasion, "new-domain", f"new-domain/{domain.id}", domain)
        for domain in highlights.rising if "rising" in kinds else ():
            yield _of_domain(occasion, "rising", f"rising/{occasion.night}/{domain.id}", domain)


def _groups(store: Store, occasion: Occasion, kinds: set[str]) -> Iterator[Notice]:
    """Yield the new sections and topics that have domains."""
    if "new-section" in kinds:
        present, labels = set(section_of_topic(store).values()), dict(section_labels(store))
        made = notifications.new_groups(store, "sections", occasion.after)
        for number in [one for one in made if one in present][:MOST]:
            yield _of_group(occasion, "section", number, labels[number])
    if "new-topic" in kinds:
        made = notifications.new_groups(store, "topics", occasion.after)
        of_domain = set(topic_of_domain(store).values())
        numbers = [one for one in made if one in of_domain][:MOST]
        for number, label in sorted(topic_labels(store, numbers).items()):
            yield _of_group(occasion, "topic", number, label)


def _of_group(occasion: Occasion, kind: str, number: int, label: str) -> Notice:
    return Notice(
        f"new-{kind}/{number}",
        f"new-{kind}",
        f"New {kind}: {label}",
        f"segapsith {kind}s lists it as {number}.",
        occasion.at,
        {"id": number, "label": label},
    )


def _of_domain(occasion: Occasion, kind: str, key: str, domain: Highlight) -> Notice:
    word = "New domain" if kind == "new-domain" else "Rising"
    before = f", {domain.before} before" if domain.before else ""
    units = f"{domain.units} unit{'' if domain.units == 1 else 's'}"
    return Notice(
        key,
        kind,
        f"{word}: {domain.headline}",
        f"{', '.join(domain.words)}. {units}{before}; segapsith show {domain.id}",
        occasion.at,
        domain.as_json(),
    )


def _search(wire: Wire, target: NotifyTarget, occasion: Occasion) -> list[Notice]:
    """Return a notice if stories that came since match the search of a target."""
    with wire.reading() as store:
        first, last = nights.documents_after(store, occasion.after)
        if not last:
            return []
        query = StoryQuery(target.search, newest=True)
        hits = wire.browse.search(query, after=first - 1, limit=MOST_HEADLINES)
    if not hits.total:
        return []
    words = "story matches" if hits.total == 1 else "stories match"
    more = [f"and {hits.total - MOST_HEADLINES} more"] if hits.total > MOST_HEADLINES else []
    titles = [story.title or story.id for story in hits.stories]
    mark = hashlib.sha256(target.search.encode()).hexdigest()[:12]
    return [
        Notice(
            f"search/{mark}/{last}",
            "search",
            f"{hits.total} new {words} “{target.search}”",
            "\n".join([*titles, *more]),
            occasion.at,
            {"search": target.search, "total": hits.total, "ids": [s.id for s in hits.stories]},
        )
    ]


def failure_notice(targets: Sequence[NotifyTarget], notice: Notice) -> list[Queued]:
    """Return the notice of a failed night for the targets that want it."""
    return [Queued(target.name, notice) for target in targets if notice.kind in target.on]


# -- sending -------------------------------------------------------------------------------------


def deliver(wire: Wire, now: Callable[[], str]) -> Delivery:
    """Send what waits, target by target; a failure of one does not stop the others."""
    store, done = wire.writer, Delivery()
    notifications.give_up_interrupted(store)
    for target in wire.settings.notify:
        while waiting := notifications.waiting(store, target.name, MOST_TOGETHER):
            numbers = [one.id for one in waiting]
            notifications.begin_sending(store, numbers)
            failure = _sent(wire, target, [one.notice for one in waiting])
            if failure is None:
                notifications.end_sending(store, numbers, "sent", at=now())
                done.sent[target.name] = done.sent.get(target.name, 0) + len(numbers)
                continue
            uncertain = isinstance(failure, UncertainDeliveryError | PluginTimeoutError)
            status = "uncertain" if uncertain else "waiting"
            notifications.end_sending(store, numbers, status, error=str(failure))
            done.failures.append(failure)
            break
    return done


def send_test(wire: Wire, target: NotifyTarget, at: str) -> SegapsithError | None:
    """Send a test notice to a target, without the queue; return the error if that fails."""
    notice = Notice(
        f"test/{at}",
        "test",
        "Test of notifications",
        f"This target is called {target.name!r} and gets: {', '.join(target.on)}.",
        at,
        {"target": target.name},
    )
    return _sent(wire, target, [notice])


def _sent(wire: Wire, target: NotifyTarget, notices: Sequence[Notice]) -> SegapsithError | None:
    """Send notices to a target; return the error if that fails."""
    try:
        _made(wire, target).send(notices)
    except SegapsithError as error:
        log.debug("target %s", target.name, exc_info=error)
        kind = type(error) if isinstance(error, DeliveryError) else None
        text = f"notify {target.name!r}: {error}"
        if kind is not None:
            return kind(text)
        error.args = (text,)
        return error
    return None


def _made(wire: Wire, target: NotifyTarget) -> GuardedNotifier:
    """Make the notifier of a target; it gets the permitted hosts if it can use them."""
    registry, http = wire.registry, wire.settings.http
    shared = {"allow_hosts": http.allow_hosts, "timeout": http.timeout}
    known = registry.settings("notifier", target.to)
    given = {name: value for name, value in shared.items() if name in known}
    made: GuardedNotifier = registry.make("notifier", target.to, {**given, **target.settings})
    return made
