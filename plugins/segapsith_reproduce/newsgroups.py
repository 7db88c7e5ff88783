"""Samples of 20 Newsgroups as matrices, by the protocols that the χ-Sim papers leave open.

`20ng/subsets.json` lists the samples; all that are present are used. A `Protocol` states what a
document is, how its words are selected, what the entries of the matrix are, and how a similarity
becomes a distance for Ward linkage.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from segapsith.arrays import Rows
from segapsith.errors import MissingInputError
from segapsith.model import Document, Lexicon
from segapsith_reproduce import Options
from segapsith_reproduce.alternating_medoids import AlternatingMedoids
from segapsith_reproduce.cells import plugins
from segapsith_reproduce.feature_selection import (
    Information,
    by_medoids,
    by_mutual_information,
    document_frequency,
)

__all__ = [
    "N_PAPER_SAMPLES", "SUBSETS", "Protocol", "Sample", "absent_notes", "groups", "matrix",
    "sample_numbers", "samples", "with_samples",
]  # fmt: skip

SUBSETS = ("M2", "M5", "M10", "NG1", "NG2", "NG3")
N_PAPER_SAMPLES = 10

INFORMATION: Mapping[str, Information] = {
    "information": "presence", "class": "class", "counts": "counts", "pointwise": "pointwise",
    "smoothed": "smoothed",
}  # fmt: skip
"""Names of word selections that use the classes."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """What a paper leaves open when it turns messages into clusters."""

    words: str
    """A key of `INFORMATION`; `medoids` (exchange search) or `random medoids` (random start)."""
    text: str = "bodies"
    """`bodies`, or `headers`: every header except Subject is part of the document."""
    values: str = "counts"
    """Entries of the matrix, also where medoids are searched: `counts` or `presence`."""
    distance: str = "one-minus"
    """For Ward linkage: `one-minus` is 1 - s, `euclidean` is sqrt(2 (1 - s))."""

    def __str__(self) -> str:
        """Return the four choices, separated by commas."""
        return f"{self.text}, {self.words}, {self.values}, {self.distance}"


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample of a subset under one protocol."""

    data: Path
    subset: str
    number: int
    protocol: Protocol
    seed: int
    n_words: int = 2000

    def cell(self, *method: object) -> tuple[object, ...]:
        """Return the key of a cell in the cached results."""
        return ("20ng", self.protocol, self.n_words, self.subset, self.number, self.seed, *method)


# --- which samples there are --------------------------------------------------------------


@cache
def _subsets(folder: Path) -> Any:
    return json.loads((folder / "subsets.json").read_text(encoding="utf-8"))["subsets"]


def samples(data: Path, subset: str) -> list[list[str]]:
    """Return the identifiers of each sample that is present."""
    by_number = _subsets(data / "20ng")[subset]["samples"]
    return [by_number[number] for number in sorted(by_number, key=int)]


def groups(data: Path, subset: str) -> list[str]:
    """Return the newsgroups of a subset, from its first sample."""
    return sorted({uid.split("/")[0] for uid in samples(data, subset)[0]})


def sample_numbers(data: Path, subset: str, options: Options) -> range:
    """Return the positions of the samples that a table uses."""
    limit = options.repetitions or (2 if options.quick else N_PAPER_SAMPLES)
    return range(min(len(samples(data, subset)), limit))


def with_samples(data: Path, subsets: Sequence[str]) -> list[str]:
    """Return the subsets that have a sample."""
    listed = _subsets(data / "20ng")
    usable = [name for name in subsets if listed.get(name, {}).get("samples")]
    if not usable:
        raise MissingInputError(f"{data / '20ng'} has no samples of {', '.join(subsets)}")
    return usable


def absent_notes(data: Path, subsets: Sequence[str]) -> list[str]:
    """Return notes on subsets and samples that are missing."""
    usable = with_samples(data, subsets)
    absent = [name for name in subsets if name not in usable]
    notes = [f"Left out, because there are no samples: {', '.join(absent)}."] if absent else []
    counts = {name: len(samples(data, name)) for name in usable}
    few = [f"{name} {n}" for name, n in counts.items() if n < N_PAPER_SAMPLES]
    if few:
        notes.append(f"Samples present, of the paper's {N_PAPER_SAMPLES}: {', '.join(few)}.")
    return notes


# --- texts and matrices -------------------------------------------------------------------


@cache
def _texts(folder: Path) -> dict[str, str]:
    with gzip.open(folder / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {entry["id"]: entry["text"] for entry in map(json.loads, lines)}


@cache
def _headers(folder: Path) -> dict[str, str]:
    with gzip.open(folder / "headers.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {
            entry["id"]: "\n".join(
                f"{name} {value}" for name, value in entry["headers"].items() if name != "Subject"
            )
            for entry in map(json.loads, lines)
        }


_RUN = re.compile(r"[a-z]{2,}")


def _forms(texts: list[str]) -> Iterator[list[str]]:
    """Yield the words of each text: runs of letters in lower case, inflected, without stop words.

    Addresses and names of groups are split into their parts, so headers contribute words.
    """
    runs = [_RUN.findall(text.lower()) for text in texts]
    content = _content(sorted({form for forms in runs for form in forms}))
    return ([form for form in forms if form in content] for forms in runs)


def _content(forms: list[str]) -> set[str]:
    """Return the words that are not stop words.

    They are annotated outside the main thread, where no time limit applies: on a busy machine the
    limit could stop a plugin that works.
    """
    annotator = plugins().make("annotator", "simplemma", {})
    document = Document(uid="words", body="\n".join(forms), lang="en")
    with ThreadPoolExecutor(1) as pool:
        task = pool.submit(lambda: list(annotator.annotate([document], Lexicon())))
        (annotation,) = task.result()
    spans = zip(annotation.spans.tolist(), annotation.content, strict=True)
    return {document.text[start:end] for (start, end), content in spans if content}


_counted: dict[tuple[Path, str, int, str], Rows] = {}


def _counts(sample: Sample) -> Rows:
    """Return documents × words of one sample; the last few are cached."""
    key = (sample.data, sample.subset, sample.number, sample.protocol.text)
    if key not in _counted:
        folder = sample.data / "20ng"
        uids = samples(sample.data, sample.subset)[sample.number]
        texts = [_texts(folder)[uid] for uid in uids]
        if sample.protocol.text == "headers":
            headers = _headers(folder)
            texts = [
                f"{headers.get(uid, '')}\n{text}" for uid, text in zip(uids, texts, strict=True)
            ]
        columns: dict[str, int] = {}
        rows, places = [], []
        for row, forms in enumerate(_forms(texts)):
            for form in forms:
                rows.append(row)
                places.append(columns.setdefault(form, len(columns)))
        shape = (len(uids), len(columns))
        counts = csr_array((np.ones(len(rows)), (rows, places)), shape=shape)
        counts.sum_duplicates()
        if len(_counted) >= 8:
            del _counted[next(iter(_counted))]
        _counted[key] = counts
    return _counted[key]


_selected: dict[Sample, Rows] = {}


def matrix(sample: Sample) -> tuple[Rows, list[str]]:
    """Return the selected words in the documents of one sample, and the group of each document."""
    classes = [uid.split("/")[0] for uid in samples(sample.data, sample.subset)[sample.number]]
    if sample not in _selected:
        counts = _counts(sample)
        entries = counts if sample.protocol.values == "counts" else _presence(counts)
        words = sample.protocol.words
        if words in INFORMATION:
            columns = by_mutual_information(
                counts, classes, sample.n_words, of=INFORMATION[words], min_rows=2
            )
        else:
            columns = by_medoids(entries, _medoids(counts, sample))
        _selected[sample] = csr_array(entries[:, columns])
    return _selected[sample], classes


def _medoids(counts: Rows, sample: Sample) -> Any:
    """Return a clusterer that has `medoids_`, which is beyond the contract of a clusterer."""
    n = min(sample.n_words, int((document_frequency(counts) >= 2).sum()))
    if sample.protocol.words == "random medoids":
        return AlternatingMedoids(k=n, seed=sample.seed)
    return (
        plugins().make("clusterer", "kmedoids", {"k": n, "n_init": 1, "seed": sample.seed}).plugin
    )


def _presence(rows: Rows) -> Rows:
    return csr_array((np.ones_like(rows.data), rows.indices, rows.indptr), shape=rows.shape)
