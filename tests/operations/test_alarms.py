"""Alarms: planted problems are reported, steady nights are not, and each alarm names a command."""

from __future__ import annotations

import random
import shlex
from dataclasses import replace
from datetime import date, timedelta

import pytest

from segapsith.cli.app import program
from segapsith.operations.alarms import MIN_NIGHTS, Alarm, Figures, alarms, band, merged

pytestmark = pytest.mark.slow

FEEDS = ("https://example.org/a", "https://example.org/b")


def night(number: int) -> str:
    return (date(2026, 1, 1) + timedelta(days=number)).isoformat()


def steady(n_nights: int, seed: int = 0, size: int = 200) -> list[Figures]:
    """Nights that differ by chance alone: each story and unit is drawn by itself."""
    draw = random.Random(seed)
    made = []
    for number in range(n_nights):
        stories = draw.randint(int(0.8 * size), int(1.2 * size))
        copies = sum(draw.random() < 0.1 for _ in range(stories))
        units = 2 * (stories - copies)
        created = sum(draw.random() < 0.2 for _ in range(units))
        french = sum(draw.random() < 0.3 for _ in range(stories - copies))
        made.append(
            Figures(
                night(number),
                new=stories - copies,
                copies=copies,
                joined=units - created,
                created=created,
                kappa=0.6 + draw.gauss(0, 0.015),
                languages={"en": stories - copies - french, "fr": french},
                feeds={FEEDS[0]: draw.randint(1, 9), FEEDS[1]: int(number % 3 == 0) * 4},
            )
        )
    return made


def alarm_names(nights: list[Figures], tonight: Figures) -> list[str]:
    return [alarm.name for alarm in alarms(tonight, nights)]


def test_steady_nights_are_quiet() -> None:
    """90 histories of 30 nights, the last 20 of each judged: hardly ever by chance."""
    false = judged = 0
    for seed in range(90):
        nights = steady(30, seed, size=(40, 200, 1000)[seed % 3])
        for place in range(10, 30):
            judged += 1
            false += bool(alarms(nights[place], nights[:place]))
    assert judged == 1800
    assert false <= 5  # 0.3 %: one morning in a year


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"kappa": 0.45}, "kappa"),
        ({"joined": 200, "created": 200}, "new-domains"),
        ({"joined": 400, "created": 2}, "new-domains"),
        ({"new": 100, "copies": 100}, "copies"),
        ({"languages": {"en": 20, "fr": 180}}, "languages"),
        ({"languages": {"en": 140, "fr": 0, "de": 60}}, "languages"),
    ],
)
def test_each_planted_problem_gives_its_own_alarm_alone(
    change: dict[str, object], name: str
) -> None:
    *nights, last = steady(15)
    assert alarm_names(nights, last) == []
    assert alarm_names(nights, replace(last, **change)) == [name]


def test_a_feed_is_silent_by_its_own_habit() -> None:
    nights = steady(24)
    after = [replace(f, feeds={FEEDS[0]: 0, FEEDS[1]: 0}) for f in steady(34)[24:]]
    first = {}
    for place, tonight in enumerate(after):
        for alarm in alarms(tonight, [*nights, *after[:place]]):
            first.setdefault(alarm.reason.split()[0], place)
    # the one speaks every night, the other every third (last at night 21, so 2 nights are gone)
    assert first == {FEEDS[0]: 2, FEEDS[1]: 2}


def test_a_feed_that_did_not_answer_is_not_called_silent() -> None:
    nights = steady(20)
    gone = [replace(f, feeds={FEEDS[1]: 1}) for f in steady(30)[20:]]
    back = replace(steady(31)[30], feeds={FEEDS[0]: 0, FEEDS[1]: 1})
    assert alarm_names([*nights, *gone], back) == []


def test_one_terrible_night_does_not_hide_the_next() -> None:
    nights = steady(14)
    nights[10] = replace(nights[10], kappa=0.05)
    assert alarm_names(nights[:14], replace(steady(15)[14], kappa=0.4)) == ["kappa"]


def test_few_nights_give_no_alarm() -> None:
    nights = steady(MIN_NIGHTS - 1)
    bad = replace(steady(MIN_NIGHTS)[-1], kappa=0.0, joined=0, created=500, copies=900)
    assert alarm_names(nights, bad) == []
    assert band([], 0.1) is None


def test_small_nights_have_no_shares() -> None:
    nights = steady(20)
    small = Figures(night(20), new=3, copies=9, joined=0, created=6, languages={"fr": 3})
    assert alarm_names(nights, small) == []


def test_a_new_level_becomes_the_usual_one() -> None:
    nights = steady(20)
    lower = [replace(f, kappa=(f.kappa or 0) - 0.2) for f in steady(60)[20:]]
    judged = [
        "kappa" in alarm_names([*nights, *lower[:place]], tonight)
        for place, tonight in enumerate(lower)
    ]
    assert judged[0] and not any(judged[-10:])


def test_two_runs_in_a_night_are_one_night() -> None:
    one = Figures("2026-01-01", 3, 1, 2, 1, 0.5, {"en": 3}, {"a": 1})
    two = Figures("2026-01-01", 4, 0, 3, 2, None, {"fr": 4}, {"a": 2, "b": 0})
    (both,) = merged([one, two])
    assert both == Figures("2026-01-01", 7, 1, 5, 3, 0.5, {"en": 3, "fr": 4}, {"a": 3, "b": 0})
    assert Figures.of({**both.as_json(), "later": 1}) == both


def test_every_alarm_names_a_command_that_exists() -> None:
    *nights, last = steady(15)
    bad = replace(
        last, kappa=0.1, joined=200, created=200, copies=900, languages={"fr": 200},
        feeds=dict.fromkeys(FEEDS, 0),
    )  # fmt: skip
    quiet = [replace(f, feeds={**f.feeds, FEEDS[0]: 0}) for f in nights[-3:]]
    made = alarms(bad, [*nights[:-3], *quiet], "my wire.db")
    assert {a.name for a in made} == {
        "kappa", "new-domains", "copies", "languages", "silent-feed",
    }  # fmt: skip
    assert [a.name for a in made if a.grave] == ["kappa"]
    commands = program(only_own=True).commands
    for alarm in made:
        assert isinstance(alarm, Alarm) and alarm.reason
        called, name, *rest = shlex.split(alarm.look)
        assert called == "segapsith"
        assert "my wire.db" in rest
        command = commands[name]
        command = getattr(command, "commands", {}).get(rest[0], command)
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= known


def test_new_domains_are_looked_for_by_the_run_before_the_night() -> None:
    *nights, last = steady(15)
    bad = replace(last, joined=200, created=200)
    (alarm,) = alarms(bad, nights, "wire.db", after_run=19)
    assert alarm.look == "segapsith domains --since 19 --store wire.db"
