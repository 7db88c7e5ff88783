"""Labels of domains and topics: compute those whose evidence changed, with a labeller plugin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segapsith.domains import naming
from segapsith.domains.values import DomainWords
from segapsith.lexicon.vocabulary import SCALE
from segapsith.model import Subject
from segapsith.plugin.contracts import Labeller
from segapsith_store import Store
from segapsith_store.queries import labels as stored
from segapsith_store.queries.groupings import SECTIONS, TOPICS, Level
from segapsith_store.queries.history import Moment
from segapsith_store.queries.topics import (
    domains_by_language,
    section_of_topic,
    topic_of_domain,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["LabelMaker", "is_stale", "refresh"]

WORDS = 40
"""Heaviest words of an item by which headlines are judged."""

LABEL_WORDS = 12
"""Strongest words that a labeller gets in readable form."""

CONTRAST = 0.5
"""Weight of a word in a label = weight * (its units here / stories with it) ** CONTRAST."""

BATCH = 2_000
"""Domains that are labelled in one transaction."""

TOPIC_STORIES = 8
"""Stories of each of the largest domains of a topic that show how words are written."""

PARTS = 4
"""Largest topics of a section that its label names."""

PART_SHARE = 0.06
"""Least share of a section's units in a topic that its label names."""

TOPIC_DOMAINS = 3
"""Largest domains of a topic whose stories are read."""


def is_stale(store: Store) -> bool:
    """Return whether a label is to be computed."""
    return bool(stored.unlabelled(store, 1)) or any(
        stored.unlabelled_grouping(store, level) is not None for level in (TOPICS, SECTIONS)
    )


def refresh(store: Store, labeller: Labeller, name: str) -> int:
    """Compute the labels whose evidence has changed; return the number of domains concerned.

    `name` identifies the labeller with its settings: another one computes every label again.
    """
    stored.mark_all(store, name)
    maker = LabelMaker(store, labeller)
    n_domains = 0
    while marked := stored.unlabelled(store, BATCH):
        numbers = [number for number, _ in marked]
        sums = stored.domain_sums(store, numbers)
        others = stored.other_labels(store, sums)
        before = dict(stored.other_labels(store, [number for number, _ in others]))
        subjects = maker.domains(sums, {number: lang for number, lang in marked}, before)
        labels = maker.named(subjects, [label for _, label in others])
        stored.save_domain_labels(store, numbers, labels)
        n_domains += len(numbers)
    for level in (TOPICS, SECTIONS):
        grouping = stored.unlabelled_grouping(store, level)
        if grouping is not None:
            labels = maker.named(maker.groups(level, grouping.previous))
            stored.save_group_labels(store, grouping.run, labels)
    return n_domains


@dataclass(frozen=True, slots=True)
class _Evidence:
    """The heaviest words of a domain by number, as weights of its label."""

    words: dict[int, float]
    names: dict[int, str]

    def by_name(self) -> dict[str, float]:
        return {self.names[word]: weight for word, weight in self.words.items()}


class LabelMaker:
    """Prepares what a labeller needs to know, and asks it."""

    def __init__(self, store: Store, labeller: Labeller) -> None:
        self._store, self._labeller = store, labeller
        self._words: dict[str, dict[int, tuple[str, int]]] = {}
        """All words of a language with the stories that contain them."""
        self._names: dict[int, str] = {}
        self._stories: dict[int, int] = {}
        """The same of the heaviest words of domains, in two parts."""
        self._numbers: dict[str, dict[str, int]] = {}
        self._rivals: dict[str, stored.Rivals] = {}

    # -- domains ---------------------------------------------------------------------------------

    def domains(
        self,
        sums: Mapping[int, DomainWords],
        langs: Mapping[int, str],
        previous: Mapping[int, str] | None = None,
        moment: Moment | None = None,
    ) -> dict[int, Subject]:
        """Return domains as a labeller sees them, now or at a moment."""
        candidates = stored.candidates(self._store, list(sums), moment)
        heaviest = {number: _heaviest(own) for number, own in sums.items()}
        self._read_names(heaviest.values())
        return {
            number: self._domain(
                number,
                heaviest[number],
                langs[number],
                candidates.get(number, []),
                (previous or {}).get(number, ""),
                rivals=moment is None,
            )
            for number in sums
        }

    def _domain(
        self,
        number: int,
        heaviest: DomainWords,
        lang: str,
        candidates: Sequence[stored.Candidate],
        previous: str,
        *,
        rivals: bool,
    ) -> Subject:
        evidence = self._evidence(heaviest)
        headlines = _headlines(candidates)
        if rivals and heaviest.n_units > 1 and headlines:
            headlines = self._own_headlines(number, lang, headlines, evidence)
        return Subject(
            "domain",
            lang,
            _readable(evidence.by_name(), _texts(candidates)),
            headlines,
            previous,
        )

    def _own_headlines(
        self, number: int, lang: str, headlines: Sequence[str], evidence: _Evidence
    ) -> list[str]:
        """Return the headlines whose words point to the domain more than to any other."""
        if lang not in self._rivals:
            self._rivals[lang] = stored.read_rivals(self._store, lang)
            self._numbers[lang] = stored.word_numbers(self._store, lang)
        own = {evidence.names[word]: word for word in evidence.words}
        groups = []
        for headline in headlines:
            words = {own[word] for word in naming.contained(headline, own)}
            words |= naming.known_words(headline, self._numbers[lang])
            groups.append(sorted(words))
        wins = self._rivals[lang].wins(number, groups)
        return [headline for headline, wins in zip(headlines, wins, strict=True) if wins]

    def _read_names(self, domains: Iterable[DomainWords]) -> None:
        """Read the words of some domains, so that `_evidence` knows them."""
        words = {word for sums in domains for word in sums.words.tolist()}
        unknown = sorted(words - self._names.keys())
        for number, word, n_stories in stored.word_names(self._store, unknown):
            self._names[number], self._stories[number] = word, n_stories

    def _evidence(self, heaviest: DomainWords) -> _Evidence:
        """Return the heaviest words of a domain, weighted by contrast with all stories."""
        names: dict[int, str] = {}
        values: dict[int, float] = {}
        n_units = max(1, heaviest.n_units)
        for word, occurrences, weight in zip(
            heaviest.words.tolist(),
            heaviest.occurrences.tolist(),
            heaviest.weights.tolist(),
            strict=True,
        ):
            names[word] = self._names[word]
            share = min(1.0, occurrences / max(1, self._stories[word]))
            values[word] = float(weight) / n_units * share**CONTRAST
        strongest = sorted(values.items(), key=lambda entry: (-entry[1], entry[0]))
        return _Evidence(dict(strongest), names)

    def _word_counts(self, lang: str) -> dict[int, tuple[str, int]]:
        if lang not in self._words:
            self._words[lang] = stored.word_counts(self._store, lang)
        return self._words[lang]

    # -- groups ----------------------------------------------------------------------------------

    def groups(self, level: Level, previous: Mapping[int, str]) -> dict[int, Subject]:
        """Return the topics or sections of the last grouping as a labeller sees them."""
        topic_of, section_of = topic_of_domain(self._store), section_of_topic(self._store)
        subjects: dict[int, Subject] = {}
        for lang, domains in domains_by_language(self._store).items():
            topics: dict[int, list[int]] = {}
            for domain in sorted(domains, key=lambda d: (-domains[d].n_units, d)):
                if domain in topic_of:
                    topics.setdefault(topic_of[domain], []).append(domain)
            if level is not SECTIONS:
                groups = _Groups.of(topics, domains)
                subjects |= self._group_subjects(level.what, lang, groups, previous)
                continue
            sizes = {t: sum(domains[d].n_units for d in own) for t, own in topics.items()}
            sections: dict[int, list[int]] = {}
            for topic in sorted(sizes, key=lambda t: (-sizes[t], t)):
                if topic in section_of:
                    sections.setdefault(section_of[topic], []).append(topic)
            least = {s: PART_SHARE * sum(sizes[t] for t in own) for s, own in sections.items()}
            groups = _Groups.of(
                {s: [d for t in own for d in topics[t]] for s, own in sections.items()},
                domains,
                {
                    s: [topics[t] for t in own[:PARTS] if sizes[t] >= least[s]]
                    for s, own in sections.items()
                },
            )
            subjects |= self._group_subjects(level.what, lang, groups, previous)
        return subjects

    def _group_subjects(
        self, kind: str, lang: str, groups: _Groups, previous: Mapping[int, str]
    ) -> dict[int, Subject]:
        """Return groups of domains with their words by contrast with each other."""
        # domains alone are labelled after an ingest, which needs nothing else of this module
        from segapsith_store.queries.domains import domain_labels

        counts = self._word_counts(lang)
        total = np.asarray(groups.rows.sum(axis=0)).ravel()
        whole = float(total.sum())
        shown = groups.typical()
        largest = [domain for group in shown.values() for domain in group]
        candidates = stored.candidates(self._store, largest, most=TOPIC_STORIES)
        labels = domain_labels(self._store)
        subjects: dict[int, Subject] = {}
        for place, (number, group) in enumerate(groups.members.items()):
            own = _named_row(groups.rows, place, counts)
            of_all = {
                counts[word][0]: float(total[word])
                for word in groups.rows[[place]].indices.tolist()
            }
            strongest = naming.contrasted(own, of_all, whole=whole)
            parts = [_named_row(groups.parts, row, counts) for row in groups.parts_of[number]]
            strongest = naming.covering(strongest, parts, PARTS)
            shown_units = [c for domain in shown[number] for c in candidates.get(domain, ())]
            subjects[number] = Subject(
                kind,
                lang,
                _readable(strongest, _texts(shown_units)),
                [labels[domain] for domain in group[:TOPIC_STORIES] if domain in labels],
                previous.get(number, ""),
            )
        return subjects

    def at(
        self, moment: Moment, sums: Mapping[int, DomainWords], langs: Mapping[int, str]
    ) -> dict[int, str]:
        """Return the labels that domains get from the units they had at a moment."""
        return self.named(self.domains(sums, langs, moment=moment))

    # -- labels ----------------------------------------------------------------------------------

    def named(self, subjects: Mapping[int, Subject], taken: Iterable[str] = ()) -> dict[int, str]:
        """Return a label for each subject; no two are equal, none is empty or `taken`."""
        labels = {number: self._labeller.label(subject) for number, subject in subjects.items()}
        words = {number: list(subject.words) for number, subject in subjects.items()}
        return naming.distinct_labels(labels, words, taken)


@dataclass(frozen=True, slots=True)
class _Groups:
    """Groups of domains of one language with their summed words."""

    members: Mapping[int, Sequence[int]]
    """Domains of each group, the largest of the largest part first."""
    rows: csr_array
    """Weights of the words of each group, in the order of `members`."""
    parts: csr_array
    """The same for the largest parts of the groups."""
    parts_of: Mapping[int, Sequence[int]]
    """Rows of `parts` of each group, largest part first."""

    firsts: Sequence[int]
    """Largest domain of each row of `parts`."""

    def typical(self) -> dict[int, list[int]]:
        """Return the domains of each group whose stories show how its words are written."""
        return {
            number: [self.firsts[row] for row in self.parts_of[number]] or list(own[:TOPIC_DOMAINS])
            for number, own in self.members.items()
        }

    @classmethod
    def of(
        cls,
        members: Mapping[int, Sequence[int]],
        domains: Mapping[int, DomainWords],
        parts: Mapping[int, Sequence[Sequence[int]]] | None = None,
    ) -> _Groups:
        flat = [part for own in (parts or {}).values() for part in own]
        places = iter(range(len(flat)))
        return cls(
            members,
            _summed_rows(list(members.values()), domains),
            _summed_rows(flat, domains),
            {n: [next(places) for _ in (parts or {}).get(n, ())] for n in members},
            [part[0] for part in flat],
        )


def _heaviest(sums: DomainWords) -> DomainWords:
    """Return the heaviest words of a domain, heaviest first, ties by number."""
    weights = sums.weights
    places = np.arange(len(weights))
    if len(weights) > WORDS:
        least = np.partition(weights, len(weights) - WORDS)[len(weights) - WORDS]
        places = np.flatnonzero(weights >= least)
    places = places[np.argsort(-weights[places], kind="stable")[:WORDS]]
    return DomainWords(sums.words[places], sums.occurrences[places], weights[places], sums.n_units)


def _named_row(
    rows: csr_array, place: int, counts: Mapping[int, tuple[str, int]]
) -> dict[str, float]:
    """Return a row of weights by word."""
    row = rows[[place]]
    return {
        counts[word][0]: weight
        for word, weight in zip(row.indices.tolist(), row.data.tolist(), strict=True)
    }


def _headlines(candidates: Sequence[stored.Candidate]) -> list[str]:
    """Return headlines that may be labels: of first units, else of others, else first sentences."""
    titles = naming.without_common_ends([c.title for c in candidates])
    clean = [bool(naming.clean_headline(title)) for title in titles]
    leading = [t for t, ok, c in zip(titles, clean, candidates, strict=True) if ok and c.leads]
    if leading:
        return leading
    others = [title for title, ok in zip(titles, clean, strict=True) if ok]
    return [*others, *filter(None, (naming.first_sentence(c.lead) for c in candidates))]


def _texts(candidates: Iterable[stored.Candidate]) -> list[str]:
    """Return the beginnings of units, or the title of a story that has no text."""
    return [c.lead or ("" if naming.in_capitals(c.title) else c.title) for c in candidates]


def _readable(words: Mapping[str, float], texts: Sequence[str]) -> dict[str, float]:
    """Return weighted words, the strongest of them as the texts write them."""
    if not texts:
        return dict(words)
    first = list(words)[:LABEL_WORDS]
    forms = naming.readable_words(first, texts)
    readable: dict[str, float] = {}
    for word, weight in words.items():
        readable.setdefault(forms.get(word, word), weight)
    return naming.joined_names(readable, texts)


def _summed_rows(groups: Sequence[Sequence[int]], domains: Mapping[int, DomainWords]) -> csr_array:
    """Return the weights of groups of domains, groups by words, in order."""
    from scipy.sparse import csr_array  # slow to import, and domains do not need it

    rows, columns, data = [], [], []
    for place, group in enumerate(groups):
        for domain in group:
            own = domains[domain]
            rows.append(np.full(len(own.words), place))
            columns.append(own.words.astype(np.int64))
            data.append(own.weights / float(SCALE))
    if not rows:
        return csr_array((len(groups), 1))
    return csr_array(
        (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))),
        shape=(len(groups), int(max(c.max(initial=0) for c in columns)) + 1),
    )
