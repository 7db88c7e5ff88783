"""The tables of Farahat and Kamel on the CLUTO sets: GVSM models, hybrids, sampled rows.

Rows are tf-idf of length 1, without the words of a single document. Table 2 is hierarchical
clustering with complete and average linkage, table 3 spherical k-means, table 4 paired t-tests
between the models. Tables 5 to 7 are the hybrid models under the three algorithms, table 8 sampled
rows of W. Sets of the toolkit that the paper does not use are shown, with a mean of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from scipy.sparse import csr_array

from segapsith.arrays import Labels, Matrix, Rows, State
from segapsith.lexicon.vocabulary import tf_idf
from segapsith_reproduce import Options, Table
from segapsith_reproduce.cells import (
    NO_PRINTED,
    Results,
    hierarchical_labels,
    labelled_matrix,
    mean_and_sd,
    missing_note,
    plugins,
    present,
    scores_of,
    selected,
    significantly_better,
    truncated,
)
from segapsith_reproduce.feature_selection import by_document_frequency
from segapsith_reproduce.score_charts import Score, by_set, sheet
from segapsith_reproduce.t_tests import significance_table

__all__ = ["hybrids", "models", "sampling", "tests"]

SETS = (
    "tr31", "re0", "wap", "re1", "k1a", "k1b", "tr41", "hitech", "fbis", "reviews", "la12",
    "classic",
)  # fmt: skip
"""Twelve of the thirteen sets of the paper, small ones first; the last name is not known here."""
EXTRAS = (
    "tr23", "tr12", "tr11", "tr21", "tr45", "cranmed", "cacmcisi", "mm", "la1", "la2", "sports",
    "ohscal", "new3",
)  # fmt: skip
"""Further sets of the toolkit; the thirteenth set of the paper may be among them."""
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

RANK = 100
"""Latent directions that are computed once; smaller ranks use the first of them."""


@lru_cache(maxsize=1)
def _data(folder: Path) -> tuple[Rows, list[str]]:
    """Return tf-idf rows of length 1 without words of a single document, and the classes."""
    (counts,), classes = labelled_matrix(folder, "matrix")
    return tf_idf(csr_array(counts[:, by_document_frequency(counts)])), classes


@lru_cache(maxsize=1)
def _directions(folder: Path, similarity: str) -> State:
    """Return all latent directions of a set that a table may need."""
    measure = plugins().make("similarity", similarity, {"rank": RANK})
    measure.learn(_data(folder)[0])
    state: State = measure.state()
    return state


@lru_cache(maxsize=1)
def _similar(folder: Path, similarity: str, settings_json: str) -> Matrix:
    """Return the similarities of all documents, which every linkage uses."""
    rows, settings = _data(folder)[0], json.loads(settings_json)
    if "rank" in settings:
        whole = _directions(folder, similarity)
        measure = truncated(similarity, whole, settings["rank"])
    else:
        measure = plugins().make("similarity", similarity, settings)
        measure.learn(rows)
    similar: Matrix = measure.compare(rows, rows)
    return similar


def _by_spherical_kmeans(folder: Path, similarity: str, settings_json: str, seed: int) -> Labels:
    """Return clusters of spherical k-means in the space of a model.

    Short or sparse rows are clustered themselves. Where a row has one value per document, the
    cosines are.
    """
    rows, classes = _data(folder)
    settings = json.loads(settings_json)
    k = len(set(classes))
    clusterer = plugins().make("clusterer", "spherical-kmeans", {"k": k, "seed": seed})
    labels: Labels
    if similarity == "cosine":
        labels = clusterer.cluster(rows, None)
    elif "rank" in settings:
        whole = _directions(folder, similarity)
        measure = truncated(similarity, whole, settings["rank"])
        labels = clusterer.cluster(csr_array(measure.factors(rows)), None)
    else:
        # Beyond the contract of a clusterer, so the plugin behind the guard is called.
        own: Any = clusterer.plugin
        labels = own.cluster_by_cosines(_similar(folder, similarity, settings_json))
    return labels


def _sets(data: Path, options: Options) -> list[str]:
    default = QUICK if options.quick else (*SETS, *EXTRAS)
    return present(data, selected((*SETS, *EXTRAS), default, options), "matrix.npz")


def _hierarchical(
    data: Path, name: str, similarity: str, settings: dict[str, Any], linkage: str,
    results: Results, seed: int,
) -> dict[str, float]:  # fmt: skip
    """Return the scores with a linkage."""
    settings_json = json.dumps(settings, sort_keys=True)

    def compute() -> dict[str, float]:
        classes = _data(data / name)[1]
        similar = _similar(data / name, similarity, settings_json)
        return scores_of(hierarchical_labels(similar, len(set(classes)), linkage), classes)

    return results.get(("gvsm", name, similarity, settings_json, linkage, seed), compute)


def _spherical(
    data: Path, name: str, similarity: str, settings: dict[str, Any], options: Options,
    results: Results,
) -> list[dict[str, float]]:  # fmt: skip
    """Return the scores of spherical k-means in the space of a model, one per repetition."""
    settings_json = json.dumps(settings, sort_keys=True)

    def scores(seed: int) -> Callable[[], dict[str, float]]:
        def compute() -> dict[str, float]:
            labels = _by_spherical_kmeans(data / name, similarity, settings_json, seed)
            return scores_of(labels, _data(data / name)[1])

        return compute

    return [
        results.get(("gvsm", name, similarity, settings_json, "spherical", seed), scores(seed))
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
    by_linkage = {
        linkage: _hierarchical(data, name, similarity, settings, linkage, results, options.seed)
        for linkage in ("complete", "average")  # the second is cheap while the matrix is cached
    }
    return [by_linkage[algorithm]]


def _notes(data: Path) -> list[str]:
    return missing_note(data, SETS, "matrix.npz")


def _row(label: list[str], scores: list[dict[str, float]]) -> list[str | int | float | None]:
    return [*label, *(round(mean_and_sd(s[m] for s in scores)[0], 3) for m in MEASURES)]


def _means(
    named: Mapping[str, Mapping[tuple[str, ...], dict[str, float]]],
) -> list[list[str | int | float | None]]:
    """Return the means over the sets of the paper that exist, and over all sets, one row per label."""
    rows: list[list[str | int | float | None]] = []
    for group, sets in (("the paper's sets", SETS), ("all sets", (*SETS, *EXTRAS))):
        members = [by_label for name, by_label in named.items() if name in sets]
        if members and not (group == "all sets" and len(members) == len(set(named) & set(SETS))):
            for label in members[0]:
                rows.append(
                    _row([f"mean of {group} ({len(members)})", *label], [m[label] for m in members])
                )
    return rows


def models(data: Path, options: Options, *, algorithms: tuple[str, ...], number: int) -> Table:
    """Return the scores of the five models under some algorithms, on each set and on average."""
    results = Results(options.results, options.tell)
    rows: list[list[str | int | float | None]] = []
    named: dict[str, dict[tuple[str, ...], dict[str, float]]] = {}
    for name in _sets(data, options):
        for model, similarity in MODELS.items():
            for algorithm in algorithms:
                scores = _by_algorithm(data, name, similarity, {}, algorithm, options, results)
                rows.append(_row([name, algorithm, model], scores))
                mean = {m: mean_and_sd(s[m] for s in scores)[0] for m in MEASURES}
                named.setdefault(name, {})[algorithm, model] = mean
    rows += _means(named)
    return Table(
        f"GVSM table {number}: {' and '.join(algorithms)}",
        ["set", "algorithm", "model", "F", "E", "P", "VD", "VI"],
        rows,
        [*_ordered(named, algorithms), NO_PRINTED, *_notes(data)],
        _picture(named, algorithms),
    )


def _ordered(
    named: Mapping[str, Mapping[tuple[str, ...], dict[str, float]]], algorithms: Sequence[str]
) -> list[str]:
    """Return which models are significantly better in F and in entropy, over all sets shown."""
    over = f"paired t-tests over {len(named)} sets, 95 %"
    return [
        f"{algorithm}: significantly better in {column} ({over}): {sentence}."
        for algorithm in algorithms
        for measure, column in (("f", "F"), ("entropy", "E"))
        for sentence in [
            significantly_better(
                {
                    model: [by_label[algorithm, model][measure] for by_label in named.values()]
                    for model in MODELS
                },
                larger_is_better=LARGER[measure],
            )
        ]
    ]


def _picture(
    named: Mapping[str, Mapping[tuple[str, ...], dict[str, float]]], algorithms: Sequence[str]
) -> str:
    """Draw F of each model on each set, and its mean with the standard error."""
    sections = []
    for algorithm in algorithms:
        drawn = [
            Score(name, model, scores["f"], scores["f"], scores["f"])
            for name, by_label in named.items()
            for (which, model), scores in by_label.items()
            if which == algorithm
        ]
        for model in MODELS:
            mean, sd = mean_and_sd(score.value for score in drawn if score.method == model)
            half = sd / len(named) ** 0.5
            drawn.append(Score("mean", model, mean, mean - half, mean + half))
        sections.append(
            by_set(f"F, {algorithm}; mean of the sets shown ± its standard error", drawn)
        )
    return sheet("F of the GVSM models on the sets present, without printed figures", sections)


def tests(data: Path, options: Options) -> Table:
    """Return paired t-tests over the sets between all models, for each algorithm and measure."""
    results = Results(options.results, options.tell)
    names = _sets(data, options)
    rows: list[list[str | int | float | None]] = []
    for algorithm in ("complete", "average", "spherical"):
        scores = {
            model: [
                {
                    m: mean_and_sd(s[m] for s in repeated)[0]
                    for m in MEASURES
                    for repeated in [
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
        [f"Paired over {len(names)} sets.", NO_PRINTED, *_notes(data)],
    )


def hybrids(data: Path, options: Options, *, algorithm: str, number: int) -> Table:
    """Return LSI, PCA and their COV forms: the mean of the ten best ranks, and fixed ranks."""
    results = Results(options.results, options.tell)
    ranks = (5, 10, 20, 50) if options.quick else tuple(range(5, RANK + 1))
    names = _sets(data, options)
    rows: list[list[str | int | float | None]] = []
    named: dict[str, dict[tuple[str, ...], dict[str, float]]] = {}
    for name in names:
        by_label = named.setdefault(name, {})
        n_classes = len(set(_data(data / name)[1]))
        for model, similarity in (("VSM", "cosine"), ("COV", "gvsm-cov")):
            plain = _by_algorithm(data, name, similarity, {}, algorithm, options, results)
            rows.append(_row([name, model, ""], plain))
            by_label[model, ""] = {m: mean_and_sd(s[m] for s in plain)[0] for m in MEASURES}
        for model, similarity in HYBRIDS.items():
            by_rank = {
                rank: _by_algorithm(
                    data, name, similarity, {"rank": rank}, algorithm, options, results
                )
                for rank in sorted({*ranks, n_classes, 50})
            }
            means = {
                rank: {m: mean_and_sd(s[m] for s in scores)[0] for m in MEASURES}
                for rank, scores in by_rank.items()
            }
            best = {
                m: mean_and_sd(sorted((s[m] for s in means.values()), reverse=LARGER[m])[:10])[0]
                for m in MEASURES
            }
            shown = {"ten best": best, "as many as classes": means[n_classes], "50": means[50]}
            for rank_name, mean in shown.items():
                rows.append(_row([name, model, rank_name], [mean]))
                by_label[model, rank_name] = mean
    rows += _means(named)
    return Table(
        f"GVSM table {number}: hybrid models, {algorithm}",
        ["set", "model", "rank", "F", "E", "P", "VD", "VI"],
        rows,
        [
            "ten best: mean over the ten best ranks of each measure, as in the paper.",
            *_better(named, "ten best"),
            NO_PRINTED,
            *_notes(data),
        ],
    )


def _better(
    named: Mapping[str, Mapping[tuple[str, ...], dict[str, float]]], rank: str
) -> list[str]:
    """Return which models are significantly better in F, over all sets shown."""
    models = [label for label in next(iter(named.values())) if label[1] in ("", rank)]
    scores = {
        label[0]: [scores_by_label[label]["f"] for scores_by_label in named.values()]
        for label in models
    }
    over = f"paired t-tests over {len(named)} sets, 95 %"
    return [f"Significantly better in F ({over}): {significantly_better(scores)}."]


def sampling(data: Path, options: Options) -> Table:
    """Return COV with 10 %, 20 % and all of the rows of W, with average linkage."""
    results = Results(options.results, options.tell)
    rows: list[list[str | int | float | None]] = []
    for name in _sets(data, options):
        for share in (None, 0.1, 0.2):
            repetitions = 1 if share is None else _repetitions(options, 3, 20)
            repeated = [
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
            sd = mean_and_sd(s["f"] for s in repeated)[1]
            rows.append(
                [*_row([name, "all" if share is None else f"{share:.0%}"], repeated), round(sd, 3)]
            )
    return Table(
        "GVSM table 8: COV from sampled rows of W, average linkage",
        ["set", "rows", "F", "E", "P", "VD", "VI", "sd of F"],
        rows,
        [NO_PRINTED, *_notes(data)],
    )
