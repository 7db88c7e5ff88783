"""Does the order of arrival matter? The same units learned again in shuffled orders, in memory.

Documents are shuffled, units stay with their document. What is compared are partitions of the
units: the adjusted Rand index of each pair of orders, and its mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segapsith.arrays import Labels
from segapsith.domains.groups import DomainGroups
from segapsith.domains.index import DomainIndex
from segapsith.domains.replay import place_units
from segapsith.domains.values import DomainWords, PlacementSettings
from segapsith.engine import clock
from segapsith.engine.state import State
from segapsith.parallel.packing import Frozen
from segapsith.parallel.plugins import registry_of
from segapsith.parallel.tasks import Shared
from segapsith.plugin.contracts import Executor

if TYPE_CHECKING:
    from segapsith.domains.topics import TopicRecipe

__all__ = [
    "ReplayPlan",
    "Replayed",
    "StreamUnit",
    "replay",
    "replay_all",
    "replay_part",
    "shuffled",
]


@dataclass(frozen=True, slots=True)
class StreamUnit:
    """A unit as it came: its document, language, words and their counts."""

    document: int
    lang: str
    words: NDArray[np.int32]
    counts: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What all orders have in common, besides the units and the words."""

    placement: PlacementSettings
    importance: str
    topics: TopicRecipe


@dataclass(frozen=True, slots=True)
class _Columns:
    """Units as arrays, in which they travel."""

    documents: NDArray[np.int64]
    langs: list[str]
    starts: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.int32]

    def units(self) -> list[StreamUnit]:
        """Return the units."""
        return [
            StreamUnit(document, lang, self.words[a:b], self.counts[a:b])
            for document, lang, (a, b) in zip(
                self.documents.tolist(), self.langs, pairwise(self.starts.tolist()), strict=True
            )
        ]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The domain and the topic of every unit, in the order in which they were given."""

    domains: Labels
    topics: Labels


def shuffled(units: Sequence[StreamUnit], seed: int) -> list[int]:
    """Places of the units with their documents in another order."""
    of: dict[int, list[int]] = {}
    for place, unit in enumerate(units):
        of.setdefault(unit.document, []).append(place)
    documents = list(of)
    np.random.default_rng(seed).shuffle(documents)
    return [place for document in documents for place in of[document]]


def replay_all(
    executor: Executor,
    plugins: Mapping[str, Frozen],
    units: Sequence[StreamUnit],
    words: Sequence[tuple[int, str, str]],
    plan: ReplayPlan,
    *,
    seeds: Iterable[int],
) -> Iterator[Replayed]:
    """Yield what the units give in the order that each seed shuffles."""
    lengths = [len(unit.words) for unit in units]
    none = [np.zeros(0, dtype=np.int32)]
    columns = _Columns(
        np.array([unit.document for unit in units], dtype=np.int64),
        [unit.lang for unit in units],
        np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64),
        np.concatenate([unit.words for unit in units] or none),
        np.concatenate([unit.counts for unit in units] or none),
    )
    shared = {
        **plugins,
        "units": Frozen(columns),
        "words": Frozen(list(words)),
        "plan": Frozen(plan),
    }
    yield from executor.map("replay-order", seeds, shared)


def replay_part(seed: int, shared: Shared) -> Replayed:
    """Learn the units in the order of a seed: the task `replay-order`."""
    plan: ReplayPlan = shared["plan"]
    registry = registry_of(shared)
    units = shared.once("units", shared["units"].units, of="units")
    return replay(
        units,
        shuffled(units, seed),
        shared["words"],
        plan.placement,
        plan.importance,
        lambda domains: plan.topics.group(domains, registry),
    )


def replay(
    units: Sequence[StreamUnit],
    order: Iterable[int],
    words: Iterable[tuple[int, str, str]],
    placement: PlacementSettings,
    importance: str,
    group: Callable[[Mapping[int, DomainWords]], DomainGroups],
) -> Replayed:
    """Learns the units in an order, by the same clock and weights as the engine, and groups them.

    Words are (number, language, word). Terms are not learned anew: the units have theirs.
    """
    state = State(DomainIndex(placement), importance, learns_terms=False)
    state.vocabulary.restore(words)
    state.frequencies.grow(len(state.vocabulary))
    domains = state.domains
    domain_of = np.zeros(len(units), dtype=np.int64)
    langs: dict[int, str] = {}
    ordinal = 0
    for epoch, documents in enumerate(_epochs(_documents(units, order))):
        if epoch:
            state.tick()
        places = list(chain.from_iterable(documents))
        stories = [ordinal + n for n, document in enumerate(documents, 1) for _ in document]
        ordinal += len(documents)
        bags = [
            state.bag(units[place].lang, np.repeat(units[place].words, units[place].counts))
            for place in places
        ]
        domain_of[places] = place_units(domains, bags, stories).domains
        for place in places:
            langs[int(domain_of[place])] = units[place].lang
        for document in documents:
            _count(state, [units[place] for place in document])
    topic_of = np.zeros(domains.next_domain, dtype=np.int64)
    for lang in sorted(set(langs.values())):
        grouped = group({d: domains.words(d) for d in domains if langs[d] == lang})
        topic_of[grouped.domains] = topic_of.max() + 1 + grouped.groups
    return Replayed(domain_of, topic_of[domain_of])


def _documents(units: Sequence[StreamUnit], order: Iterable[int]) -> Iterable[list[int]]:
    """Stretches of places that belong to one document."""
    stretch: list[int] = []
    for place in order:
        if stretch and units[place].document != units[stretch[0]].document:
            yield stretch
            stretch = []
        stretch.append(place)
    if stretch:
        yield stretch


def _epochs(documents: Iterable[list[int]]) -> Iterable[list[list[int]]]:
    """Stretches of documents that see the same epoch: the clock ticks after each but the last."""
    stretch: list[list[int]] = []
    for ordinal, document in enumerate(documents, 1):
        stretch.append(document)
        if clock.ticks(ordinal):
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _count(state: State, units: Sequence[StreamUnit]) -> None:
    """Adds a document to the running counts."""
    words, place = np.unique(np.concatenate([u.words for u in units]), return_inverse=True)
    counts = np.bincount(place, weights=np.concatenate([u.counts for u in units]))
    state.frequencies.add(units[0].lang, words.astype(np.int32), counts.astype(np.int32))
