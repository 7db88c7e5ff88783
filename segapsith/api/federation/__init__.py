"""Federate stores: link the domains and topics of several stores into one view.

Stores of desks, languages or years stay apart; each is read in one state and never changed. Links
are approximate, because each store has learned its own word weights and domains. Where no two stores
share a language there is nothing to link, and the view is exact.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from segapsith.api.federation.linking import Group, Link, Subject, Words, join, link_stores
from segapsith.errors import UsageError
from segapsith.evaluation import compare
from segapsith.evaluation.alignment import Side, align
from segapsith.evaluation.contingency import contingency
from segapsith.evaluation.validation import LINK_THRESHOLD
from segapsith.model import Result
from segapsith_store import Store
from segapsith_store.queries import history
from segapsith_store.queries.domains import domain_dates, list_domains
from segapsith_store.queries.status import read_status
from segapsith_store.queries.topics import list_topics
from segapsith_store.queries.validations import labelled_side
from segapsith_store.queries.words import WeightedWord

__all__ = ["Agreement", "Federation", "Level", "Member", "federate", "write"]

STABLE = 15
"""Units of a domain that is linked, at least."""

WORDS = 8
"""Words of a group that are shown."""

APPROXIMATE = (
    "Links between stores are approximate: each store has its own word weights and domains."
    " Domains are linked if similarity (eq. 7) and entropy (eq. 8) agree."
)
EXACT = (
    "No two stores have listed domains of the same language, so nothing is linked: the stores are"
    " shown side by side, exactly as they are."
)


@dataclass(frozen=True, slots=True)
class Member(Result):
    """A store of a federation, as it was when it was read."""

    name: str
    path: str
    digest: str
    languages: Mapping[str, int]
    """Stories by language."""
    documents: int
    units: int
    domains: int
    topics: int


@dataclass(frozen=True, slots=True)
class Agreement(Result):
    """How far two stores agree on the units of stories that both have."""

    left: str
    right: str
    units: int
    """Units in linked domains on both sides that cover the same passage."""
    kappa: float | None
    """Kappa of the two partitions with the best mapping (greedy); None without common units."""
    same_subject: float | None
    """Share of these units whose domains are in the same subject."""


@dataclass(frozen=True, slots=True)
class Level(Result):
    """Domains, or topics: the groups of all stores, their links and subjects."""

    groups: list[Group]
    links: list[Link]
    subjects: list[Subject]


@dataclass(frozen=True, slots=True)
class Federation(Result):
    """Several stores in one view."""

    is_exact: bool
    note: str
    threshold: float
    min_units: int
    stores: list[Member]
    domains: Level
    topics: Level
    agreements: list[Agreement]


def federate(
    stores: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str] | None = None,
    *,
    min_units: int = STABLE,
    threshold: float = LINK_THRESHOLD,
) -> Federation:
    """Link the domains of at least `min_units` units, and the topics, of several stores.

    A link needs a similarity (eq. 7) above `threshold`. With `output`, a page, a JSON file and
    tables are written to that directory.
    """
    names = _names([os.fspath(path) for path in stores])
    if not 0 <= threshold <= 1:
        raise UsageError(f"threshold={threshold} should be between 0 and 1")
    read = []
    with contextlib.ExitStack() as stack:
        for path in names.values():
            store = stack.enter_context(Store.reading(path))
            stack.enter_context(store.frozen())
            read.append(store)
        members = [_Read(name, store, min_units) for name, store in zip(names, read, strict=True)]
        result = _federation(members, min_units, threshold)
    if output is not None:
        write(result, output)
    return result


def _names(paths: Sequence[str]) -> dict[str, str]:
    """Return the paths by short names; the names are whole paths if short ones are not unique."""
    if len(paths) < 2:
        raise UsageError("give at least two stores to federate")
    real = [os.path.realpath(path) for path in paths]
    for path in paths:
        if real.count(os.path.realpath(path)) > 1:
            raise UsageError(f"{path} is named twice")
    short = [Path(path).stem for path in paths]
    return dict(zip(short if len(set(short)) == len(short) else paths, paths, strict=True))


class _Read:
    """What is needed of one store."""

    def __init__(self, name: str, store: Store, min_units: int) -> None:
        status = read_status(store, stable=min_units)
        listed = list_domains(store, min_units=min_units, top=None)
        topics = [one for one in list_topics(store, top=None) if one.units >= min_units]
        dates = domain_dates(store)  # also those of domains that are too small to be listed
        self.member = Member(
            name=name,
            path=status.store,
            digest=status.digest,
            languages=status.languages,
            documents=status.documents,
            units=status.units,
            domains=len(listed),
            topics=len(topics),
        )
        self.domains = [
            Group(
                name, one.id, one.label, one.lang, one.units, one.first, one.last, one.topic,
                _best(one.words),
            )
            for one in listed
        ]  # fmt: skip
        self.topics = []
        for one in topics:
            days = [dates[number] for number in one.domains if number in dates]
            first = min((day for day, _ in days if day), default=None)
            last = max((day for _, day in days if day), default=None)
            self.topics.append(
                Group(
                    name,
                    one.id,
                    one.label,
                    one.lang,
                    one.units,
                    first,
                    last,
                    None,
                    _best(one.words),
                )
            )
        self.words = {
            "domains": {(one.lang, one.id): _weighed(one.words) for one in listed},
            "topics": {(one.lang, one.id): _weighed(one.words) for one in topics},
        }
        in_view = {one.id for one in listed}
        labels = {u: d for u, d in history.domain_of_unit(store).items() if d in in_view}
        self.side: Side = labelled_side(store, labels, name, "domain")[0]


def _best(words: Sequence[WeightedWord]) -> tuple[str, ...]:
    return tuple(word.word for word in words[:WORDS])


def _weighed(words: Sequence[WeightedWord]) -> Words:
    return {word.word: (float(word.weight), float(word.occurrences)) for word in words}


def _federation(members: Sequence[_Read], min_units: int, threshold: float) -> Federation:
    domains = _level(members, "domains", threshold)
    topics = _level(members, "topics", threshold)
    languages = [lang for one in members for lang in {group.lang for group in one.domains}]
    is_exact = len(languages) == len(set(languages))
    subject_of = {key: subject.id for subject in domains.subjects for key in subject.members}
    return Federation(
        is_exact=is_exact,
        note=EXACT if is_exact else APPROXIMATE,
        threshold=threshold,
        min_units=min_units,
        stores=[one.member for one in members],
        domains=domains,
        topics=topics,
        agreements=[
            _agreement(left, right, subject_of) for left, right in combinations(members, 2)
        ],
    )


def _level(members: Sequence[_Read], kind: str, threshold: float) -> Level:
    names = [one.member.name for one in members]
    words: dict[tuple[str, str], dict[int, Words]] = {}
    for one in members:
        for (lang, number), of_group in one.words[kind].items():
            words.setdefault((one.member.name, lang), {})[number] = of_group
    groups = [group for one in members for group in getattr(one, kind)]
    links = link_stores(names, words, threshold)
    return Level(groups, links, join(groups, links, names))


def _agreement(left: _Read, right: _Read, subject_of: Mapping[tuple[str, int], int]) -> Agreement:
    """Return the agreement of two stores on the passages that both have."""
    ours, theirs = align(left.side, right.side)
    names = left.member.name, right.member.name
    if not len(ours):
        return Agreement(*names, 0, None, None)
    labels: list[Any] = [
        np.asarray(side.labels)[places]
        for side, places in ((left.side, ours), (right.side, theirs))
    ]
    subjects = [
        [subject_of[name, int(label)] for label in of_side]
        for name, of_side in zip(names, labels, strict=True)
    ]
    same = np.equal(*map(np.array, subjects)).mean()
    table = contingency(labels[0].tolist(), labels[1].tolist())
    kappa = compare.kappa_of_table(table, "greedy", 0).value
    return Agreement(*names, len(ours), round(float(kappa), 6), round(float(same), 6))


def write(federation: Federation, output: str | os.PathLike[str]) -> list[Path]:
    """Write the page, the JSON file and the tables to a directory; return their paths."""
    from segapsith.api.federation.tables import files

    folder = Path(output)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: --output should be a directory, and this is a file")
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, data in files(federation.as_json()).items():
        path = folder / name
        draft = folder / f".{name}.unfinished"
        draft.write_bytes(data)
        draft.replace(path)
        paths.append(path)
    return paths
