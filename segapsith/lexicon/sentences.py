"""Sentences that represent a text or a group of texts, chosen by the words they contain.

Words are lemmas, and texts contain inflected forms. A word of a sentence therefore matches a lemma
if it begins like it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["Passage", "best_sentence", "shortened", "typical_sentences"]

MIN_TOKENS, MAX_TOKENS = 4, 60
"""Distinct words of a typical sentence."""

PREFIX = 5
"""Characters by which `best_sentence` compares words."""

_TYPICAL_END = re.compile(r"(?<=[.!?…»”\"])\s+(?=[A-ZÀ-Ý0-9«“\"])|\n\s*\n")
_SENTENCE_END = re.compile(r"(?<=[.!?…»”])\s+(?=[\w«“\"'(—–-])|\n+")
_LETTERS = re.compile(r"[^\W\d_]+")
_TOKEN = re.compile(r"\w+")


class Passage(NamedTuple):
    """A text, or a sentence of it, with the unit and the document that it belongs to."""

    unit: int
    document: str
    text: str


def typical_sentences(
    passages: Iterable[Passage], weights: Mapping[str, float], *, most: int
) -> list[Passage]:
    """Return the sentences with the highest weight of words per root of length, one per document.

    >>> storm = Passage(7, "a", "It rained. A storm reached the northern coast. It is late now.")
    >>> typical_sentences([storm], {"storm": 0.9, "coast": 0.5}, most=1)
    [Passage(unit=7, document='a', text='A storm reached the northern coast.')]
    """
    beginnings = [(f" {_stem(word)}", weight) for word, weight in weights.items()]
    best: dict[str, tuple[float, Passage]] = {}
    for passage in passages:
        for sentence in _TYPICAL_END.split(passage.text):
            tokens = set(_LETTERS.findall(sentence.lower()))
            if not MIN_TOKENS <= len(tokens) <= MAX_TOKENS:
                continue
            score = _weight(tokens, beginnings) / len(tokens) ** 0.5
            if score > (best[passage.document][0] if passage.document in best else 0.0):
                best[passage.document] = (
                    score,
                    passage._replace(text=" ".join(sentence.split())),
                )
    ranked = sorted((-score, passage) for score, passage in best.values())
    return [passage for _, passage in ranked[:most]]


def _weight(tokens: set[str], beginnings: Sequence[tuple[str, float]]) -> float:
    """Return the total weight of the stems with which some token begins; a blank is before each."""
    spaced = f" {' '.join(tokens)}"
    return sum([weight for beginning, weight in beginnings if beginning in spaced])


def _stem(word: str) -> str:
    """Return the common beginning of the forms of a word; of a term, of its last word.

    >>> _stem("rate"), _stem("storms"), _stem("interest rate")
    ('rate', 'stor', 'rate')
    """
    last = word.split(" ")[-1]
    return last if len(last) < 5 else last[: max(4, len(last) - 2)]


def best_sentence(text: str, words: Iterable[str], *, max_chars: int) -> str | None:
    """Return the sentence with the most of the given words, shortened; None if there is no text.

    >>> best_sentence("It rained. Storms reached the coast.", ["storm", "coast"], max_chars=80)
    'Storms reached the coast.'
    """
    stems = {part[:PREFIX].casefold() for word in words for part in word.split()}
    sentences = [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]
    if not sentences:
        return None

    def n_shared(sentence: str) -> int:
        return len({token[:PREFIX].casefold() for token in _TOKEN.findall(sentence)} & stems)

    return shortened(max(sentences, key=n_shared), max_chars)  # the first of equals


def shortened(text: str, max_chars: int) -> str:
    """Return a text of at most `max_chars` characters, cut between words.

    >>> shortened("the storm came at night", 16)
    'the storm came …'
    """
    line = " ".join(text.split())
    if len(line) <= max_chars:
        return line
    head, space, _ = line[: max_chars - 1].rpartition(" ")
    return f"{head} …" if space else f"{line[: max_chars - 1]}…"
