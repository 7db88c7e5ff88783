"""The tables of Farahat & Kamel (S3) for the CLUTO sets: GVSM models, hybrids, row sampling.

tf-idf rows of length 1, words of one document removed. Table 2 is hierarchical clustering with
complete and average linkage, table 3 spherical k-means, table 4 the paired t-tests between models,
tables 5 to 7 the hybrid models under the three algorithms, table 8 sampled rows of W.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from segapsith.arrays import Matrix, Rows
from segapsith.reproduce import Options, Table
from segapsith.reproduce.cells import (
    Results,
    grouped,
    labelled_matrix,
    measured,
    missing_note,
    plugins,
    present,
    spread_of,
)
from segapsith.significance import significance_table
from segapsith.weighting import tf_idf
from segapsith.word_selection import by_document_frequency

__all__ = ["hybrids", "models", "sampling", "tests"]

SETS = (
    "classic", "fbis", "hitech", "k1a", "k1b", "la12", "re0", "re1", "reviews", "tr11", "tr12",
    "tr23", "tr31", "tr41", "wap",
)  # fmt: skip
QUICK = ("tr11", "tr12", "tr23", "tr31")
MODELS: Mapping[str, str] = {
    "VSM": "cosine",
    "ASSC": "gvsm-assc",
    "ASSC_N": "gvsm-assc-n",
    "COV": "gvsm-cov",
    "PCORR": "gvsm-pcorr",
}
HYBRIDS: Mapping[str, str] = {
    "LSI": "lsa", "PCA": "pca", "LSI-COV": "lsi-cov", "PCA-COV": "pca-cov",
}  # fmt: skip
MEASURES = ("f", "entropy", "purity", "van_dongen", "variation")
LARGER = {"f": True, "entropy": False, "purity": True, "van_dongen": False, "variation": False}
NOT_AT_HAND = "The printed figures of this table are not at hand, so none stands beside ours."

_loaded: dict[Path, tuple[Rows, list[str]]] = {}


def _data(folder: Path) -> tuple[Rows, list[str]]:
    """tf-idf rows of length 1 without words of one document, and the classes; the last is kept."""
    if folder not in _loaded:
        (counts,), classes = labelled_matrix(folder, "matrix")
        counts = csr_array(counts[:, by_document_frequency(counts)])
        _loaded.clear()
        _loaded[folder] = _unit(tf_idf(counts)), classes
    return _loaded[folder]


def _unit(rows: Rows) -> Rows:
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    data = rows.data / np.repeat(np.where(lengths > 0, lengths, 1.0), np.diff(rows.indptr))
    return csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def _sets(data: Path, options: Options) -> list[str]:
    return present(data, QUICK if options.quick else SETS)


def _hierarchical(
    data: Path, name: str, similarity: str, settings: dict[str, Any], results: Results, seed: int
) -> dict[str, dict[str, float]]:
    """Scores with complete and with average linkage."""
    found: list[Matrix] = []

    def similar() -> Matrix:
        if not found:
            rows, _ = _data(data / name)
            measure = plugins().make("similarity", similarity, settings)
            measure.learn(rows)
            found.append(measure.compare(rows, rows))
        return found[0]

    def scores(linkage: str) -> Callable[[], dict[str, float]]:
        def compute() -> dict[str, float]:
            classes = _data(data / name)[1]
            return measured(grouped(similar(), len(set(classes)), linkage), classes)

        return compute

    told = json.dumps(settings, sort_keys=True)
    return {
        linkage: results.get(("gvsm", name, similarity, told, linkage, seed), scores(linkage))
        for linkage in ("complete", "average")
    }


def _spherical(
    data: Path, name: str, similarity: str, settings: dict[str, Any], options: Options,
    results: Results,
) -> list[dict[str, float]]:  # fmt: skip
    """Scores of spherical k-means on the factors of a model, one a repetition."""

    def scores(repetition: int) -> Callable[[], dict[str, float]]:
        def compute() -> dict[str, float]:
            rows, classes = _data(data / name)
            given = rows
            if similarity != "cosine":
                measure = plugins().make("similarity", similarity, settings)
                measure.learn(rows)
                given = csr_array(measure.factors(rows))
            chosen = {"k": len(set(classes)), "seed": options.seed + repetition}
            made = plugins().make("clusterer", "spherical-kmeans", chosen)
            return measured(made.cluster(given, None), classes)

        return compute

    told = json.dumps(settings, sort_keys=True)
    seed = options.seed
    return [
        results.get(("gvsm", name, similarity, told, "spherical", seed + r), scores(r))
        for r in range(2 if options.quick else 50)
    ]


def _by_algorithm(
    data: Path, name: str, similarity: str, settings: dict[str, Any], algorithm: str,
    options: Options, results: Results,
) -> list[dict[str, float]]:  # fmt: skip
    if algorithm == "spherical":
        return _spherical(data, name, similarity, settings, options, results)
    found = _hierarchical(data, name, similarity, settings, results, options.seed)
    return [found[algorithm]]


def _row(label: list[str], scores: list[dict[str, float]]) -> list[str | int | float | None]:
    return [*label, *(round(spread_of(s[m] for s in scores)[0], 3) for m in MEASURES)]


def models(data: Path, options: Options, *, algorithms: tuple[str, ...], number: int) -> Table:
    """The five models under some algorithms: each set, and the mean over the sets present."""
    results = Results(options.results, options.tell)
    rows: list[list[str | int | float | None]] = []
    means: dict[tuple[str, str], list[dict[str, float]]] = {}
    for name in _sets(data, options):
        for model, similarity in MODELS.items():
            for algorithm in algorithms:
                found = _by_algorithm(data, name, similarity, {}, algorithm, options, results)
                rows.append(_row([name, algorithm, model], found))
                mean = {m: spread_of(s[m] for s in found)[0] for m in MEASURES}
                means.setdefault((algorithm, model), []).append(mean)
    rows += [_row(["mean", *key], found) for key, found in means.items()]
    return Table(
        f"GVSM table {number}: {' and '.join(algorithms)}",
        ["set", "algorithm", "model", "F", "E", "P", "VD", "VI"],
        rows,
        [NOT_AT_HAND, *missing_note(data, SETS)],
    )


def tests(data: Path, options: Options) -> Table:
    """Paired t-tests over the sets between all models, for each algorithm and measure."""
    results = Results(options.results, options.tell)
    names = _sets(data, options)
    rows: list[list[str | int | float | None]] = []
    for algorithm in ("complete", "average", "spherical"):
        scores = {
            model: [
                {
                    m: spread_of(s[m] for s in found)[0]
                    for m in MEASURES
                    for found in [
                        _by_algorithm(data, name, similarity, {}, algorithm, options, results)
                    ]
                }
                for name in names
            ]
            for model, similarity in MODELS.items()
        }
        for measure in MEASURES:
            values = {model: [s[measure] for s in listed] for model, listed in scores.items()}
            table = significance_table(values, larger_is_better=LARGER[measure])
            for model, signs in zip(table.methods, table.rows(), strict=True):
                rows.append([algorithm, measure, model, *signs])
    return Table(
        "GVSM table 4: > significantly better than the column, < worse, = neither (95 %)",
        ["algorithm", "measure", "model", *MODELS],
        rows,
        [f"Paired over {len(names)} sets.", NOT_AT_HAND, *missing_note(data, SETS)],
    )


def hybrids(data: Path, options: Options, *, algorithm: str, number: int) -> Table:
    """LSI, PCA and their COV forms: mean of the ten best ranks (as the paper), and fixed ranks."""
    results = Results(options.results, options.tell)
    ranks = (5, 10, 20, 50) if options.quick else tuple(range(5, 101))
    names = present(data, ("tr11", "tr23")) if options.quick else _sets(data, options)
    rows: list[list[str | int | float | None]] = []
    for name in names:
        n_classes = len(set(_data(data / name)[1]))
        for model, similarity in (("VSM", "cosine"), ("COV", "gvsm-cov")):
            plain = _by_algorithm(data, name, similarity, {}, algorithm, options, results)
            rows.append(_row([name, model, ""], plain))
        for model, similarity in HYBRIDS.items():
            by_rank = {
                rank: _by_algorithm(
                    data, name, similarity, {"rank": rank}, algorithm, options, results
                )
                for rank in sorted({*ranks, n_classes, 50})
            }
            means = {
                rank: {m: spread_of(s[m] for s in found)[0] for m in MEASURES}
                for rank, found in by_rank.items()
            }
            best: list[str | int | float | None] = []
            for m in MEASURES:
                ordered = sorted((s[m] for s in means.values()), reverse=LARGER[m])
                best.append(round(spread_of(ordered[:10])[0], 3))
            rows.append([name, model, "ten best", *best])
            rows.append(_row([name, model, "as many as classes"], by_rank[n_classes]))
            rows.append(_row([name, model, "50"], by_rank[50]))
    return Table(
        f"GVSM table {number}: hybrid models, {algorithm}",
        ["set", "model", "rank", "F", "E", "P", "VD", "VI"],
        rows,
        [NOT_AT_HAND, *missing_note(data, SETS)],
    )


def sampling(data: Path, options: Options) -> Table:
    """COV with 10 % and 20 % of the rows of W, beside all of them; average linkage."""
    results = Results(options.results, options.tell)
    rows: list[list[str | int | float | None]] = []
    for name in _sets(data, options):
        for share in (None, 0.1, 0.2):
            repetitions = 1 if share is None else (3 if options.quick else 20)
            found = [
                _hierarchical(
                    data,
                    name,
                    "gvsm-cov",
                    {} if share is None else {"sample": share, "seed": options.seed + r},
                    results,
                    options.seed,
                )["average"]
                for r in range(repetitions)
            ]
            sd = spread_of(s["f"] for s in found)[1]
            rows.append(
                [*_row([name, "all" if share is None else f"{share:.0%}"], found), round(sd, 3)]
            )
    return Table(
        "GVSM table 8: COV from sampled rows of W, average linkage",
        ["set", "rows", "F", "E", "P", "VD", "VI", "sd of F"],
        rows,
        [NOT_AT_HAND, *missing_note(data, SETS)],
    )
