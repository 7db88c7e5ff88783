"""The co-occurrence network of a store: its size, its links, the neighbours of a word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainIndex
from segapsith.domains.values import PlacementSettings
from segapsith.engine.network_state import NETWORK, NetworkState
from segapsith.engine.records import Frozen, ReferenceRecord
from segapsith.engine.state import State
from segapsith.errors import MissingInputError
from segapsith.lexicon.cooccurrence import key_of
from segapsith.lexicon.multiword_terms import lexicon_terms
from segapsith.lexicon.network import NetworkSettings
from segapsith.model import Lexicon, Network, Result
from segapsith.plugin.contracts import NETWORK_PARTS
from segapsith_store.store import Store

__all__ = [
    "LanguageNetwork",
    "Link",
    "Neighbour",
    "Neighbours",
    "NetworkStatus",
    "ReferenceCorpus",
    "find_neighbours",
    "iterate_links",
    "network_status",
    "read_lexicon",
    "read_network",
]

SUGGESTIONS = 5
"""Similar words that are named if a word is not in the store."""

_LINKS_ONLY = frozenset({"network"})
"""The part of a network that these queries need."""


@dataclass(frozen=True, slots=True)
class LanguageNetwork(Result):
    """The network of one language and the words it was counted from."""

    words: int
    links: int
    tokens: int
    reference_tokens: int
    min_count: int
    mean_cohesion: float


@dataclass(frozen=True, slots=True)
class ReferenceCorpus(Result):
    """A corpus that was read by `network build`."""

    run: int
    lang: str
    documents: int
    words: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkStatus(Result):
    """The size of the network, the settings it was computed with, and its bytes in the store."""

    normalizer: str
    min_cohesion: float
    window: int
    most_links: int
    words: int
    links: int
    pairs: int
    met: int
    tokens: int
    frozen: bool
    epoch: int
    ordinal: int
    languages: Mapping[str, LanguageNetwork]
    references: Sequence[ReferenceCorpus]
    bytes: int


@dataclass(frozen=True, slots=True)
class Neighbour(Result):
    """A word linked to another one, with the cohesion and the number of co-occurrences."""

    word: str
    cohesion: float
    met: int


@dataclass(frozen=True, slots=True)
class Neighbours(Result):
    """A word of the network and its closest neighbours, the closest first."""

    word: str
    lang: str
    occurrences: int
    significance: float
    links: int
    neighbours: Sequence[Neighbour]


@dataclass(frozen=True, slots=True)
class Link(Result):
    """A link between two words of one language."""

    lang: str
    word: str
    neighbour: str
    cohesion: float


def _settings(store: Store, given: NetworkSettings | None) -> NetworkSettings:
    """Return the settings that the stored network was frozen with; without one, the given ones."""
    facts = store.facts()
    if NETWORK in facts:
        return NetworkSettings(**facts[NETWORK])
    settings = given or NetworkSettings()
    return replace(settings, window=int(facts.get("pair_window", settings.window)))


def _open(
    store: Store, settings: NetworkSettings | None, uses: frozenset[str]
) -> tuple[NetworkState, State]:
    """Return the network that texts are read with now, or would be if a segmenter used one."""
    state = State(
        DomainIndex(PlacementSettings()), network=_settings(store, settings), network_parts=uses
    )
    state.restore_counts(store.words(), store.languages(), store.cohesion(), store.facts())
    frozen = store.frozen_arrays("frequencies")
    if frozen is not None:
        state.freeze(Frozen.of(dict(frozen.arrays)))
    state.network.open(store)
    return state.network, state


def read_network(
    store: Store,
    lang: str,
    settings: NetworkSettings | None = None,
    uses: frozenset[str] = NETWORK_PARTS,
) -> Network:
    """Return the network of one language."""
    with store.frozen():
        return _open(store, settings, uses)[0].by_lang[lang]


def read_lexicon(store: Store) -> Lexicon:
    """Return the multi-word terms that texts are read with."""
    with store.frozen():
        return Lexicon(int(store.facts().get("counter_epoch", 0)), lexicon_terms(store.terms(), {}))


def network_status(store: Store, settings: NetworkSettings | None = None) -> NetworkStatus:
    """Return the size of the network, its settings, and the bytes it needs in the store."""
    with store.frozen():
        used = _settings(store, settings)
        networks, state = _open(store, used, _LINKS_ONLY)
        stored = store.row("SELECT ordinal, length(arrays) FROM epochs WHERE name = ?", [NETWORK])
        references = store.references()
        languages = _languages(networks, state, references, used)
        pairs = met = 0
        for piece in store.pairs():
            pairs += len(piece.keys)
            met += int(piece.counts.sum())
        pair_bytes = store.number("SELECT sum(length(pairs) + length(counts)) FROM pair_runs")
        return NetworkStatus(
            normalizer=used.normalizer,
            min_cohesion=used.least_cohesion,
            window=used.window,
            most_links=used.most_links,
            words=sum(one.words for one in languages.values()),
            links=sum(one.links for one in languages.values()),
            pairs=pairs,
            met=met,
            tokens=sum(one.tokens + one.reference_tokens for one in languages.values()),
            frozen=stored is not None,
            epoch=networks.epoch,
            ordinal=stored[0] if stored else state.counters.ordinal,
            languages=languages,
            references=[ReferenceCorpus(r.run, r.lang, r.documents, r.tokens) for r in references],
            bytes=(stored[1] if stored else 0) + pair_bytes,
        )


def _languages(
    networks: NetworkState,
    state: State,
    references: Collection[ReferenceRecord],
    settings: NetworkSettings,
) -> dict[str, LanguageNetwork]:
    """Return the languages in which the stream or a reference corpus has words."""
    totals = state.frequencies.totals
    languages = {}
    for lang in sorted({*totals, *(r.lang for r in references)}):
        tokens = totals.get(lang, (0, 0))[1]
        reference_tokens = sum(r.tokens for r in references if r.lang == lang)
        if not tokens + reference_tokens:
            continue
        network = networks.by_lang[lang]
        rows = np.fromiter(network.rows.values(), np.int64, len(network.rows))
        degrees = np.diff(network.starts)
        degrees = degrees[rows[rows < len(degrees)]]
        languages[lang] = LanguageNetwork(
            words=int((degrees > 0).sum()),
            links=int(degrees.sum()) // 2,
            tokens=tokens,
            reference_tokens=reference_tokens,
            min_count=settings.least_count(tokens + reference_tokens),
            mean_cohesion=network.mean_cohesion,
        )
    return languages


def find_neighbours(
    store: Store,
    word: str,
    lang: str | None = None,
    top: int = 20,
    settings: NetworkSettings | None = None,
) -> Neighbours:
    """Return the `top` words most cohesive with a word, and how often each occurs near it.

    Without `lang`, the languages are tried in the order of their vocabulary size.
    """
    with store.frozen():
        networks, state = _open(store, settings, _LINKS_ONLY)
        language, row = _find(state, word, lang)
        network = networks.by_lang[language]
        neighbours, weights = np.zeros(0, np.int64), np.zeros(0, np.float32)
        if row < len(network.starts) - 1:
            part = slice(network.starts[row], network.starts[row + 1])
            neighbours, weights = network.neighbours[part].astype(np.int64), network.weights[part]
        order = np.lexsort((neighbours, -weights))[:top]
        best = neighbours[order].tolist()
        met = _pair_counts(store, np.array([key_of(row, other) for other in best], np.int64))
        return Neighbours(
            word=state.vocabulary.word(row),
            lang=language,
            occurrences=int(state.frequencies.occurrences[row])
            + sum(int(r.occurrences[r.words == row].sum()) for r in store.references()),
            significance=float(network.significance[row])
            if row < len(network.significance)
            else 1.0,
            links=len(neighbours),
            neighbours=[
                Neighbour(network.words[other], float(weight), count)
                for other, weight, count in zip(best, weights[order], met, strict=True)
            ],
        )


def _find(state: State, word: str, lang: str | None) -> tuple[str, int]:
    """Return the language and the row of a word, as it is written or in lower case."""
    vocabulary = state.vocabulary
    sizes = Counter(one for one in vocabulary.langs if one)
    languages = [lang] if lang else sorted(sizes, key=lambda one: (-sizes[one], one))
    for language in languages:
        for form in (word, word.lower()):
            row = vocabulary.find(language, form)
            if row is not None:
                return language, row
    words = [other for language in languages for other in vocabulary.rows(language)]
    raise MissingInputError(f"no word of the store is {word!r}{_suggestions(word, words)}")


def _pair_counts(store: Store, keys: NDArray[np.int64]) -> list[int]:
    """Return how often each pair of words occurs together."""
    totals = np.zeros(len(keys), np.int64)
    for piece in store.pairs():
        at = np.minimum(np.searchsorted(piece.keys, keys), len(piece.keys) - 1)
        present = piece.keys[at] == keys
        totals[present] = piece.counts[at[present]]
    return totals.tolist()


def _suggestions(word: str, words: list[str]) -> str:
    """Return similar words that have the same first two letters, for a message."""
    import difflib

    candidates = [other for other in words if other[:2] == word[:2].lower()]
    close = difflib.get_close_matches(word.lower(), candidates, n=SUGGESTIONS)
    return f"; near ones: {', '.join(close)}" if close else ""


def iterate_links(store: Store) -> Iterator[Link]:
    """Yield every link once, by word number."""
    with store.frozen():
        networks, state = _open(store, None, _LINKS_ONLY)
        langs, words = state.vocabulary.langs, state.vocabulary.words
        network = networks.by_lang[""]
        for row in range(len(network.starts) - 1):
            for i in range(int(network.starts[row]), int(network.starts[row + 1])):
                other = int(network.neighbours[i])
                if other > row:
                    yield Link(langs[row], words[row], words[other], float(network.weights[i]))
