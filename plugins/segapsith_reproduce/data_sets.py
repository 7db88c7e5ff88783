"""Evaluation data for the tables: JSON lines, annotated texts, reference networks."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from segapsith.engine.network_state import ENOUGH_WORDS, RANK
from segapsith.lexicon.cooccurrence import counted
from segapsith.lexicon.network import NetworkSettings, network_of
from segapsith.lexicon.word_vectors import both_spaces, learn_pair_points, learn_points
from segapsith.model import Annotation, Document, Lexicon, Network
from segapsith.plugin.registry import load_plugins
from segapsith_reproduce import Options

__all__ = ["annotated", "content", "evenly", "lang_of", "lines", "reference_network"]


def lines(data: Path, name: str) -> list[dict[str, Any]]:
    """Return the documents of a set."""
    with gzip.open(data / name / "docs.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def lang_of(name: str) -> str:
    """Return the language of a set, given by the end of its name."""
    return "fr" if name.endswith("-fr") else "en"


def evenly(items: Sequence[Any], limit: int) -> list[Any]:
    """Return at most `limit` items, evenly spaced from the first to the last.

    >>> evenly([0, 1, 2, 3, 4], 3)
    [0, 2, 4]
    """
    if limit >= len(items):
        return list(items)
    return [items[i] for i in np.linspace(0, len(items) - 1, limit).astype(int)]


def annotated(
    texts: Iterable[str], lang: str, lexicon: Lexicon | None = None
) -> Iterator[Annotation]:
    """Return texts without titles, annotated by the default annotator with the terms of `lexicon`."""
    documents = [Document(str(i), "", text, lang=lang) for i, text in enumerate(texts)]
    annotator = load_plugins(only_own=True).make("annotator", "simplemma")
    annotations: Iterator[Annotation] = annotator.annotate(documents, lexicon or Lexicon())
    return annotations


def content(annotation: Annotation) -> list[str]:
    """Return the content words of a text, in order."""
    return [annotation.lemmas[i] for i in np.flatnonzero(annotation.content).tolist()]


def reference_network(
    data: Path, names: Sequence[str], options: Options, settings: NetworkSettings | None = None
) -> Network:
    """Learn the co-occurrence network and the word vectors of some corpora, as a store does.

    With `options.quick`, only every fifth text is read.
    """
    lang = lang_of(names[0])
    words: list[list[str]] = []
    for name in names:
        texts = [str(d.get("text") or "") for d in lines(data, name)]
        texts = texts[:: 5 if options.quick else 1]
        for number, annotation in enumerate(annotated(texts, lang)):
            if number % 200 == 0:
                options.tell(f"reading {name}: {number} of {len(texts)} texts")
            words.append(content(annotation))
    options.tell("learning the network")
    network = network_of(words, settings)
    options.tell("learning the word vectors")
    rows = np.array([network.rows[word] for text in words for word in text], np.int32)
    ends = np.cumsum([len(text) for text in words])
    spaces = [learn_points(rows, ends, rank=RANK)]
    if len(rows) >= ENOUGH_WORDS:
        occurrences = np.bincount(rows, minlength=len(network.words))
        spaces.append(learn_pair_points(counted(rows, ends=ends), occurrences))
    points = both_spaces(spaces)
    vectors = np.zeros((len(network.words), points.vectors.shape[1]), np.float32)
    vectors[points.words] = points.vectors
    return replace(network, vectors=vectors)
