"""Samples of 20 Newsgroups as matrices, by the protocols that the χ-Sim papers leave open.

`20ng/subsets.json` lists the samples; all that are present are used. A `Protocol` states what a
document is, how its words are selected, what the entries of the matrix are, and how a similarity
becomes a distance for Ward linkage.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from segapsith.arrays import Rows
from segapsith.errors import InputError, MissingInputError
from segapsith.model import Document, Lexicon
from segapsith.parallel.serial import Serial
from segapsith.parallel.tasks import Shared
from segapsith.plugin.contracts import Executor
from segapsith_reproduce import Options
from segapsith_reproduce.alternating_medoids import AlternatingMedoids
from segapsith_reproduce.cells import LabelledRows, plugins
from segapsith_reproduce.feature_selection import (
    Information,
    by_medoids,
    by_mutual_information,
    document_frequency,
)

__all__ = [
    "N_PAPER_SAMPLES", "SUBSETS", "Protocol", "Sample", "SampleTexts", "absent_notes", "groups", "matrices",
    "rows_of_sample", "sample_numbers", "samples", "with_samples",
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

    @property
    def name(self) -> str:
        """The name of its rows."""
        return " ".join(str(part) for part in self.cell())


# --- which samples there are --------------------------------------------------------------


@cache
def _subsets(folder: Path) -> Any:
    path = folder / "subsets.json"
    if not path.is_file():
        raise MissingInputError(f"there is no file {path}")
    try:
        return json.loads(path.read_text(encoding="utf-8"))["subsets"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} should be a JSON object with `subsets`: {error}") from error


def samples(data: Path, subset: str) -> list[list[str]]:
    """Return the identifiers of each sample that is present; an empty one is not."""
    by_number = _subsets(data / "20ng").get(subset, {}).get("samples", {})
    return [by_number[number] for number in sorted(by_number, key=int) if by_number[number]]


def groups(data: Path, subset: str) -> list[str]:
    """Return the newsgroups of a subset, from its first sample."""
    return sorted({uid.split("/")[0] for uid in samples(data, subset)[0]})


def sample_numbers(data: Path, subset: str, options: Options) -> range:
    """Return the positions of the samples that a table uses."""
    limit = options.repetitions or (2 if options.quick else N_PAPER_SAMPLES)
    return range(min(len(samples(data, subset)), limit))


def with_samples(data: Path, subsets: Sequence[str]) -> list[str]:
    """Return the subsets that have a sample."""
    usable = [name for name in subsets if samples(data, name)]
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


@dataclass(frozen=True, slots=True)
class SampleTexts:
    """The texts of a sample and how their words are selected."""

    texts: tuple[str, ...]
    classes: Sequence[str]
    protocol: Protocol
    seed: int
    n_words: int


def _drawn(sample: Sample) -> SampleTexts:
    """Read the texts of a sample."""
    folder = sample.data / "20ng"
    uids = samples(sample.data, sample.subset)[sample.number]
    known = _texts(folder)
    if absent := [uid for uid in uids if uid not in known]:
        raise InputError(
            f"{folder / 'docs.jsonl.gz'} lacks {len(absent)} documents of sample {sample.number} of"
            f" {sample.subset}, such as {absent[0]}"
        )
    texts = [known[uid] for uid in uids]
    if sample.protocol.text == "headers":
        headers = _headers(folder)
        texts = [f"{headers.get(uid, '')}\n{text}" for uid, text in zip(uids, texts, strict=True)]
    classes = [uid.split("/")[0] for uid in uids]
    return SampleTexts(tuple(texts), classes, sample.protocol, sample.seed, sample.n_words)


@lru_cache(maxsize=8)
def _counts(texts: tuple[str, ...]) -> Rows:
    """Return documents × words."""
    columns: dict[str, int] = {}
    rows, places = [], []
    for row, forms in enumerate(_forms(list(texts))):
        for form in forms:
            rows.append(row)
            places.append(columns.setdefault(form, len(columns)))
    counts = csr_array((np.ones(len(rows)), (rows, places)), shape=(len(texts), len(columns)))
    counts.sum_duplicates()
    return counts


def rows_of_sample(drawn: SampleTexts, shared: Shared) -> Rows:
    """Return the selected words in the documents of a sample: the task `reproduce-rows`."""
    counts = _counts(drawn.texts)
    entries = counts if drawn.protocol.values == "counts" else _presence(counts)
    words = drawn.protocol.words
    if words in INFORMATION:
        columns = by_mutual_information(
            counts, drawn.classes, drawn.n_words, of=INFORMATION[words], min_rows=2
        )
    else:
        columns = by_medoids(entries, _medoids(counts, drawn))
    return csr_array(entries[:, columns])


_selected: dict[Sample, LabelledRows] = {}


def matrices(
    wanted: Iterable[Sample], executor: Executor | None = None
) -> dict[Sample, LabelledRows]:
    """Return the selected words in the documents of each sample, and the group of each document.

    What was selected before is not selected again.
    """
    listed = list(dict.fromkeys(wanted))
    missing = [sample for sample in listed if sample not in _selected]
    drawn = (_drawn(sample) for sample in missing)
    selected = (executor or Serial()).map("reproduce-rows", drawn)
    for sample, rows in zip(missing, selected, strict=True):
        classes = [uid.split("/")[0] for uid in samples(sample.data, sample.subset)[sample.number]]
        _selected[sample] = LabelledRows(rows, classes)
    return {sample: _selected[sample] for sample in listed}


def _medoids(counts: Rows, sample: SampleTexts) -> Any:
    """Return a clusterer that has `medoids_`, which is beyond the contract of a clusterer."""
    n = min(sample.n_words, int((document_frequency(counts) >= 2).sum()))
    if sample.protocol.words == "random medoids":
        return AlternatingMedoids(k=n, seed=sample.seed)
    return (
        plugins().make("clusterer", "kmedoids", {"k": n, "n_init": 1, "seed": sample.seed}).plugin
    )


def _presence(rows: Rows) -> Rows:
    return csr_array((np.ones_like(rows.data), rows.indices, rows.indptr), shape=rows.shape)
