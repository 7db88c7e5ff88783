"""Read from a store what the report shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from segapsith import progress
from segapsith.arrays import Matrix, Rows
from segapsith.evaluation.compare import Profiles, similarities
from segapsith.plugin.contracts import Labeller
from segapsith.report.page import Facts
from segapsith.settings import BUILT_IN_PLACEMENT
from segapsith_store.queries import history
from segapsith_store.queries.documents import example_sentences, units_by_score
from segapsith_store.queries.domains import (
    Domain,
    count_domains,
    domain_labels,
    list_domains,
    weighted_words,
)
from segapsith_store.queries.events import EventLabels, list_events
from segapsith_store.queries.news import read_news
from segapsith_store.queries.sections import list_sections
from segapsith_store.queries.status import read_status
from segapsith_store.queries.validations import last_validations, list_validations
from segapsith_store.queries.words import WeightedWord
from segapsith_store.store import Store

__all__ = ["report_facts"]

WORDS = 10
"""Words of a domain on the page."""

EXAMPLES = 2
"""Units of a domain of which a sentence is shown."""

EVENTS = 30
"""Events of two stories or more on the page, the latest."""

TITLES = 3
"""Headlines of a domain."""

MIN_PROFILE = 10
"""Words by which a domain is compared if none is heavy enough."""

WORD_CUT = 0.03
"""Weight above which a word is compared."""

MAX_HISTORY = 400
"""Validations in the time series."""

MAX_DOUBTFUL = 24
"""Domains of a validation that are listed because it does not confirm them."""

Compare = Callable[[Rows], Matrix]


STEPS = 6
"""Parts of a report that take about the same time; the last is drawing the page."""


def report_facts(
    store: Store,
    *,
    min_units: int,
    limit: int,
    stable: int,
    since: str | int | None = None,
    compare: Compare | None = None,
    measure: str = BUILT_IN_PLACEMENT,
    labeller: Labeller | None = None,
) -> Facts:
    """Return everything on the page, from one state of the store.

    `since` is the run or date from which changes are counted: by default the run before the last
    one that learned; 0 means all. `compare` computes the similarity of domains (default: eq. 7),
    `labeller` names events.
    """
    with store.frozen():
        domains = list_domains(store, min_units=min_units, top=WORDS, limit=limit)
        progress.report(1, STEPS)
        stories = _stories(store, [domain.id for domain in domains])
        progress.report(2, STEPS)
        examples = _examples(store, domains, stories)
        progress.report(3, STEPS)
        compared = {
            lang: _similarities(store, [d.id for d in domains if d.lang == lang], compare)
            for lang in sorted({domain.lang for domain in domains})
        }
        progress.report(4, STEPS)
        changes = read_news(store, _first_run(store, since))
        progress.report(5, STEPS)
        return Facts(
            status=read_status(store, stable=stable),
            run=history.last_run(store),
            domains=domains,
            n_domains=count_domains(store, min_units),
            min_units=min_units,
            stable=stable,
            days={number: of.days for number, of in stories.items()},
            titles={number: of.titles for number, of in stories.items()},
            examples=examples,
            similarities=compared,
            measure=measure,
            validations=_with_examples(store),
            history=list_validations(store, limit=MAX_HISTORY),
            changes=changes,
            names=domain_labels(store),
            sections=list_sections(store, top=WORDS),
            events=list_events(store, min_stories=2, limit=EVENTS, labels=EventLabels(labeller)),
        )


def _first_run(store: Store, since: str | int | None) -> int:
    """Return the run after which changes are counted; 0 is before the first run."""
    if since is None:
        return history.run_before_last(store)
    return 0 if since == 0 else history.run_at(store, since)


# -- domains -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Stories:
    """The stories of a domain: units by day, headlines, and units with the highest scores."""

    days: dict[str, int] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)
    units: list[int] = field(default_factory=list)

    def add(self, unit: int, title: str, date: str | None) -> None:
        """Add a unit; units come in descending order of their scores."""
        if date:
            self.days[date] = self.days.get(date, 0) + 1
        if title and len(self.titles) < TITLES and title not in self.titles:
            self.titles.append(title)
        if len(self.units) < EXAMPLES:
            self.units.append(unit)


def _stories(store: Store, numbers: Sequence[int]) -> dict[int, _Stories]:
    stories = {number: _Stories() for number in numbers}
    for number, unit, title, day in units_by_score(store, numbers):
        stories[number].add(unit, title, day)
    return stories


def _examples(
    store: Store, domains: Sequence[Domain], stories: Mapping[int, _Stories]
) -> dict[int, list[str]]:
    """Return a sentence of each example unit, by domain."""
    words = {
        unit: [word.word for word in domain.words]
        for domain in domains
        for unit in stories[domain.id].units
    }
    sentences = example_sentences(store, words)
    return {
        number: [sentences[unit] for unit in of.units if unit in sentences]
        for number, of in stories.items()
    }


def _similarities(store: Store, numbers: Sequence[int], compare: Compare | None) -> Matrix:
    """Return the similarity of domains by their words that weigh more than `WORD_CUT`."""
    profiles = _profiles(
        {
            number: [word for word in words if word.weight > WORD_CUT] or words[:MIN_PROFILE]
            for number, words in weighted_words(store, numbers, MIN_PROFILE, WORD_CUT / 2).items()
        }
    )
    if compare is not None and numbers:
        return compare(profiles.weights)
    return similarities(profiles, profiles)


def _profiles(words: Mapping[int, Sequence[WeightedWord]]) -> Profiles[int]:
    """Return domains as rows of weights and occurrences, a column for each word."""
    columns: dict[str, int] = {}
    indices, weights, occurrences, starts = [], [], [], [0]
    for of_domain in words.values():
        for word in of_domain:
            indices.append(columns.setdefault(word.word, len(columns)))
            weights.append(float(word.weight))
            occurrences.append(float(word.occurrences))
        starts.append(len(indices))
    shape = (len(words), len(columns))
    rows, counts = (
        csr_array((np.array(values), indices, starts), shape=shape)
        for values in (weights, occurrences)
    )
    return Profiles(tuple(words), tuple(columns), rows, counts)


# -- validations ---------------------------------------------------------------------------------


def _with_examples(store: Store) -> list[Mapping[str, Any]]:
    """Return the newest validation of each language, with sentences for the doubtful domains."""
    validations: list[Mapping[str, Any]] = []
    for result in last_validations(store):
        doubtful = [v for v in result.get("verdicts", []) if v["verdict"] != "confirmed"]
        doubtful = doubtful[:MAX_DOUBTFUL]
        words = {unit: v["words"] for v in doubtful for unit in v["example_units"]}
        sentences = example_sentences(store, words)
        for verdict in doubtful:
            verdict["examples"] = [
                sentences[unit] for unit in verdict["example_units"] if unit in sentences
            ]
        validations.append({**result, "doubtful": doubtful})
    return validations
