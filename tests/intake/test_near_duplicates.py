"""Copies: found whatever was done to them, and never a story of its own.

The labelled set is made from real wires by cutting, editing and interleaving (`labelled`);
`scripts/bench_copies.py` prints its table. Without the evaluation data a small one is written here.
"""

from __future__ import annotations

import gzip
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.errors import StorageError
from segapsith.intake import near_duplicates
from segapsith.intake.fingerprints import (
    CORRECTION,
    Signature,
    decide,
    keys,
    signature,
)
from segapsith.intake.near_duplicates import Window

# -- the labelled set ------------------------------------------------------------------------


@dataclass(frozen=True)
class Story:
    """A story of the wire: paragraphs under a headline."""

    title: str
    paragraphs: tuple[str, ...]
    day: str = ""

    @property
    def text(self) -> str:
        return f"{self.title}\n\n" + "\n".join(self.paragraphs)

    @property
    def n_words(self) -> int:
        return sum(len(paragraph.split()) for paragraph in self.paragraphs)


@dataclass(frozen=True)
class Probe:
    """A text that arrives later; `source` is the place of the story it repeats, or None."""

    kind: str
    text: str
    source: int | None


Change = Callable[[Story, random.Random, Sequence[Story]], "str | None"]

SHORTEST = 40
"""Words of a body from which copies are made; below it a text is hardly more than a template."""


def brief(story: Story, chance: random.Random, others: Sequence[Story]) -> str | None:
    """The first half of the words."""
    words = " ".join(story.paragraphs).split()
    return f"{story.title}\n\n{' '.join(words[: len(words) // 2])}"


def inner_brief(story: Story, chance: random.Random, others: Sequence[Story]) -> str | None:
    """Half of the words, from anywhere, under another headline."""
    words = " ".join(story.paragraphs).split()
    if len(words) < 120:
        return None
    first = chance.randrange(len(words) - len(words) // 2)
    title = re.sub(r"\d\S*", "", chance.choice(others).title)
    return f"{title}\n\n{' '.join(words[first : first + len(words) // 2])}"


def edited(share: float) -> Change:
    """Words replaced, left out and put in; figures stay, for other figures are another story."""

    def change(story: Story, chance: random.Random, others: Sequence[Story]) -> str | None:
        words = story.text.split(" ")
        plain = [i for i, word in enumerate(words) if word.isalpha()]
        new = [w for w in chance.choice(others).text.split() if w.isalpha()] or ["moreover"]
        for i in chance.sample(plain, min(len(plain), round(share * len(story.text.split())))):
            words[i] = chance.choice((chance.choice(new), "", f"{words[i]} {chance.choice(new)}"))
        return " ".join(words)

    return change


def reordered(story: Story, chance: random.Random, others: Sequence[Story]) -> str | None:
    """The paragraphs in another order."""
    if len(story.paragraphs) < 3:
        return None
    paragraphs = list(story.paragraphs)
    while tuple(paragraphs) == story.paragraphs:
        chance.shuffle(paragraphs)
        if len(set(paragraphs)) == 1:
            return None
    return f"{story.title}\n\n" + "\n".join(paragraphs)


def retitled(story: Story, chance: random.Random, others: Sequence[Story]) -> str | None:
    """The headline of another story, without its figures."""
    title = re.sub(r"\d\S*", "", chance.choice(others).title)
    return f"{title}\n\n" + "\n".join(story.paragraphs)


def another_feed(story: Story, chance: random.Random, others: Sequence[Story]) -> str | None:
    """Other line ends, a capital headline, a dateline and a line of the house."""
    body = " ".join(" ".join(story.paragraphs).split())
    return f"{story.title.upper()}\n\nPARIS (AFP) - {body}\n\nAll rights reserved."


COPIES: dict[str, Change] = {
    "brief of half": brief,
    "inner half, other headline": inner_brief,
    "5 % of words edited": edited(0.05),
    "10 % of words edited": edited(0.10),
    "paragraphs reordered": reordered,
    "headline changed": retitled,
    "another feed": another_feed,
}
REQUIRED = ("brief of half", "10 % of words edited", "paragraphs reordered", "headline changed")

_FIGURE = re.compile(r"\d+")


def _other(figure: str, chance: random.Random) -> str:
    while (new := str(chance.randrange(1, 10 ** len(figure)))) == figure:
        if figure == "1":
            return "2"
    return new


def template(story: Story, chance: random.Random, others: Sequence[Story]) -> str | None:
    """Every figure another one: the next quarter, the next day of the market."""
    if len(set(_FIGURE.findall(story.text))) < 3:
        return None
    return _FIGURE.sub(lambda match: _other(match.group(), chance), story.text)


def score(story: Story, chance: random.Random, others: Sequence[Story]) -> str | None:
    """One figure another one, wherever it stands, as in a result."""
    figures = sorted(set(_FIGURE.findall(story.text)))
    if not figures:
        return None
    changed = chance.choice(figures)
    new = f"{changed}{chance.randrange(1, 9)}"
    return re.sub(rf"(?<!\d){changed}(?!\d)", new, story.text)


_PLACED = re.compile(r"([^\W\d_]+ [^\W\d_]+ )(\d+(?:\.\d+)?)(?= |$)")


def exchanged(story: Story, chance: random.Random, others: Sequence[Story]) -> str | None:
    """Two figures have changed places: what was the profit is the loss."""
    found = list(_PLACED.finditer(story.text))
    for _ in range(10):
        if len(found) < 2:
            return None
        first, second = sorted(chance.sample(found, 2), key=re.Match.start)
        if first[1].lower() != second[1].lower() and first[2] != second[2]:
            text = story.text
            middle = text[first.end() : second.start(2)]
            head, tail = text[: first.start(2)], text[second.end() :]
            return f"{head}{second[2]}{middle}{first[2]}{tail}"
    return None


def follow_up(story: Story, chance: random.Random, others: Sequence[Story]) -> str | None:
    """News at the top, and as much of the earlier story below it for the background."""
    words = " ".join(story.paragraphs).split()
    other = chance.choice(others)
    news = " ".join(other.paragraphs).split()
    half = min(len(words), len(news)) // 2
    if half < 20:
        return None
    return f"{other.title}\n\n{' '.join(news[:half])}\n{' '.join(words[-half:])}"


HARD: dict[str, Change] = {
    "template, other figures": template,
    "one figure changed": score,
    "two figures exchanged": exchanged,
    "follow-up, half of it new": follow_up,
}


def same_headline(stories: Sequence[Story]) -> list[tuple[Story, Story]]:
    """Real reports with one headline from different days whose figures differ."""
    by_title: dict[str, list[Story]] = {}
    for story in stories:
        if story.title and story.paragraphs:
            by_title.setdefault(story.title, []).append(story)
    pairs = []
    for group in by_title.values():
        for first, second in itertools.pairwise(group):
            figures = [set(_FIGURE.findall(story.text)) for story in (first, second)]
            if first.day != second.day and not figures[1] <= figures[0]:
                pairs.append((first, second))
    return pairs


def labelled(stories: Sequence[Story], each: int, seed: int = 0) -> tuple[list[Story], list[Probe]]:
    """Earlier stories that are all different, and later texts of every kind in mixed order."""
    chance = random.Random(seed)
    window = Window()
    earlier: list[Story] = []
    places: dict[Story, int] = {}
    reports = same_headline(stories)
    held_back = {id(second) for _, second in reports}
    for story in stories:
        mark = signature(story.text)
        if id(story) in held_back or window.find(mark, CORRECTION) is not None:
            continue  # repeats that the wire itself holds have no label
        places[story] = len(earlier)
        window.add(len(earlier), len(earlier) + 1, mark)
        earlier.append(story)
    probes = []
    long = [story for story in earlier if story.n_words >= SHORTEST]
    for changes, copied in ((COPIES, True), (HARD, False)):
        for kind, change in changes.items():
            made = 0
            for story in chance.sample(long, len(long)):
                text = change(story, chance, long) if made < each else None
                if text is not None and text != story.text:
                    probes.append(Probe(kind, text, places[story] if copied else None))
                    made += 1
    for first, second in reports[: 2 * each]:
        if first in places:
            probes.append(Probe("same headline, another day", second.text, None))
    chance.shuffle(probes)
    return earlier, probes


def judged(earlier: Sequence[Story], probes: Iterable[Probe]) -> dict[str, Counter[str]]:
    """By kind: how many probes were right, missed, or matched with a wrong story."""
    window = Window()
    for place, story in enumerate(earlier):
        window.add(place, place + 1, signature(story.text))
    result: dict[str, Counter[str]] = {}
    for probe in probes:
        match = window.find(signature(probe.text))
        found = None if match is None else match.document
        outcome = "right" if found == probe.source else "missed" if found is None else "wrong"
        result.setdefault(probe.kind, Counter())[outcome] += 1
    return result


def precision(result: dict[str, Counter[str]]) -> float:
    """The share of the matches that are right."""
    right = sum(outcomes["right"] for kind, outcomes in result.items() if kind in COPIES)
    wrong = sum(outcomes["wrong"] for outcomes in result.values())
    return right / (right + wrong)


def recall(outcomes: Counter[str]) -> float:
    return outcomes["right"] / outcomes.total()


def read_stories(data: Path, corpus: str, limit: int | None = None) -> list[Story]:
    """The stories of a corpus with their paragraphs."""
    with gzip.open(data / corpus / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        items: list[dict[str, Any]] = [json.loads(line) for line in itertools.islice(lines, limit)]
    parted = re.compile(r"\n {4}" if corpus.startswith("reuters") else r"\n")
    return [
        Story(
            item["title"],
            tuple(p for p in parted.split(item["text"]) if p.strip()),
            str(item["date"])[:10],
        )
        for item in items
    ]


# -- copies and other stories -------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["reuters21578", "orangesum-fr"])
def test_copies_of_real_wires_are_found_and_other_stories_are_not(data: Path, corpus: str) -> None:
    path = data / corpus / "docs.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    result = judged(*labelled(read_stories(data, corpus, 7000), each=180))
    negatives = sum(o.total() for kind, o in result.items() if kind not in COPIES)
    assert negatives >= 500
    assert precision(result) >= 0.99, result
    for kind in REQUIRED:
        assert recall(result[kind]) >= 0.95, (kind, result[kind])


FLOOD = Story(
    "River floods valley after week of rain",
    (
        (
            "The river burst its banks before dawn on Tuesday and flooded the lower streets of the old "
            "town, where rescuers in boats took 340 people from the roofs of their houses."
        ),
        (
            "The mayor said the water had risen by 4.5 metres in less than six hours, faster than in "
            "any flood since the dam above the valley was built."
        ),
        (
            "Farmers lost most of the wheat that stood in the fields along the western bank, and the "
            "railway company closed the line to the coast until engineers have looked at two bridges."
        ),
        (
            "More rain is forecast for the weekend, and the army has begun to fill sandbags beside the "
            "hospital and the water works."
        ),
    ),
)
EARNINGS = Story(
    "Alder Mills Inc 4th qtr net",
    (
        "Shr 46 cts vs 39 cts. Net 2,331,000 vs 1,904,500. Sales 41.7 mln vs 36.2 mln.",
        "Year: shr 1.72 dlrs vs 1.45 dlrs. Net 8,640,000 vs 7,102,000. Sales 161.3 mln vs 140.9 mln.",
        "Note: results include a gain of 212,000 dlrs from the sale of a warehouse in the quarter.",
    ),
)
COURT = Story(
    "Un ancien maire jugé pour détournement de fonds",
    (
        (
            "Le tribunal correctionnel a ouvert lundi le procès d'un ancien maire, soupçonné d'avoir "
            "détourné 925 000 euros de la caisse des écoles entre 2011 et 2016."
        ),
        (
            "Le juge d'instruction avait ordonné son placement en garde à vue au printemps, après la "
            "plainte de deux conseillers municipaux et un rapport de la chambre régionale des comptes."
        ),
        (
            "Ses avocats demandent la relaxe et affirment que chaque dépense a été votée par le conseil "
            "municipal. Le jugement sera rendu le 14 novembre."
        ),
    ),
)
SMALL = (FLOOD, EARNINGS, COURT)


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("place", range(3))
def test_a_small_wire_recognises_its_copies(kind: str, place: int) -> None:
    text = COPIES[kind](SMALL[place], random.Random(place), SMALL)
    window = Window()
    for number, story in enumerate(SMALL):
        window.add(number, number + 1, signature(story.text))
    if text is None:
        return  # too short to be changed in this way
    match = window.find(signature(text))
    assert match is not None
    assert match.document == place


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("story", SMALL, ids=lambda story: story.title)
def test_a_small_wire_keeps_other_stories_apart(kind: str, story: Story) -> None:
    others = [other for other in SMALL if other is not story]
    text = HARD[kind](story, random.Random(3), others)
    assert text is not None
    assert decide(signature(text), signature(story.text)) is None


# -- verdicts ---------------------------------------------------------------------------------


def test_an_empty_text_repeats_nothing() -> None:
    window = Window()
    window.add(1, 1, signature(""))
    assert window.find(signature("")) is None


def test_a_verdict_names_briefs_and_fuller_copy() -> None:
    half = signature(brief(FLOOD, random.Random(0), SMALL) or "")
    whole = signature(FLOOD.text)
    kinds = [decide(*pair) for pair in ((half, whole), (whole, half), (whole, whole))]
    assert [verdict and verdict.kind for verdict in kinds] == ["brief", "fuller", "copy"]


def test_a_correction_may_change_figures() -> None:
    changed = signature(FLOOD.text.replace("340", "430"))
    assert decide(changed, signature(FLOOD.text)) is None
    assert decide(changed, signature(FLOOD.text), CORRECTION) is not None


# -- the window, beside looking at everything ------------------------------------------------

BASE = [
    " ".join(
        random.Random(seed).choices(
            ["storm", "rain", "wind", "dam", "river", "mayor", "boat", "army", "rail", "wheat"],
            k=50,
        )
    )
    for seed in range(12)
]


def variants() -> list[str]:
    result = []
    for text in BASE:
        parts = text.split()
        result += [
            text,
            " ".join(parts[:25]),
            " ".join(parts[10:]),
            " ".join([*parts[20:], *parts[:20]]),
        ]
    return result


POOL = [signature(text) for text in variants()]


def nearest_by_full_search(rows: dict[int, tuple[int, int]], mark: Signature) -> int | None:
    """The best story by looking at all of them that share a key: the earliest of the best."""
    best: tuple[float, float, int, int] | None = None
    for document, (ordinal, place) in rows.items():
        if not set(keys(mark)) & set(keys(POOL[place])):
            continue
        verdict = decide(mark, POOL[place])
        if verdict is not None:
            rank = (-verdict.new_in_old, -verdict.old_in_new, ordinal, document)
            best = min(best or rank, rank)
    return None if best is None else best[3]


steps = st.lists(
    st.tuples(st.booleans(), st.integers(0, 15), st.integers(0, len(POOL) - 1)), max_size=40
)


@settings(deadline=None)
@given(steps, st.integers(1, 12))
def test_the_window_finds_what_looking_at_everything_finds(
    changes: list[tuple[bool, int, int]], size: int
) -> None:
    window = Window(size)
    rows: dict[int, tuple[int, int]] = {}
    ordinals: dict[int, int] = {}
    newest = 0
    for adds, document, place in changes:
        if adds:
            ordinal = ordinals.setdefault(document, len(ordinals) + 1)  # a correction keeps its own
            newest = max(newest, ordinal)
            window.add(document, ordinal, POOL[place])
            rows[document] = (ordinal, place)
        else:
            window.remove(document)
            rows.pop(document, None)
        rows = {d: row for d, row in rows.items() if row[0] > newest - size}
        match = window.find(POOL[place])
        assert (match.document if match else None) == nearest_by_full_search(rows, POOL[place])
    assert [(o, d) for o, d, _ in window] == sorted((o, d) for d, (o, _) in rows.items())
    assert all(bytes(mark) == bytes(POOL[rows[d][1]]) for _, d, mark in window)


def test_a_window_is_the_same_however_it_was_filled() -> None:
    one, two = Window(), Window()
    rows = [(n, n + 1, mark) for n, mark in enumerate(POOL)]
    for row in rows:
        one.add(*row)
    for row in reversed(rows):
        two.add(*row)
    for n in range(500):  # and whatever else was there for a while
        two.add(1000 + n, n + 1, POOL[n % len(POOL)])
    for n in range(500):
        two.remove(1000 + n)
    assert [one.find(mark) for mark in POOL] == [two.find(mark) for mark in POOL]


@pytest.mark.parametrize("size", [len(POOL) // 2, 5000])
def test_a_window_that_is_filled_at_once_is_one_that_was_filled_story_by_story(size: int) -> None:
    one, two = Window(size), Window(size)
    marks = [POOL[n % len(POOL)] for n in range(4500)]
    for n, mark in enumerate(marks):
        one.add(n, n + 1, mark)
    two.add(0, 1, marks[0])
    two.fill((n, n + 1, bytes(mark)) for n, mark in enumerate(marks) if n)
    for n in range(3):  # and both go on
        for window in (one, two):
            window.remove(4000 + n)
            window.add(6000 + n, 4501 + n, POOL[n])
    assert [(o, d, bytes(m)) for o, d, m in one] == [(o, d, bytes(m)) for o, d, m in two]
    assert [one.find(mark) for mark in POOL] == [two.find(mark) for mark in POOL]


def test_a_damaged_signature_does_not_get_into_a_window() -> None:
    whole = bytes(POOL[0])
    for broken in (whole[:8], whole[:-1], whole[:12] + b"\xff" * 4 + whole[16:]):
        with pytest.raises(StorageError, match="damaged"):
            Window().fill([(1, 1, broken)])


def test_a_phrase_that_many_stories_share_leads_to_none_of_them() -> None:
    house = "the company will hold a conference call for analysts and investors on friday "
    window = Window()
    for n in range(near_duplicates.MAX_STORIES_PER_KEY + 1):
        window.add(n, n + 1, signature(house))
    assert window.find(signature(house)) is None
    window.remove(0)
    match = window.find(signature(house))
    assert match is not None
    assert match.document == 1


def test_the_window_drops_old_ordinals_and_its_memory_is_bounded() -> None:
    window = Window(1500)
    chance = random.Random(0)
    names = [story.title[:9] for story in SMALL] + FLOOD.text.split()
    marks = []
    for n in range(1, 4001):
        mark = signature(
            " ".join(f"w{chr(97 + chance.randrange(26))}{chance.choice(names)}" for _ in range(40))
        )
        marks.append(mark)
        window.add(n, n, mark)
    assert len(window) == 1500
    assert 2500 not in window
    assert 2501 in window
    assert window.nbytes < 1500 * 2200
    match = window.find(marks[3000])
    assert match is not None
    assert match.document == 3001


def test_a_window_of_size_0_is_refused() -> None:
    with pytest.raises(ValueError, match="size=0 should be >= 1"):
        Window(0)
