"""The tables of Farahat & Kamel (S3) for the CLUTO sets: GVSM models, hybrids, row sampling.

tf-idf rows of length 1, words of one document removed. Table 2 is hierarchical clustering with
complete and average linkage, table 3 spherical k-means, table 4 the paired t-tests between models,
tables 5 to 7 the hybrid models under the three algorithms, table 8 sampled rows of W. Sets of the
same toolkit that the paper does not have are shown, and stand in a mean of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from scipy.sparse import csr_array

from segapsith.arrays import Labels, Matrix, Rows, State
from segapsith.lexicon.weighting import tf_idf
from segapsith_reproduce import Options, Table
from segapsith_reproduce.cells import (
    Results,
    compared,
    grouped,
    labelled_matrix,
    measured,
    missing_note,
    of_fewer_directions,
    plugins,
    present,
    spread_of,
    wanted,
)
from segapsith_reproduce.feature_selection import by_document_frequency
from segapsith_reproduce.score_charts import Score, by_set, sheet
from segapsith_reproduce.t_tests import significance_table

__all__ = ["hybrids", "models", "sampling", "tests"]

SETS = (
    "tr31", "re0", "wap", "re1", "k1a", "k1b", "tr41", "hitech", "fbis", "reviews", "la12",
    "classic",
)  # fmt: skip
"""Those of the paper's thirteen whose names are at hand, small ones first."""
EXTRAS = (
    "tr23", "tr12", "tr11", "tr21", "tr45", "cranmed", "cacmcisi", "mm", "la1", "la2", "sports",
    "ohscal", "new3",
)  # fmt: skip
"""Further sets of the toolkit; of the paper's sets the one whose name is not at hand may be there."""
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

RANK = 100
"""Latent directions that are computed once; fewer are the first of them."""


@lru_cache(maxsize=1)
def _data(folder: Path) -> tuple[Rows, list[str]]:
    """tf-idf rows of length 1 without words of one document, and the classes."""
    (counts,), classes = labelled_matrix(folder, "matrix")
    return tf_idf(csr_array(counts[:, by_document_frequency(counts)])), classes


@lru_cache(maxsize=1)
def _directions(folder: Path, similarity: str) -> State:
    """All latent directions of a set that a table may ask for."""
    measure = plugins().make("similarity", similarity, {"rank": RANK})
    measure.learn(_data(folder)[0])
    state: State = measure.state()
    return state


@lru_cache(maxsize=1)
def _similar(folder: Path, similarity: str, told: str) -> Matrix:
    """The similarities of all documents, for every linkage."""
    rows, settings = _data(folder)[0], json.loads(told)
    if "rank" in settings:
        whole = _directions(folder, similarity)
        measure = of_fewer_directions(similarity, whole, settings["rank"])
    else:
        measure = plugins().make("similarity", similarity, settings)
        measure.learn(rows)
    similar: Matrix = measure.compare(rows, rows)
    return similar


def _by_spherical_kmeans(folder: Path, similarity: str, told: str, seed: int) -> Labels:
    """Spherical k-means in the space of a model: by rows where these are short or sparse, and by
    the cosines where a row has a value for each document."""
    rows, classes = _data(folder)
    settings = json.loads(told)
    made = plugins().make("clusterer", "spherical-kmeans", {"k": len(set(classes)), "seed": seed})
    labels: Labels
    if similarity == "cosine":
        labels = made.cluster(rows, None)
    elif "rank" in settings:
        whole = _directions(folder, similarity)
        measure = of_fewer_directions(similarity, whole, settings["rank"])
        labels = made.cluster(csr_array(measure.factors(rows)), None)
    else:
        labels = made.cluster_by_cosines(_similar(folder, similarity, told))
    return labels


def _sets(data: Path, options: Options) -> list[str]:
    usual = QUICK if options.quick else (*SETS, *EXTRAS)
    return present(data, wanted((*SETS, *EXTRAS), usual, options), "matrix.npz")


def _hierarchical(
    data: Path, name: str, similarity: str, settings: dict[str, Any], linkage: str,
    results: Results, seed: int,
) -> dict[str, float]:  # fmt: skip
    """Scores with a linkage."""
    told = json.dumps(settings, sort_keys=True)

    def compute() -> dict[str, float]:
        classes = _data(data / name)[1]
        similar = _similar(data / name, similarity, told)
        return measured(grouped(similar, len(set(classes)), linkage), classes)

    return results.get(("gvsm", name, similarity, told, linkage, seed), compute)


def _spherical(
    data: Path, name: str, similarity: str, settings: dict[str, Any], options: Options,
    results: Results,
) -> list[dict[str, float]]:  # fmt: skip
    """Scores of spherical k-means in the space of a model, one a repetition."""
    told = json.dumps(settings, sort_keys=True)

    def scores(seed: int) -> Callable[[], dict[str, float]]:
        def compute() -> dict[str, float]:
            labels = _by_spherical_kmeans(data / name, similarity, told, seed)
            return measured(labels, _data(data / name)[1])

        return compute

    return [
        results.get(("gvsm", name, similarity, told, "spherical", seed), scores(seed))
        for seed in range(options.seed, options.seed + _repetitions(options, 2, 50))
    ]


def _repetitions(options: Options, quick: int, whole: int) -> int:
    return options.repetitions or (quick if options.quick else whole)


def _by_algorithm(
    data: Path, name: str, similarity: str, settings: dict[str, Any], algorithm: str,
    options: Options, results: Results,
) -> list[dict[str, float]]:  # fmt: skip
    if algorithm == "spherical":
        return _spherical(data, name, similarity, settings, options, results)
    found = {
        linkage: _hierarchical(data, name, similarity, settings, linkage, results, options.seed)
        for linkage in ("complete", "average")  # the second costs little while the matrix is there
    }
    return [found[algorithm]]


def _notes(data: Path) -> list[str]:
    return missing_note(data, SETS, "matrix.npz")


def _row(label: list[str], scores: list[dict[str, float]]) -> list[str | int | float | None]:
    return [*label, *(round(spread_of(s[m] for s in scores)[0], 3) for m in MEASURES)]


def _means(
    named: Mapping[str, Mapping[tuple[str, ...], dict[str, float]]],
) -> list[list[str | int | float | None]]:
    """Means over the paper's sets that are present, and over all; by the labels of the rows."""
    rows: list[list[str | int | float | None]] = []
    for told, sets in (("the paper's sets", SETS), ("all sets", (*SETS, *EXTRAS))):
        taken = [found for name, found in named.items() if name in sets]
        if taken and not (told == "all sets" and len(taken) == len(set(named) & set(SETS))):
            for label in taken[0]:
                rows.append(
                    _row([f"mean of {told} ({len(taken)})", *label], [f[label] for f in taken])
                )
    return rows


def models(data: Path, options: Options, *, algorithms: tuple[str, ...], number: int) -> Table:
    """The five models under some algorithms: each set, and the mean over the sets present."""
    results = Results(options.results, options.tell)
    rows: list[list[str | int | float | None]] = []
    named: dict[str, dict[tuple[str, ...], dict[str, float]]] = {}
    for name in _sets(data, options):
        for model, similarity in MODELS.items():
            for algorithm in algorithms:
                found = _by_algorithm(data, name, similarity, {}, algorithm, options, results)
                rows.append(_row([name, algorithm, model], found))
                mean = {m: spread_of(s[m] for s in found)[0] for m in MEASURES}
                named.setdefault(name, {})[algorithm, model] = mean
    rows += _means(named)
    return Table(
        f"GVSM table {number}: {' and '.join(algorithms)}",
        ["set", "algorithm", "model", "F", "E", "P", "VD", "VI"],
        rows,
        [*_ordered(named, algorithms), NOT_AT_HAND, *_notes(data)],
        _picture(named, algorithms),
    )


def _ordered(
    named: Mapping[str, Mapping[tuple[str, ...], dict[str, float]]], algorithms: Sequence[str]
) -> list[str]:
    """Which models are significantly better in F and in entropy, over all sets shown."""
    over = f"paired t-tests over {len(named)} sets, 95 %"
    return [
        f"{algorithm}: significantly better in {shown} ({over}): {told}."
        for algorithm in algorithms
        for measure, shown in (("f", "F"), ("entropy", "E"))
        for told in [
            compared(
                {
                    model: [found[algorithm, model][measure] for found in named.values()]
                    for model in MODELS
                },
                larger_is_better=LARGER[measure],
            )
        ]
    ]


def _picture(
    named: Mapping[str, Mapping[tuple[str, ...], dict[str, float]]], algorithms: Sequence[str]
) -> str:
    """F of each model on each set, and its mean with the standard error."""
    sections = []
    for algorithm in algorithms:
        found = [
            Score(name, model, scores["f"], scores["f"], scores["f"])
            for name, by_label in named.items()
            for (which, model), scores in by_label.items()
            if which == algorithm
        ]
        for model in MODELS:
            mean, sd = spread_of(score.value for score in found if score.method == model)
            half = sd / len(named) ** 0.5
            found.append(Score("mean", model, mean, mean - half, mean + half))
        sections.append(
            by_set(f"F, {algorithm}; mean of the sets shown ± its standard error", found)
        )
    return sheet("F of the GVSM models on the sets present; no printed figure is at hand", sections)


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
        [f"Paired over {len(names)} sets.", NOT_AT_HAND, *_notes(data)],
    )


def hybrids(data: Path, options: Options, *, algorithm: str, number: int) -> Table:
    """LSI, PCA and their COV forms: mean of the ten best ranks (as the paper), and fixed ranks."""
    results = Results(options.results, options.tell)
    ranks = (5, 10, 20, 50) if options.quick else tuple(range(5, RANK + 1))
    names = _sets(data, options)
    rows: list[list[str | int | float | None]] = []
    named: dict[str, dict[tuple[str, ...], dict[str, float]]] = {}
    for name in names:
        kept = named.setdefault(name, {})
        n_classes = len(set(_data(data / name)[1]))
        for model, similarity in (("VSM", "cosine"), ("COV", "gvsm-cov")):
            plain = _by_algorithm(data, name, similarity, {}, algorithm, options, results)
            rows.append(_row([name, model, ""], plain))
            kept[model, ""] = {m: spread_of(s[m] for s in plain)[0] for m in MEASURES}
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
            best = {
                m: spread_of(sorted((s[m] for s in means.values()), reverse=LARGER[m])[:10])[0]
                for m in MEASURES
            }
            shown = {"ten best": best, "as many as classes": means[n_classes], "50": means[50]}
            for rank_name, scores in shown.items():
                rows.append(_row([name, model, rank_name], [scores]))
                kept[model, rank_name] = scores
    rows += _means(named)
    return Table(
        f"GVSM table {number}: hybrid models, {algorithm}",
        ["set", "model", "rank", "F", "E", "P", "VD", "VI"],
        rows,
        [
            "ten best: mean over the ten best ranks of each measure, as the paper has it.",
            *_better(named, "ten best"),
            NOT_AT_HAND,
            *_notes(data),
        ],
    )


def _better(
    named: Mapping[str, Mapping[tuple[str, ...], dict[str, float]]], rank: str
) -> list[str]:
    """Which models are significantly better in F, over all sets shown."""
    models = [label for label in next(iter(named.values())) if label[1] in ("", rank)]
    scores = {label[0]: [found[label]["f"] for found in named.values()] for label in models}
    over = f"paired t-tests over {len(named)} sets, 95 %"
    return [f"Significantly better in F ({over}): {compared(scores)}."]


def sampling(data: Path, options: Options) -> Table:
    """COV with 10 % and 20 % of the rows of W, beside all of them; average linkage."""
    results = Results(options.results, options.tell)
    rows: list[list[str | int | float | None]] = []
    for name in _sets(data, options):
        for share in (None, 0.1, 0.2):
            repetitions = 1 if share is None else _repetitions(options, 3, 20)
            found = [
                _hierarchical(
                    data,
                    name,
                    "gvsm-cov",
                    {} if share is None else {"sample": share, "seed": options.seed + r},
                    "average",
                    results,
                    options.seed,
                )
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
        [NOT_AT_HAND, *_notes(data)],
    )
