"""Measure the similarity `vectors` beside `cosine` and `lsa`: clusters of labelled stories.

The vectors are made here, from the texts of other collections without their labels: positive
pointwise mutual information of words of a story, reduced by a singular value decomposition. With
`--file` other vectors are measured. The evaluation data is below SEGAPSITH_DATA.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

import segapsith
from segapsith import metrics
from segapsith.lexicon.vocabulary import tf_idf

DATA = Path(os.environ.get("SEGAPSITH_DATA", Path(__file__).parents[2] / "shared" / "data"))
WORD = re.compile(r"[a-z]{3,}")
SIZE = 100
"""Length of the vectors that are made here."""


def stories(name: str) -> list[dict[str, Any]]:
    with gzip.open(DATA / name / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def counted(
    texts: Iterable[str], least: int, words: Sequence[str] = ()
) -> tuple[csr_array, list[str]]:
    """Return counts of words by text, and the words: given ones, or those in `least` texts."""
    bags = [Counter(WORD.findall(text.lower())) for text in texts]
    if not words:
        frequency = Counter(word for bag in bags for word in bag)
        words = sorted(word for word, n in frequency.items() if least <= n <= len(bags) // 5)
    places = {word: place for place, word in enumerate(words)}
    triples = [
        (row, places[word], n) for row, bag in enumerate(bags) for word, n in bag.items()
        if word in places
    ]  # fmt: skip
    rows, columns, counts = np.array(triples).T
    return csr_array((counts.astype(float), (rows, columns)), (len(bags), len(words))), list(words)


def make_vectors(path: Path, names: Sequence[str]) -> None:
    """Write vectors of the words of collections, as GloVe writes them."""
    texts = [story["title"] + " " + story["text"] for name in names for story in stories(name)]
    rows, words = counted(texts, 20)
    present = (rows > 0).astype(float)
    together = (present.T @ present).tocoo()
    sums = present.sum(axis=0)
    information = np.log(together.data * len(texts) / (sums[together.row] * sums[together.col]))
    positive = csr_array(
        (np.maximum(information, 0), (together.row, together.col)), shape=together.shape
    )
    left, values, _ = svds(positive, k=SIZE, v0=np.ones(len(words)))
    vectors = left * np.sqrt(values)
    with path.open("w", encoding="utf-8") as out:
        for word, vector in zip(words, vectors, strict=True):
            out.write(word + " " + " ".join(f"{value:.5f}" for value in vector) + "\n")


def scores(name: str, n_stories: int, file: Path) -> None:
    chosen = stories(name)[:: max(1, len(stories(name)) // n_stories)][:n_stories]
    counts, words = counted((story["title"] + " " + story["text"] for story in chosen), 2)
    classes = [str(story["label"]) for story in chosen]
    rows = tf_idf(counts)
    k = len(set(classes))
    for similarity, settings in (
        ("cosine", {}), ("lsa", {"rank": 50}),
        ("vectors", {"file": str(file)}),
        ("vectors", {"file": str(file), "unknown": "ignored"}),
    ):  # fmt: skip
        measure = segapsith.similarity(similarity, **settings)
        if similarity == "vectors":
            measure.name_columns(words)
        measure.learn(rows)
        for linkage in ("average", "ward"):
            clusterer = segapsith.clusterer("ahc", k=k, linkage=linkage)
            labels = clusterer.cluster(rows, measure.compare)
            agreement = metrics.nmi(labels, classes), metrics.micro_precision(labels, classes)
            shown = " ".join([similarity, *(f"{v}" for n, v in settings.items() if n != "file")])
            print(
                f"{name:14} {len(chosen):5} stories  ahc {linkage:8} {shown:16}"
                f" NMI {agreement[0]:.3f}  precision {agreement[1]:.3f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", type=Path, help="vectors to measure (default: made here)")
    parser.add_argument("--stories", type=int, default=600, help="stories of each collection")
    parser.add_argument("--from", dest="names", nargs="+", default=["reuters21578", "huffpost"])
    parser.add_argument("--on", nargs="+", default=["bbc-news", "ag-news-test"])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = given.file or Path(folder, "vectors.txt")
        if given.file is None:
            make_vectors(file, given.names)
        for name in given.on:
            scores(name, given.stories, file)


if __name__ == "__main__":
    main()
