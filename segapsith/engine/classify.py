"""Which domains a text belongs to, without learning it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from segapsith.domains.explanation import explain_similarity
from segapsith.domains.values import Bag
from segapsith.engine.arrivals import sound
from segapsith.engine.components import Components
from segapsith.engine.reading import read
from segapsith.engine.state import load_state
from segapsith.engine.storage import Storage
from segapsith.errors import UsageError
from segapsith.model import Document, Reject

__all__ = ["Classifier", "classify"]


def classify(
    document: Document,
    components: Components,
    storage: Storage,
    *,
    top: int = 3,
) -> dict[str, Any]:
    """Return the `top` nearest domains of each unit of a text; nothing is learned."""
    checked = sound(document)
    if isinstance(checked, Reject):
        raise UsageError(f"this cannot be classified: {checked.reason}")
    return Classifier(storage, components, components.language(checked)).nearest(checked, top)


class Classifier:
    """What a store has learned in one language, loaded once to classify any number of texts."""

    def __init__(self, storage: Storage, components: Components, lang: str) -> None:
        self._components, self._lang = components, lang
        # it numbers words that the store does not have, so it is not to be learned with
        self._state = load_state(storage, components, lang)

    def classify(self, text: str, top: int = 3) -> dict[str, Any]:
        """Return the `top` nearest domains of each unit of a text, as `classify` does."""
        return self.nearest(Document(body=text), top)

    def nearest(self, document: Document, top: int) -> dict[str, Any]:
        """Return the `top` nearest domains of each unit of a document."""
        state, lang, measure = self._state, self._lang, self._components.measure
        compare = None if measure is None else measure.compare_both_ways
        domains, vocabulary = state.domains, state.vocabulary
        (readings,) = read(
            [replace(document, lang=lang)],
            annotator=self._components.annotator,
            segmenter=self._components.segmenter,
            lexicon=state.lexicon,
            networks={lang: state.network.by_lang[lang]},
        )
        words = state.numbered(lang, readings.vocabulary)[readings.words]
        units = []
        for unit in readings.units[0]:
            bag = state.bag(lang, words[unit.first_word : unit.last_word])
            nearest = domains.nearest(
                bag, top, compare, len(vocabulary), story=state.counters.ordinal + 1
            )
            units.append(
                {
                    "start": unit.start,
                    "end": unit.end,
                    "cohesion": unit.cohesion,
                    "kept": unit.kept,
                    "words": {
                        vocabulary.word(int(word)): int(count)
                        for word, count in zip(bag.words, bag.counts, strict=True)
                    },
                    "domains": [self._near(bag, domain, score) for domain, score in nearest],
                }
            )
        return {"lang": lang, "threshold": domains.settings.threshold, "units": units}

    def _near(self, bag: Bag, domain: int, score: float) -> dict[str, Any]:
        domains = self._state.domains
        return {
            "id": domain,
            "label": self._state.rows[domain].label,
            **explain_similarity(domains, domain, bag).as_json(self._state.vocabulary.word),
            "score": round(score, 6),
            "joins": score >= domains.settings.threshold,
        }
