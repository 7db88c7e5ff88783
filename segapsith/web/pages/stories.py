"""A story with its units, versions and copies; a unit and why it is in its domain."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

from segapsith.errors import MissingInputError
from segapsith.intake.feed_ids import guid_of
from segapsith.report.charts import gauges
from segapsith.web.ask import Ask
from segapsith.web.charts import Chart
from segapsith.web.pages.levels import crumbs_of
from segapsith.web.render import Page
from segapsith.web.templating import outside_link, story_path
from segapsith_store.queries.browsing.stories import Story, StoryText, StoryUnit

__all__ = [
    "Passage",
    "Piece",
    "changes_of",
    "passages",
    "story_by_parameter",
    "story_page",
    "unit_page",
]

COLOURS = 8
MOST_WORDS = 4000
"""Words of a text whose versions are compared word by word; longer ones by sentence."""

LINKS = ("url", "link", "web_url", "canonical_url")
"""Fields of the metadata that may hold the address of a story."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a text: a unit, or what lies between units."""

    text: str
    unit: StoryUnit | None
    colour: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text in a comparison of versions: `same`, `gone` or `new`."""

    kind: str
    text: str


def story_by_parameter(ask: Ask) -> Page | Response:
    """Return the page of the story that a parameter names."""
    uid = ask.text("id", most=2000)
    if not uid:
        return RedirectResponse(ask.url("/search"), 303)
    if story_path(uid).startswith("/stories?"):
        return _page(ask, uid)
    return RedirectResponse(ask.url(story_path(uid)), 303)


def story_page(ask: Ask) -> Page:
    """Return the page of a story."""
    return _page(ask, ask.part("uid"))


def _page(ask: Ask, uid: str) -> Page:
    t = ask.texts.text
    with ask.wire.reading():
        story = ask.wire.browse.story(uid)
        run = ask.wire.browse.state().run
        domains = [unit.domain for unit in story.units if unit.domain is not None]
        crumbs = crumbs_of(ask, domain=domains[0]) if domains else [("/search", t("Search"))]
    address = next(
        filter(None, (outside_link(story.metadata.get(name)) for name in LINKS)),
        outside_link(guid_of(uid) or uid),
    )
    values = {
        "story": story,
        "passages": passages(story),
        "versions": [
            (text, changes_of(before, text))
            for before, text in zip(story.versions, story.versions[1:], strict=False)
        ][::-1],
        "address": address,
        "run": run,
    }
    return Page("story.html", story.title or uid, values, crumbs=crumbs)


def passages(story: Story) -> list[Passage]:
    """Return the text in its order, cut at the limits of its units; nothing is lost."""
    parts, at = [], 0
    colours: dict[int, int] = {}
    for unit in sorted(story.units, key=lambda one: (one.start, one.end)):
        start, end = max(at, unit.start), min(unit.end, len(story.text))
        if start >= end:
            continue
        if start > at:
            parts.append(Passage(story.text[at:start], None, 0))
        colour = 0
        if unit.domain is not None:
            colour = colours.setdefault(unit.domain, len(colours) % COLOURS + 1)
        parts.append(Passage(story.text[start:end], unit, colour))
        at = end
    if at < len(story.text):
        parts.append(Passage(story.text[at:], None, 0))
    return parts


def changes_of(before: StoryText, after: StoryText) -> list[Piece]:
    """Return the later text with what was removed and added."""
    left, right = _words(before.text), _words(after.text)
    if max(len(left), len(right)) > MOST_WORDS:
        left, right = _sentences(before.text), _sentences(after.text)
    pieces: list[Piece] = []
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    for kind, i, j, k, m in matcher.get_opcodes():
        if kind == "equal":
            pieces.append(Piece("same", "".join(left[i:j])))
        else:
            pieces += _changed("gone", left[i:j]) + _changed("new", right[k:m])
    return pieces


def _changed(kind: str, words: Sequence[str]) -> list[Piece]:
    return [Piece(kind, "".join(words))] if words else []


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*|\s+", text)


def _sentences(text: str) -> list[str]:
    return re.findall(r"[^.!?\n]+[.!?\n]*\s*|[.!?\n]+\s*", text)


def unit_page(ask: Ask) -> Page:
    """Return why a unit is in its domain."""
    t, number = ask.texts.text, ask.number_part("id")
    with ask.wire.reading():
        explanation = ask.wire.explain(number)
        story = ask.wire.browse.story(explanation.document)
        described = ask.wire.browse.activity().described
        crumbs = crumbs_of(ask, domain=explanation.domain.id)
        run = ask.wire.browse.state().run
    if number not in {unit.unit for unit in story.units}:
        raise MissingInputError(f"unit {number} is in no present text")
    names = {
        "domain_weight": t("weight of the domain on shared words"),
        "domain_occurrences": t("occurrences of the domain on shared words"),
        "unit_weight": t("weight of the unit on shared words"),
        "unit_occurrences": t("occurrences of the unit on shared words"),
    }
    second = explanation.runner_up
    rows = [
        (
            names[name],
            round(value, 4),
            None if second is None else round(second.ratios[name], 4),
        )
        for name, value in explanation.ratios.items()
    ]
    bars = gauges.bars(
        [(f"{i + 1}", [round(100 * (v or 0)) for v in row[1:]]) for i, row in enumerate(rows)],
        (t("this domain"), t("runner-up")),
        t("The four ratios of the similarity, in per cent"),
    )
    chart = Chart(
        "ratios",
        t("The four ratios of the similarity, in per cent"),
        bars,
        (t("ratio"), t("this domain"), t("runner-up")),
        rows,
    )
    values = {
        "unit": explanation,
        "story": story,
        "run": run,
        "near": second.id if second is not None and second.id in described else None,
    }
    return Page("unit.html", t("Unit {n}", n=number), values, [chart], crumbs=crumbs)
