"""Questions about the collocation network of a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainIndex, PlacementSettings
from segapsith.engine.network_state import NETWORK, NetworkState
from segapsith.engine.records import Frozen
from segapsith.engine.state import State
from segapsith.errors import MissingInputError
from segapsith.lexicon.cooccurrence import key_of
from segapsith.lexicon.multiword_terms import lexicon_terms
from segapsith.lexicon.network import NetworkSettings
from segapsith.model import Lexicon, Network
from segapsith.plugin.contracts import NETWORK_PARTS
from segapsith_store.store import Store

__all__ = ["lexicon", "links", "near", "network", "status"]

SUGGESTED = 5


def _settings(store: Store, wanted: NetworkSettings | None) -> NetworkSettings:
    """Those that the store's network was frozen with; if none was, those that are wanted."""
    facts = store.facts()
    if NETWORK in facts:
        return NetworkSettings(**facts[NETWORK])
    chosen = wanted or NetworkSettings()
    return replace(chosen, window=int(facts.get("pair_window", chosen.window)))


def _opened(
    store: Store, settings: NetworkSettings | None, uses: frozenset[str]
) -> tuple[NetworkState, State]:
    """The network that texts are read with now, or would be if a segmenter used one."""
    state = State(
        DomainIndex(PlacementSettings()), network=_settings(store, settings), network_parts=uses
    )
    state.restore_counts(store.words(), store.languages(), store.cohesion(), store.facts())
    frozen = store.frozen_arrays("frequencies")
    if frozen is not None:
        state.freeze(Frozen.of(dict(frozen.arrays)))
    state.network.open(store)
    return state.network, state


def network(
    store: Store,
    lang: str,
    settings: NetworkSettings | None = None,
    uses: frozenset[str] = NETWORK_PARTS,
) -> Network:
    """The network of one language."""
    return _opened(store, settings, uses)[0].of(lang)


def lexicon(store: Store) -> Lexicon:
    """The multi-word terms that texts are read with."""
    return Lexicon(int(store.facts().get("counter_epoch", 0)), lexicon_terms(store.terms(), {}))


def status(store: Store, settings: NetworkSettings | None = None) -> dict[str, Any]:
    """How large the network is, what it was made with, and what it takes."""
    with store.frozen():
        chosen = _settings(store, settings)
        found, state = _opened(store, chosen, frozenset({"network"}))
        kept = store.row("SELECT ordinal, length(arrays) FROM epochs WHERE name = ?", [NETWORK])
        references = store.references()
        langs = {}
        for lang in sorted({*state.frequencies.totals, *(r.lang for r in references)}):
            own = found.of(lang)
            rows = np.fromiter(own.rows.values(), np.int64, len(own.rows))
            degrees = np.diff(own.starts)
            degrees = degrees[rows[rows < len(degrees)]]
            tokens = state.frequencies.totals.get(lang, (0, 0))[1]
            corpus = sum(r.tokens for r in references if r.lang == lang)
            if not tokens + corpus:
                continue
            langs[lang] = {
                "words": int((degrees > 0).sum()),
                "links": int(degrees.sum()) // 2,
                "tokens": tokens,
                "reference_tokens": corpus,
                "min_count": chosen.least_count(tokens + corpus),
                "mean_cohesion": own.mean_cohesion,
            }
        pairs = met = 0
        for piece in store.pairs():
            pairs += len(piece.keys)
            met += int(piece.counts.sum())
        return {
            "normalizer": chosen.normalizer,
            "min_cohesion": chosen.least_cohesion,
            "window": chosen.window,
            "most_links": chosen.most_links,
            "words": sum(one["words"] for one in langs.values()),
            "links": sum(one["links"] for one in langs.values()),
            "pairs": pairs,
            "met": met,
            "tokens": sum(one["tokens"] + one["reference_tokens"] for one in langs.values()),
            "frozen": kept is not None,
            "epoch": found.epoch,
            "ordinal": kept[0] if kept else state.counters.ordinal,
            "languages": langs,
            "references": [
                {"run": r.run, "lang": r.lang, "documents": r.documents, "words": r.tokens}
                for r in references
            ],
            "bytes": (kept[1] if kept else 0)
            + store.number("SELECT sum(length(pairs) + length(counts)) FROM pair_runs"),
        }


def near(
    store: Store,
    word: str,
    lang: str | None = None,
    top: int = 20,
    settings: NetworkSettings | None = None,
) -> dict[str, Any]:
    """The words that keep a word company, the closest first, and how often they met."""
    with store.frozen():
        found, state = _opened(store, settings, frozenset({"network"}))
        sizes = Counter(one for one in state.vocabulary.langs if one)
        langs = [lang] if lang else sorted(sizes, key=lambda one: (-sizes[one], one))
        place = next(
            (
                (one, row)
                for one in langs
                for form in (word, word.lower())
                if (row := state.vocabulary.find(one, form)) is not None
            ),
            None,
        )
        if place is None:
            known = [w for one in langs for w in state.vocabulary.rows(one)]
            raise MissingInputError(f"no word of the store is {word!r}{_alike(word, known)}")
        chosen, row = place
        own = found.of(chosen)
        name = state.vocabulary.word(row)
        neighbours = np.zeros(0, np.int64)
        weights = np.zeros(0, np.float32)
        if row < len(own.starts) - 1:
            part = slice(own.starts[row], own.starts[row + 1])
            neighbours, weights = own.neighbours[part].astype(np.int64), own.weights[part]
        order = np.lexsort((neighbours, -weights))[:top]
        best = neighbours[order].tolist()
        met = _counts(store, np.array([key_of(row, other) for other in best], np.int64))
        return {
            "word": name,
            "lang": chosen,
            "occurrences": int(state.frequencies.occurrences[row])
            + sum(int(r.occurrences[r.words == row].sum()) for r in store.references()),
            "significance": float(own.significance[row]) if row < len(own.significance) else 1.0,
            "links": len(neighbours),
            "neighbours": [
                {"word": own.words[other], "cohesion": float(weight), "met": count}
                for other, weight, count in zip(best, weights[order], met, strict=True)
            ],
        }


def _counts(store: Store, keys: NDArray[np.int64]) -> list[int]:
    """How often each of some pairs met."""
    found = np.zeros(len(keys), np.int64)
    for piece in store.pairs():
        at = np.minimum(np.searchsorted(piece.keys, keys), len(piece.keys) - 1)
        here = piece.keys[at] == keys
        found[here] = piece.counts[at[here]]
    return found.tolist()


def _alike(word: str, known: list[str]) -> str:
    """Words that look like one that is not there; those of its beginning are looked at."""
    import difflib

    begun = [other for other in known if other[:2] == word[:2].lower()]
    close = difflib.get_close_matches(word.lower(), begun, n=SUGGESTED)
    return f"; near ones: {', '.join(close)}" if close else ""


def links(store: Store) -> Iterator[dict[str, Any]]:
    """Every link once: language, both words, cohesion."""
    found, state = _opened(store, None, frozenset({"network"}))
    langs, words = state.vocabulary.langs, state.vocabulary.words
    own = found.of("")
    for row in range(len(own.starts) - 1):
        for i in range(int(own.starts[row]), int(own.starts[row + 1])):
            other = int(own.neighbours[i])
            if other > row:
                yield {
                    "lang": langs[row],
                    "word": words[row],
                    "neighbour": words[other],
                    "cohesion": float(own.weights[i]),
                }
