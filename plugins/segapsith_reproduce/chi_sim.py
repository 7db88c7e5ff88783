"""Tables 2 and 3 and figure 2 of the χ-Sim paper, on samples of 20 Newsgroups.

Table 2 selects 2,000 words by supervised mutual information. Table 3 selects them by k-medoids of
word vectors, without the words of a single document. Ward linkage on √(2(1 - s)) makes as many
clusters as there are groups. The score is micro-averaged precision, mean and deviation over the
samples.

The paper leaves two things open, so several protocols are computed. A document is its body
(`bodies`), or its body and every header but Subject (`headers`). Mutual information is that of the
presence of a word with the class, with a single class, or pointwise; the last two are the largest
over the classes.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from segapsith.arrays import Matrix, Rows, State
from segapsith.errors import MissingInputError
from segapsith.model import Document, Lexicon
from segapsith_reproduce import Options, Table
from segapsith_reproduce.cells import (
    NO_PRINTED,
    Printed,
    Results,
    hierarchical_labels,
    mean_and_sd,
    plugins,
    scores_of,
    selected,
    significantly_better,
    truncated,
)
from segapsith_reproduce.feature_selection import (
    Information,
    by_medoids,
    by_mutual_information,
    document_frequency,
)
from segapsith_reproduce.score_charts import Score, by_set, curves, sheet

__all__ = [
    "PRINTED", "SUBSETS", "figure", "matrix", "sample_numbers", "samples", "table", "with_samples",
]  # fmt: skip

SUBSETS = ("M2", "M5", "M10", "NG1", "NG2", "NG3")
QUICK = ("M5", "M10", "NG1")
SHARES = tuple(p / 10 for p in range(10))
RANKS = tuple(range(10, 201, 10))

PRINTED: Mapping[str, Printed] = {"M10": Printed(0.78, 0.80), "M5": Printed(0.96, 0.97)}
"""The figures of table 2 that are quoted with the data set: ranges over rows that are not named."""
PROPOSED = ("chi-sim", "chi-sim p", "chi-sim k", "chi-sim k p")
"""The rows that the paper proposes."""

PROTOCOLS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "information": {
        "bodies, one class": ("bodies", "class"),
        "headers, one class": ("headers", "class"),
        "bodies, pointwise": ("bodies", "pointwise"),
        "bodies": ("bodies", "information"),
        "headers": ("headers", "information"),
    },
    "medoids": {"bodies": ("bodies", "medoids"), "headers": ("headers", "medoids")},
}
"""For both tables: name of a protocol, text of a document, and how its words are selected."""
INFORMATION: Mapping[str, Information] = {
    "information": "presence", "class": "class", "pointwise": "pointwise",
}  # fmt: skip

METHODS: Mapping[str, tuple[str, list[dict[str, Any]], dict[str, Any]]] = {
    "cosine": ("cosine", [{}], {}),
    "lsa": ("lsa", [{"rank": rank} for rank in RANKS], {"rank": 50}),
    "snos": ("snos", [{}], {}),
    "ctk": ("ctk", [{}], {}),
    "chi-sim-original": ("chi-sim-original", [{}], {}),
    "chi-sim": ("chi-sim", [{"k": 1.0, "prune": 0.0}], {"k": 1.0, "prune": 0.0}),
    "chi-sim p": (
        "chi-sim",
        [{"k": 1.0, "prune": p} for p in SHARES],
        {"k": 1.0, "prune": 0.6},
    ),
    "chi-sim k": ("chi-sim", [{"k": 0.8, "prune": 0.0}], {"k": 0.8, "prune": 0.0}),
    "chi-sim k p": (
        "chi-sim",
        [{"k": 0.8, "prune": p} for p in SHARES],
        {"k": 0.8, "prune": 0.6},
    ),
}
"""Row of the table: similarity, the settings that are tried, and the fixed settings."""


class _Cell(NamedTuple):
    """The precision of a method on the samples of a subset under one protocol."""

    protocol: str
    subset: str
    method: str
    best: list[float]
    """With the settings whose mean is best, one value per sample."""
    fixed: list[float]

    @property
    def printed(self) -> Printed | None:
        return PRINTED.get(self.subset) if self.method in PROPOSED else None


def table(data: Path, options: Options, *, words: str) -> Table:
    """Return the precision of each method on each subset by every protocol, and paired t-tests."""
    cells = _cells(data, options, words)
    has_printed = words == "information"
    selection = "mutual information" if has_printed else "k-medoids"
    return Table(
        f"χ-Sim table {2 if has_printed else 3}: micro-averaged precision, 2,000 words by {selection}",
        [
            "protocol", "set", "method", "best", "sd", "fixed", "fixed sd",
            *(["printed", "reached"] if has_printed else []), "samples",
        ],
        [_row(cell, has_printed=has_printed) for cell in cells],
        [
            *_notes(cells, has_printed=has_printed),
            *_tests(cells),
            "The paper drew 10 samples; those present are used.",
            *_absent(data, SUBSETS),
        ],
        _picture(cells, has_printed=has_printed),
    )  # fmt: skip


def _cells(data: Path, options: Options, words: str) -> list[_Cell]:
    results = Results(options.results, options.tell)
    subsets = with_samples(data, selected(SUBSETS, QUICK if options.quick else SUBSETS, options))
    methods = ("cosine", "lsa", "chi-sim", "chi-sim k p") if options.quick else (*METHODS, "itcc")
    cells = []
    for name, (protocol, selection) in PROTOCOLS[words].items():
        for subset, method in product(subsets, methods):
            scored = [
                _scores(
                    _Sample(data, subset, number, protocol, selection, options.seed),
                    method,
                    options,
                    results,
                )
                for number in sample_numbers(data, subset, options)
            ]
            best = _best([by_settings for by_settings, _ in scored])
            cells.append(_Cell(name, subset, method, best, [fixed for _, fixed in scored]))
    return cells


def _row(cell: _Cell, *, has_printed: bool) -> list[str | int | float | None]:
    figures = (*mean_and_sd(cell.best), *mean_and_sd(cell.fixed))
    printed: list[str | None] = []
    if has_printed:
        figure = cell.printed
        printed = [None, None]
        if figure is not None:
            printed = [str(figure), "yes" if figure.reached(figures[0]) else "no"]
    return [
        cell.protocol, cell.subset, cell.method, *(round(value, 3) for value in figures), *printed,
        len(cell.best),
    ]  # fmt: skip


def _notes(cells: Sequence[_Cell], *, has_printed: bool) -> list[str]:
    about = (
        "best: the settings with the best mean over the samples, as in the paper."
        " fixed: LSA of rank 50; prune 0.6 and k = 0.8 in the rows that have them."
    )
    if not has_printed:
        return [about, NO_PRINTED]
    notes = [about]
    notes.append(
        "printed: quoted with the data set, a range over rows that are not named."
        " reached: at most 3 points below its upper end, for the four rows that the paper proposes."
    )
    reached: dict[str, list[bool]] = {}
    for cell in cells:
        if cell.printed is not None:
            mean = mean_and_sd(cell.best)[0]
            reached.setdefault(cell.protocol, []).append(cell.printed.reached(mean))
    notes += [
        f"{name}: reached in {sum(met)} of {len(met)} cells." for name, met in reached.items()
    ]
    return notes


def _tests(cells: Sequence[_Cell]) -> list[str]:
    """Return a sentence on the paired t-tests of each protocol."""
    by_protocol: dict[str, dict[str, list[float]]] = {}
    for cell in cells:
        by_protocol.setdefault(cell.protocol, {}).setdefault(cell.method, []).extend(cell.best)
    return [
        f"{name}: significantly better (paired t-tests over {len(next(iter(paired.values())))}"
        f" samples, 95 %, best settings): {significantly_better(paired)}."
        for name, paired in by_protocol.items()
    ]


def _picture(cells: Sequence[_Cell], *, has_printed: bool) -> str:
    """Draw every method under the first protocol, with the printed ranges."""
    protocol = cells[0].protocol
    scores = []
    for cell in cells:
        if cell.protocol == protocol:
            mean, sd = mean_and_sd(cell.best)
            figure = cell.printed if has_printed else None
            between = None if figure is None else (figure.low, figure.high)
            low, high = max(mean - sd, 0.0), min(mean + sd, 1.0)
            scores.append(Score(cell.subset, cell.method, mean, low, high, between))
    heading = f"micro-averaged precision, best settings ({protocol})"
    return sheet(
        "micro-averaged precision of the methods of the χ-Sim tables", [by_set(heading, scores)]
    )


def figure(data: Path, options: Options) -> Table:
    """Return the precision against the share that is pruned, and against the pseudo-norm k."""
    results = Results(options.results, options.tell)
    default = ("M10",) if options.quick else ("M10", "NG3")
    subsets = with_samples(data, selected(SUBSETS, default, options))
    powers = (0.5, 0.8, 1.0, 2.0) if options.quick else (0.2, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0)
    shares = SHARES[::3] if options.quick else SHARES
    rows: list[list[str | int | float | None]] = []
    lines: dict[str, dict[str, list[tuple[float, float, float]]]] = {"p": {}, "k": {}}
    for subset in subsets:
        drawn = [
            _Sample(data, subset, number, "bodies", "pointwise", options.seed)
            for number in sample_numbers(data, subset, options)
        ]
        points = [("p", {"k": 0.8, "prune": p}, p) for p in shares]
        points += [("k", {"k": k, "prune": 0.0}, k) for k in powers]
        for curve, settings, at in points:
            mean, sd = mean_and_sd(
                _precision(sample, "chi-sim", settings, results) for sample in drawn
            )
            rows.append([subset, curve, at, round(mean, 3), round(sd, 3)])
            lines[curve].setdefault(subset, []).append((at, mean, sd))
    return Table(
        "χ-Sim figure 2: precision against p (k = 0.8) and against k (p = 0), bodies, pointwise",
        ["set", "against", "value", "precision", "sd"],
        rows,
        ["The points of the printed curves are not available.", *_absent(data, default)],
        sheet(
            "precision of χ-Sim against the share pruned and against k",
            [
                curves(f"precision against {name} ({others})", name, lines[name])
                for name, others in (("p", "k = 0.8"), ("k", "p = 0"))
            ],
        ),
    )


def _best(samples: list[dict[str, float]]) -> list[float]:
    """Return the values of the settings whose mean over the samples is best."""
    return max(([sample[key] for sample in samples] for key in samples[0]), key=mean_and_sd)


class _Sample(NamedTuple):
    """The arguments of `matrix`: a sample of a subset under one protocol."""

    data: Path
    subset: str
    number: int
    protocol: str
    words: str
    seed: int

    def cell(self, *method: str) -> tuple[str | int, ...]:
        """Return the key of a cell in the cached results."""
        return (
            "chi-sim", self.protocol, self.words, self.subset, self.number, self.seed, *method,
        )  # fmt: skip


def _scores(
    sample: _Sample, method: str, options: Options, results: Results
) -> tuple[dict[str, float], float]:
    """Return the precision by settings, and with the fixed settings."""
    if method == "itcc":
        scores = results.get(sample.cell("itcc"), lambda: _itcc(sample))
        return {"": scores["micro_precision"]}, scores["micro_precision"]
    similarity, grid, fixed = METHODS[method]
    if options.quick:
        grid = [g for g in grid if g == fixed or g.get("prune", 0) in (0.0, 0.3, 0.6, 0.9)]
        grid = [g for g in grid if g == fixed or g.get("rank", 10) in (10, 20, 50, 100)]
    by_settings = {json.dumps(g): _precision(sample, similarity, g, results) for g in grid}
    return by_settings, _precision(sample, similarity, fixed, results)


def _precision(
    sample: _Sample, similarity: str, settings: dict[str, Any], results: Results
) -> float:
    """Return the precision of one similarity with Ward linkage on one sample."""

    def compute() -> dict[str, float]:
        rows, classes = matrix(*sample)
        if similarity == "lsa":
            measure = truncated(similarity, _directions(sample), settings["rank"])
        else:
            measure = plugins().make("similarity", similarity, settings)
            measure.learn(rows)
        similar: Matrix = measure.compare(rows, rows)
        labels = hierarchical_labels(similar, len(set(classes)), "ward")
        return scores_of(labels, classes)

    cell = sample.cell(similarity, json.dumps(settings, sort_keys=True))
    return results.get(cell, compute)["micro_precision"]


@lru_cache(maxsize=1)
def _directions(sample: _Sample) -> State:
    """Return all latent directions of a sample that the table may need."""
    measure = plugins().make("similarity", "lsa", {"rank": max(RANKS)})
    measure.learn(matrix(*sample)[0])
    state: State = measure.state()
    return state


def _itcc(sample: _Sample) -> dict[str, float]:
    rows, classes = matrix(*sample)
    settings = {"k": len(set(classes)), "seed": sample.seed}
    clusterer = plugins().make("clusterer", "itcc", settings)
    return scores_of(clusterer.cluster(rows, None), classes)


# --- the data ---------------------------------------------------------------------------


@cache
def _subsets(folder: Path) -> Any:
    return json.loads((folder / "subsets.json").read_text(encoding="utf-8"))["subsets"]


def samples(data: Path, subset: str) -> list[list[str]]:
    """Return the identifiers of each sample that is present."""
    by_number = _subsets(data / "20ng")[subset]["samples"]
    return [by_number[number] for number in sorted(by_number, key=int)]


def sample_numbers(data: Path, subset: str, options: Options) -> range:
    """Return the numbers of the samples that a table uses."""
    limit = options.repetitions or (2 if options.quick else 10)
    return range(min(len(samples(data, subset)), limit))


def with_samples(data: Path, subsets: Sequence[str]) -> list[str]:
    """Return the subsets that have a sample."""
    listed = _subsets(data / "20ng")
    usable = [name for name in subsets if listed.get(name, {}).get("samples")]
    if not usable:
        raise MissingInputError(f"{data / '20ng'} has no samples of {', '.join(subsets)}")
    return usable


def _absent(data: Path, subsets: Sequence[str]) -> list[str]:
    """Return a note that names the subsets without samples."""
    absent = [name for name in subsets if name not in with_samples(data, subsets)]
    return [f"Left out, because there are no samples: {', '.join(absent)}."] if absent else []


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


_counted: dict[tuple[Path, str, int, str], tuple[Rows, list[str]]] = {}


def _counts(data: Path, subset: str, number: int, protocol: str) -> tuple[Rows, list[str]]:
    """Return documents × words of one sample and the group of each document; the last is cached."""
    key = (data, subset, number, protocol)
    if key not in _counted:
        uids = samples(data, subset)[number]
        texts = [_texts(data / "20ng")[uid] for uid in uids]
        if protocol == "headers":
            headers = _headers(data / "20ng")
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
        _counted.clear()
        _counted[key] = counts, [uid.split("/")[0] for uid in uids]
    return _counted[key]


_selected: dict[tuple[Path, str, int, str, str, int, int], Rows] = {}


def matrix(
    data: Path, subset: str, number: int, protocol: str, words: str, seed: int, n_words: int = 2000
) -> tuple[Rows, list[str]]:
    """Return the presence of the selected words in the documents of one sample, and their groups."""
    key = (data, subset, number, protocol, words, seed, n_words)
    if key not in _selected:
        counts, classes = _counts(data, subset, number, protocol)
        if words in INFORMATION:
            columns = by_mutual_information(
                counts, classes, n_words, of=INFORMATION[words], min_rows=2
            )
        else:
            n = min(n_words, int((document_frequency(counts) >= 2).sum()))
            settings = {"k": n, "n_init": 1, "seed": seed}
            # Its medoids are beyond the contract of a clusterer.
            clusterer: Any = plugins().make("clusterer", "kmedoids", settings).plugin
            columns = by_medoids(_presence(counts), clusterer)
        _selected[key] = _presence(csr_array(counts[:, columns]))
    return _selected[key], [uid.split("/")[0] for uid in samples(data, subset)[number]]


def _presence(rows: Rows) -> Rows:
    return csr_array((np.ones_like(rows.data), rows.indices, rows.indptr), shape=rows.shape)
