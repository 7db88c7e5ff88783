"""What labels are computed from: words, headlines and rivals of domains and topics; and their storage.

Labels are derived and outside the digest. A domain that changes is entered in the table
`unlabelled` until its label is computed. See docs/decisions/016-labels-are-derived.md.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.values import DomainWords, PlacementSettings
from segapsith.lexicon.vocabulary import SCALE
from segapsith_store import codecs
from segapsith_store.queries import history
from segapsith_store.queries.groupings import Level, labels_from
from segapsith_store.store import Store

__all__ = [
    "CANDIDATES",
    "Candidate",
    "GroupingLabels",
    "Rivals",
    "candidates",
    "domain_sums",
    "first_unit_after",
    "headlines_since",
    "mark_all",
    "other_labels",
    "read_rivals",
    "save_domain_labels",
    "save_group_labels",
    "unlabelled",
    "unlabelled_grouping",
    "word_counts",
    "word_names",
    "word_numbers",
]

CANDIDATES = 24
"""Stories of a domain whose headlines are considered: those with the highest scores."""

NEWEST_UNITS = 50
"""Newest units of a domain among which headlines of the last days are searched first."""

LEAD_CHARS = 300
"""Characters of a story that are read to find its first sentence and how words are written."""

MAX_RIVALS = 20_000
"""Largest domains of a language with which headlines are compared."""

_CHUNK = 500

UnitsSince = Callable[[Sequence[int], int], list[int]]
"""Returns those of the newest units of each of some domains that are new enough; all if -1."""


class Candidate(NamedTuple):
    """A unit that may name its domain."""

    domain: int
    leads: bool
    """Whether it is the first unit of its story, which contains the headline."""
    title: str
    lead: str
    """The beginning of the unit, without the title."""


# -- domains ---------------------------------------------------------------------------------------


def unlabelled(store: Store, most: int) -> list[tuple[int, str]]:
    """Return at most `most` domains whose label is to be computed, with their languages."""
    return [
        (number, lang)
        for number, lang in store.rows(
            "SELECT d.id, d.lang FROM unlabelled u JOIN domains d ON d.id = u.domain"
            " ORDER BY d.id LIMIT ?",
            [most],
        )
    ]


def domain_sums(store: Store, numbers: Sequence[int]) -> dict[int, DomainWords]:
    """Return the word sums of the unnamed domains among `numbers` that have units."""
    return {
        number: codecs.domain_from(words, n_units)
        for number, words, n_units in store.rows(
            "SELECT id, words, units FROM domains WHERE units > 0 AND named = 0"
            " AND id IN (SELECT value FROM json_each(?)) ORDER BY id",
            [json.dumps(list(numbers))],
        )
    }


def candidates(
    store: Store,
    numbers: Sequence[int],
    moment: history.Moment | None = None,
    most: int = CANDIDATES,
) -> dict[int, list[Candidate]]:
    """Return the units that may name some domains now or at a moment, oldest first.

    First units come before others, and those with higher scores before those with lower ones.
    """
    table, parameters = history.assignments_at(moment)
    score = "a.score" if moment is None else "0"
    candidates: dict[int, list[Candidate]] = {}
    for start in range(0, len(numbers), _CHUNK):
        chunk = json.dumps(list(numbers[start : start + _CHUNK]))
        for domain, position, title, lead in store.rows(
            "SELECT c.domain, c.position, v.title, substr(v.body, 1 + CASE WHEN c.position = 0"
            " THEN 0 WHEN v.title = '' THEN c.start ELSE max(0, c.start - length(v.title) - 2)"
            f" END, {LEAD_CHARS}) FROM (SELECT a.domain, u.id, u.version, u.position, u.start,"
            " row_number() OVER (PARTITION BY a.domain ORDER BY u.position > 0,"
            f" {score} DESC, u.id) AS place FROM {table} a JOIN units u ON u.id = a.unit"
            " WHERE a.domain IN (SELECT value FROM json_each(?))) c"
            " JOIN versions v ON v.id = c.version WHERE c.place <= ? ORDER BY c.domain, c.id",
            [*parameters, chunk, most],
        ):
            if title or lead:
                candidates.setdefault(domain, []).append(
                    Candidate(domain, position == 0, title, lead)
                )
    return candidates


def headlines_since(
    store: Store,
    numbers: Sequence[int],
    since: str | int,
    *,
    first: int = 0,
    units: UnitsSince | None = None,
    most: int = CANDIDATES,
) -> dict[int, list[str]]:
    """Return titles of stories that some domains took after a run or since a date, newest first.

    Titles of first units come before those of others; at most `most` of each domain, of its
    `NEWEST_UNITS` newest units if one of these is new enough. Units before `first` are known to be
    older and are not looked at. `units` selects them if it is known which are new.
    """

    def titles_of(some: Sequence[int], newest: int) -> dict[int, list[str]]:
        if units is not None:
            return _titles(
                store, "SELECT value FROM json_each(?)", [json.dumps(units(some, newest))], most
            )
        condition = "d.run > ?" if isinstance(since, int) else "coalesce(v.date, r.started_at) >= ?"
        return _titles(
            store,
            "SELECT u.id AS value FROM json_each(?) j JOIN units u ON u.id IN (SELECT b.unit FROM"
            " assignments b WHERE b.domain = j.value AND b.unit >= ? ORDER BY b.unit DESC LIMIT ?)"
            " JOIN versions v ON v.id = u.version JOIN documents d ON d.id = u.document"
            f" JOIN runs r ON r.id = d.run WHERE {condition}",
            [json.dumps(list(some)), first, newest, since],
            most,
        )

    titles = titles_of(numbers, NEWEST_UNITS) if numbers else {}
    others = [number for number in numbers if number not in titles]
    return titles | (titles_of(others, -1) if others else {})


def _titles(
    store: Store, selection: str, parameters: Sequence[Any], most: int
) -> dict[int, list[str]]:
    """Return the titles of the units that a query selects, by domain."""
    titles: dict[int, list[str]] = {}
    for domain, title in store.rows(
        "SELECT domain, title FROM (SELECT a.domain, v.title, u.id, row_number() OVER"
        " (PARTITION BY a.domain ORDER BY u.position > 0, a.score DESC, u.id) AS place"
        f" FROM ({selection}) s JOIN assignments a ON a.unit = s.value"
        " JOIN units u ON u.id = a.unit JOIN versions v ON v.id = u.version"
        " WHERE v.title <> '') WHERE place <= ? ORDER BY domain, id DESC",
        [*parameters, most],
    ):
        titles.setdefault(domain, []).append(title)
    return titles


def first_unit_after(store: Store, run: int) -> int:
    """Return the first unit of the stories that were first read after a run; 0 if there is none."""
    return store.number(
        "SELECT min(u.id) FROM documents d JOIN units u ON u.document = d.id WHERE d.run > ?", [run]
    )


def word_counts(store: Store, lang: str) -> dict[int, tuple[str, int]]:
    """Return each word of a language with the number of stories that contain it."""
    return {
        number: (word, documents)
        for number, word, documents in store.rows(
            "SELECT id, word, documents FROM words WHERE lang = ?", [lang]
        )
    }


def word_numbers(store: Store, lang: str) -> dict[str, int]:
    """Return the number of each word of a language."""
    chunks = store.chunks("SELECT word, id FROM words WHERE lang = ?", [lang], 10_000)
    return dict(row for chunk in chunks for row in chunk)


def word_names(store: Store, numbers: Sequence[int]) -> Iterator[tuple[int, str, int]]:
    """Yield some words by number with the number of stories that contain each."""
    return store.rows(
        "SELECT id, word, documents FROM words WHERE id IN (SELECT value FROM json_each(?))",
        [json.dumps(numbers)],
    )


@dataclass(frozen=True, slots=True)
class Rivals:
    """The largest domains of a language, to see to which of them the words of a headline point."""

    domains: dict[int, int]
    """Place of each domain."""
    starts: NDArray[np.int64]
    """Where the entries of each word begin in the other columns, by word."""
    places: NDArray[np.int64]
    """The place of a domain that has the word."""
    weights: NDArray[np.float64]
    """Share of the word in the weights of the domain."""
    occurrences: NDArray[np.float64]
    """Share of the word in the occurrences of the domain."""

    def wins(self, domain: int, groups: Sequence[Sequence[int]]) -> list[bool]:
        """Return for each group of words whether it points to `domain` more than to any other.

        Domains are compared by eq. 7, in which every word of a group weighs the same.
        """
        place = self.domains.get(domain)
        if place is None or not groups:
            return [True] * len(groups)
        words = np.array([word for group in groups for word in group], dtype=np.int64)
        rows = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        within = words < len(self.starts) - 1
        words, rows = words[within], rows[within]
        sizes = self.starts[words + 1] - self.starts[words]
        ends = np.cumsum(sizes)
        entries = np.repeat(self.starts[words] - ends + sizes, sizes) + np.arange(int(sizes.sum()))
        n_cells = len(groups) * len(self.domains)
        cells = np.repeat(rows, sizes) * len(self.domains) + self.places[entries]
        scores = np.bincount(cells, self.weights[entries], n_cells)
        scores *= np.bincount(cells, self.occurrences[entries], n_cells)
        scores *= np.bincount(cells, minlength=n_cells) ** 2
        table = scores.reshape(len(groups), len(self.domains))
        best = table.max(axis=1)
        return [
            bool(own > 0 and own >= top) for own, top in zip(table[:, place], best, strict=True)
        ]


def read_rivals(store: Store, lang: str, most: int = MAX_RIVALS) -> Rivals:
    """Return the largest open domains of a language."""
    least_weight = PlacementSettings().min_weight
    domains: dict[int, int] = {}
    words = [np.zeros(0, np.int32)]
    places = [np.zeros(0, np.int64)]
    weights, occurrences = [np.zeros(0)], [np.zeros(0)]
    for number, blob, n_units in store.rows(
        "SELECT id, words, units FROM domains WHERE units > 0 AND lang = ? AND status = 'open'"
        " ORDER BY units DESC, id LIMIT ?",
        [lang, most],
    ):
        sums = codecs.domain_from(blob, n_units)
        heavy = sums.weights >= least_weight * SCALE * n_units
        if not heavy.any():
            continue
        words.append(sums.words[heavy])
        places.append(np.full(len(words[-1]), len(domains)))
        weights.append(sums.weights[heavy] / sums.weights[heavy].sum())
        occurrences.append(sums.occurrences[heavy] / sums.occurrences[heavy].sum())
        domains[number] = len(domains)
    word = np.concatenate(words)
    order = np.argsort(word, kind="stable")
    starts = np.searchsorted(word[order], np.arange(int(word.max(initial=-1)) + 2))
    return Rivals(
        domains,
        starts,
        np.concatenate(places)[order],
        np.concatenate(weights)[order],
        np.concatenate(occurrences)[order],
    )


def other_labels(store: Store, numbers: Iterable[int]) -> list[tuple[int, str]]:
    """Return the labels of all domains with units except those of `numbers`."""
    without = set(numbers)
    return [
        (number, label)
        for number, label in store.rows("SELECT id, label FROM domains WHERE units > 0")
        if number not in without
    ]


def save_domain_labels(store: Store, numbers: Sequence[int], labels: Mapping[int, str]) -> None:
    """Store new labels, and note of all the domains in `numbers` that their label is computed."""

    def write(connection: sqlite3.Connection) -> int:
        connection.executemany(
            "UPDATE domains SET label = ? WHERE id = ? AND label <> ? AND named = 0",
            [(label, number, label) for number, label in labels.items()],
        )
        return connection.executemany(
            "DELETE FROM unlabelled WHERE domain = ?", [(number,) for number in numbers]
        ).rowcount

    store.change(write)


def mark_all(store: Store, labeller: str) -> bool:
    """Have every label computed again if another labeller made them; return whether it is so."""
    if store.facts().get("labeller") == labeller:
        return False

    def write(connection: sqlite3.Connection) -> int:
        connection.execute("DELETE FROM group_labels")
        connection.execute("INSERT OR IGNORE INTO unlabelled (domain) SELECT id FROM domains")
        return connection.execute(
            "INSERT OR REPLACE INTO facts (name, value) VALUES ('labeller', ?)",
            [json.dumps(labeller)],
        ).rowcount

    store.change(write)
    return True


# -- topics ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GroupingLabels:
    """A stored grouping whose labels are to be computed."""

    run: int
    previous: Mapping[int, str]
    """Labels of the grouping before, by number of the group."""


def unlabelled_grouping(store: Store, level: Level) -> GroupingLabels | None:
    """Return the last grouping of a level if its labels are to be computed."""
    rows = list(
        store.rows(
            f"SELECT g.run, l.labels FROM {level.groupings} g"
            " LEFT JOIN group_labels l ON l.run = g.run"
            " ORDER BY g.run DESC LIMIT 2"
        )
    )
    if not rows or rows[0][1] is not None:
        return None
    return GroupingLabels(rows[0][0], labels_from(rows[1][1]) if len(rows) > 1 else {})


def save_group_labels(store: Store, run: int, labels: Mapping[int, str]) -> None:
    """Store the labels of the groups that a run made; labels of dropped groupings go."""
    text = json.dumps({str(number): label for number, label in sorted(labels.items())})

    def write(connection: sqlite3.Connection) -> int:
        connection.execute(
            "DELETE FROM group_labels WHERE run NOT IN (SELECT run FROM groupings)"
            " AND run NOT IN (SELECT run FROM section_groupings)"
        )
        return connection.execute(
            "INSERT OR REPLACE INTO group_labels (run, labels) VALUES (?, ?)", [run, text]
        ).rowcount

    store.change(write)
