"""Alarms: compare the figures of a night with the band of the nights before it.

A band is the median of the last nights, plus or minus three median absolute deviations, which a
single bad night does not widen. It is never narrower than what chance alone does to a night of this
size. With too few earlier nights there is no band and no alarm.
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
"""Number of nights that a band is computed from."""

MIN_NIGHTS = 7
"""Number of earlier nights below which there is no band."""

MIN_CASES = 20
"""Number of stories or units below which a share is not judged."""

DEVIATIONS = 3.0
"""Half the width of a band, in standard deviations."""

DEVIATION_PER_MAD = 1.4826
"""Standard deviation of a normal distribution, in median absolute deviations."""

MIN_KAPPA_WIDTH, MIN_NEW_WIDTH, MIN_COPIES_WIDTH, MIN_LANGUAGE_WIDTH = 0.05, 0.05, 0.10, 0.15
"""Half the width of a band at least: smaller changes do not deserve attention."""

MIN_SILENT_NIGHTS = 2
"""Number of nights that any feed may be silent."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The counts of a night that alarms compare."""

    night: str
    """The date of the night."""
    new: int = 0
    copies: int = 0
    """Near-duplicates of other stories; items that were delivered again are not counted."""
    joined: int = 0
    """Units that joined a domain."""
    created: int = 0
    """Units that started a new domain."""
    kappa: float | None = None
    languages: Mapping[str, int] = field(default_factory=dict)
    """New stories by language."""
    feeds: Mapping[str, int] = field(default_factory=dict)
    """New stories by feed, of the feeds that answered."""

    @property
    def placed(self) -> int:
        """Units that joined or started a domain."""
        return self.joined + self.created

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Figures:
        """Return figures read from JSON; fields of a later release are ignored."""
        return cls(**{k: v for k, v in values.items() if k in cls.__dataclass_fields__})


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that needs attention: the reason, and the command that shows the cause."""

    name: str
    reason: str
    look: str
    grave: bool = False
    """Whether this alarm alone gives exit code 76."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Band:
    """The usual range of a figure."""

    low: float
    high: float
    middle: float


def band(values: Sequence[float], min_width: float) -> Band | None:
    """Return the band of the last values, or None if they are too few.

    `min_width` is the least half width.

    >>> band([0.6, 0.62, 0.58, 0.6, 0.61, 0.6, 0.59], 0.05)
    Band(low=0.55, high=0.65, middle=0.6)
    >>> band([0.6] * 6, 0.05) is None
    True
    """
    last = list(values)[-WINDOW:]
    if len(last) < MIN_NIGHTS:
        return None
    middle = statistics.median(last)
    spread = statistics.median(abs(value - middle) for value in last)
    width = max(DEVIATIONS * DEVIATION_PER_MAD * spread, min_width)
    return Band(round(middle - width, 12), round(middle + width, 12), middle)


def merged(nights: Sequence[Figures]) -> list[Figures]:
    """Return one entry per date, in order: two runs on a date count as one night."""
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
    """Return the alarms of a night; the commands that they name use `store`.

    `after_run` is the last run before the night. It selects what arrived since, whatever the dates
    of the stories are.
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
    """Return four standard errors of a share of `size` cases; a share of 0 counts as half a case."""
    share = min(max(share, 0.5 / size), 1 - 0.5 / size)
    return 4 * math.sqrt(share * (1 - share) / size)


def _kappa(tonight: Figures, past: Sequence[Figures], at: str) -> Iterator[Alarm]:
    usual = band([f.kappa for f in past if f.kappa is not None], MIN_KAPPA_WIDTH)
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


def _share_band(shares: Sequence[float], size: int, min_width: float) -> Band | None:
    """Return a band that is at least as wide as chance makes a share of `size` cases."""
    usual = band(shares, min_width)
    return None if usual is None else band(shares, max(min_width, _chance(usual.middle, size)))


def _new_domains(tonight: Figures, past: Sequence[Figures], at: str, since: str) -> Iterator[Alarm]:
    if tonight.placed < MIN_CASES:
        return
    shares = [f.created / f.placed for f in past if f.placed >= MIN_CASES]
    usual = _share_band(shares, tonight.placed, MIN_NEW_WIDTH)
    share = tonight.created / tonight.placed
    if usual is None or usual.low <= share <= usual.high:
        return
    high = share > usual.high
    yield Alarm(
        "new-domains",
        (
            f"{100 * share:.0f} % of the units started a domain, usually"
            f" {100 * max(0.0, usual.low):.0f} to {100 * min(1.0, usual.high):.0f} %: "
            + ("another kind of text, or a broken parser" if high else "little that is new")
        ),
        f"segapsith domains --since {since}{at}",
    )


def _copies(tonight: Figures, past: Sequence[Figures], at: str) -> Iterator[Alarm]:
    stories = tonight.new + tonight.copies
    if stories < MIN_CASES:
        return
    shares = [f.copies / (f.new + f.copies) for f in past if f.new + f.copies >= MIN_CASES]
    usual = _share_band(shares, stories, MIN_COPIES_WIDTH)
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
    """Return the total variation: the share of stories that would have to change language."""
    return sum(abs(one.get(k, 0.0) - other.get(k, 0.0)) for k in {*one, *other}) / 2


def _languages(tonight: Figures, past: Sequence[Figures], at: str) -> Iterator[Alarm]:
    size = sum(tonight.languages.values())
    earlier = [f.languages for f in past if sum(f.languages.values()) >= MIN_CASES][-WINDOW:]
    if size < MIN_CASES or len(earlier) < MIN_NIGHTS:
        return
    usual = _mix(dict(sum((Counter(languages) for languages in earlier), Counter())))
    distances = [_distance(_mix(languages), usual) for languages in earlier]
    chance = sum(_chance(share, size) for share in usual.values()) / 2
    limit = band(distances, max(MIN_LANGUAGE_WIDTH, chance))
    mix = _mix(tonight.languages)
    if limit is None or _distance(mix, usual) <= limit.high:
        return
    yield Alarm(
        "languages",
        f"the languages are {_describe(mix)}, usually {_describe(usual)}: a feed changed its language,"
        " or its language is no longer recognised",
        f"segapsith feeds list{at}",
    )


def _describe(mix: Mapping[str, float]) -> str:
    """Return the shares in words, the largest first.

    >>> _describe({"fr": 0.2, "en": 0.8})
    'en 80 %, fr 20 %'
    """
    return ", ".join(f"{k} {100 * v:.0f} %" for k, v in sorted(mix.items(), key=lambda e: -e[1]))


def _silent(tonight: Figures, past: Sequence[Figures], at: str) -> Iterator[Alarm]:
    """Yield the feeds that are silent for more than twice their longest silence so far."""
    for url, new in tonight.feeds.items():
        had_news = [f.feeds[url] > 0 for f in past if url in f.feeds]
        nights = [night for night, news in enumerate(had_news) if news][-WINDOW:]
        if new or len(nights) < MIN_NIGHTS:
            continue
        longest = max(b - a for a, b in itertools.pairwise(nights)) - 1
        silent = len(had_news) - nights[-1]
        if silent <= max(MIN_SILENT_NIGHTS, 2 * longest):
            continue
        yield Alarm(
            "silent-feed",
            (
                f"{url} answers but has brought nothing new for {silent} nights; it was never"
                f" silent for more than {longest} before"
            ),
            f"segapsith feeds list{at}",
        )
