"""Is this night like the others? Figures of a night against the band of the nights before it.

A band is the median of the last nights, give or take three deviations (the median absolute one,
which a single bad night does not widen), and never narrower than what chance alone would do to a
night of this size. With too few nights behind it, nothing is said.
"""

from __future__ import annotations

import itertools
import math
import shlex
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Alarm", "Band", "Figures", "alarms", "band", "merged"]

WINDOW = 28
"""Nights that a band looks back."""

LEAST = 7
"""Nights without which there is no habit."""

ENOUGH = 20
"""Stories or units without which a share says nothing."""

DEVIATIONS = 3.0
NORMAL = 1.4826
"""Median absolute deviations of a normal distribution in one standard deviation."""

KAPPA_FLOOR, NEW_FLOOR, COPIES_FLOOR, LANGUAGE_FLOOR = 0.05, 0.05, 0.10, 0.15
"""Half a band is at least so wide: smaller changes are not worth a person's morning."""

SILENT_LEAST = 2
"""Nights that any feed may be silent."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a night is judged by."""

    night: str
    """Its date."""
    new: int = 0
    copies: int = 0
    """Stories that repeat one from elsewhere; items that were delivered again are not counted."""
    joined: int = 0
    """Units that joined a domain."""
    created: int = 0
    """Units that founded one."""
    kappa: float | None = None
    languages: Mapping[str, int] = field(default_factory=dict)
    """New stories by language."""
    feeds: Mapping[str, int] = field(default_factory=dict)
    """New stories by feed, of the feeds that answered."""

    @property
    def placed(self) -> int:
        return self.joined + self.created

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Figures:
        """From JSON; what a later release may have added is left aside."""
        return cls(**{k: v for k, v in values.items() if k in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that a person should look at: why, and with which command."""

    name: str
    reason: str
    look: str
    grave: bool = False
    """Whether it alone gives exit code 76."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Band:
    """Where a figure usually lies."""

    low: float
    high: float
    middle: float


def band(values: Sequence[float], floor: float) -> Band | None:
    """The band of the last values, or None if they are too few.

    >>> band([0.6, 0.62, 0.58, 0.6, 0.61, 0.6, 0.59], 0.05)
    Band(low=0.55, high=0.65, middle=0.6)
    >>> band([0.6] * 6, 0.05) is None
    True
    """
    last = list(values)[-WINDOW:]
    if len(last) < LEAST:
        return None
    middle = statistics.median(last)
    spread = statistics.median(abs(value - middle) for value in last)
    width = max(DEVIATIONS * NORMAL * spread, floor)
    return Band(round(middle - width, 12), round(middle + width, 12), middle)


def merged(nights: Sequence[Figures]) -> list[Figures]:
    """One entry a date, in order: what was run twice in a night is one night."""
    by_date: dict[str, Figures] = {}
    for figures in nights:
        before = by_date.get(figures.night)
        by_date[figures.night] = figures if before is None else _sum(before, figures)
    return [by_date[night] for night in sorted(by_date)]


def _sum(one: Figures, other: Figures) -> Figures:
    return Figures(
        one.night,
        one.new + other.new,
        one.copies + other.copies,
        one.joined + other.joined,
        one.created + other.created,
        one.kappa if other.kappa is None else other.kappa,
        dict(Counter(one.languages) + Counter(other.languages)),
        {
            url: one.feeds.get(url, 0) + other.feeds.get(url, 0)
            for url in dict.fromkeys([*one.feeds, *other.feeds])
        },
    )


def alarms(
    tonight: Figures, before: Sequence[Figures], store: str = "", *, after_run: int | None = None
) -> list[Alarm]:
    """What is out of its band tonight; `store` goes into the commands to look closer with.

    `after_run` is the last run before the night: what arrived since can be listed by it whatever
    the dates of the stories are.
    """
    since = tonight.night if after_run is None else str(after_run)
    at = f" --store {shlex.quote(store)}" if store else ""
    past = [figures for figures in before if figures.night < tonight.night]
    return [
        *_kappa(tonight, past, at),
        *_new_domains(tonight, past, at, since),
        *_copies(tonight, past, at),
        *_languages(tonight, past, at),
        *_silent(tonight, past, at),
    ]


def _chance(share: float, size: int) -> float:
    """Four standard errors of a share among so many; a share of 0 is given half a case."""
    share = min(max(share, 0.5 / size), 1 - 0.5 / size)
    return 4 * math.sqrt(share * (1 - share) / size)


def _kappa(tonight: Figures, past: Sequence[Figures], at: str) -> Iterator[Alarm]:
    usual = band([f.kappa for f in past if f.kappa is not None], KAPPA_FLOOR)
    if usual is None or tonight.kappa is None or tonight.kappa >= usual.low:
        return
    yield Alarm(
        "kappa",
        (
            f"kappa {tonight.kappa:.3f} is below {usual.low:.3f}, the lower end of its band"
            f" (usually {usual.middle:.3f}): the domains agree less with a clustering of the same"
            " units"
        ),
        f"segapsith validate{at}",
        grave=True,
    )


def _share_band(shares: Sequence[float], size: int, floor: float) -> Band | None:
    """A band that is also as wide as chance makes a share among so many."""
    usual = band(shares, floor)
    return None if usual is None else band(shares, max(floor, _chance(usual.middle, size)))


def _new_domains(tonight: Figures, past: Sequence[Figures], at: str, since: str) -> Iterator[Alarm]:
    if tonight.placed < ENOUGH:
        return
    shares = [f.created / f.placed for f in past if f.placed >= ENOUGH]
    usual = _share_band(shares, tonight.placed, NEW_FLOOR)
    share = tonight.created / tonight.placed
    if usual is None or usual.low <= share <= usual.high:
        return
    high = share > usual.high
    yield Alarm(
        "new-domains",
        (
            f"{100 * share:.0f} % of the units founded a domain, usually"
            f" {100 * max(0.0, usual.low):.0f} to {100 * min(1.0, usual.high):.0f} %: "
            + ("another kind of text, or a parser that broke" if high else "little that is new")
        ),
        f"segapsith domains --since {since}{at}",
    )


def _copies(tonight: Figures, past: Sequence[Figures], at: str) -> Iterator[Alarm]:
    stories = tonight.new + tonight.copies
    if stories < ENOUGH:
        return
    shares = [f.copies / (f.new + f.copies) for f in past if f.new + f.copies >= ENOUGH]
    usual = _share_band(shares, stories, COPIES_FLOOR)
    share = tonight.copies / stories
    if usual is None or share <= usual.high:
        return
    yield Alarm(
        "copies",
        (
            f"{100 * share:.0f} % of the stories are copies of others, usually at most"
            f" {100 * usual.high:.0f} %: a feed that repeats itself under new ids, or one"
            " subscribed to twice"
        ),
        f"segapsith export --to jsonl --what documents{at}",
    )


def _mix(languages: Mapping[str, int]) -> dict[str, float]:
    total = sum(languages.values())
    return {lang: n / total for lang, n in languages.items() if n}


def _distance(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Total variation: the share that would have to change its language."""
    return sum(abs(one.get(k, 0.0) - other.get(k, 0.0)) for k in {*one, *other}) / 2


def _languages(tonight: Figures, past: Sequence[Figures], at: str) -> Iterator[Alarm]:
    size = sum(tonight.languages.values())
    known = [f.languages for f in past if sum(f.languages.values()) >= ENOUGH][-WINDOW:]
    if size < ENOUGH or len(known) < LEAST:
        return
    usual = _mix(dict(sum((Counter(languages) for languages in known), Counter())))
    distances = [_distance(_mix(languages), usual) for languages in known]
    chance = sum(_chance(share, size) for share in usual.values()) / 2
    limit = band(distances, max(LANGUAGE_FLOOR, chance))
    mix = _mix(tonight.languages)
    if limit is None or _distance(mix, usual) <= limit.high:
        return
    yield Alarm(
        "languages",
        f"the languages are {_shown(mix)}, usually {_shown(usual)}: a feed changed its language,"
        " or its language is no longer recognised",
        f"segapsith feeds list{at}",
    )


def _shown(mix: Mapping[str, float]) -> str:
    """
    >>> _shown({"fr": 0.2, "en": 0.8})
    'en 80 %, fr 20 %'
    """
    return ", ".join(f"{k} {100 * v:.0f} %" for k, v in sorted(mix.items(), key=lambda e: -e[1]))


def _silent(tonight: Figures, past: Sequence[Figures], at: str) -> Iterator[Alarm]:
    """A feed's habit is the longest silence between two nights in which it brought something."""
    for url, new in tonight.feeds.items():
        brought = [f.feeds[url] > 0 for f in past if url in f.feeds]
        spoke = [place for place, some in enumerate(brought) if some][-WINDOW:]
        if new or len(spoke) < LEAST:
            continue
        habit = max(b - a for a, b in itertools.pairwise(spoke)) - 1
        silent = len(brought) - spoke[-1]
        if silent <= max(SILENT_LEAST, 2 * habit):
            continue
        yield Alarm(
            "silent-feed",
            (
                f"{url} answers but has brought nothing new for {silent} nights; it was never"
                f" silent for more than {habit} before"
            ),
            f"segapsith feeds list{at}",
        )
