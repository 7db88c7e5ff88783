"""The tables of Farahat and Kamel, *Statistical semantics for enhancing document clustering* (2010).

Table 1 describes the sets. Tables 5, 6 and 7 have F-measure, entropy and purity of six models under
three algorithms. Tables 2 and 8 are means over the sets of the change against VSM in per cent, for
the explicit models and for COV from sampled rows. Table 3 has means of each measure relative to the
best model of a set, table 4 the signs of paired t-tests on these. Means are over the sets present.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np

from segapsith import progress
from segapsith_reproduce import Cell, Options, PaperTable
from segapsith_reproduce.cells import Results, mean_and_sd
from segapsith_reproduce.comparison import Comparison
from segapsith_reproduce.gvsm.scores import (
    ALGORITHMS,
    LARGER,
    LATENT,
    MEASURES,
    N_RUNS,
    N_TIE_BREAKS,
    SAMPLED,
    Scorer,
)
from segapsith_reproduce.gvsm.sets import (
    chosen_sets,
    document_set,
    folder_of,
    missing_sets,
    printed_sets,
)
from segapsith_reproduce.score_charts import Score, against_printed, sheet
from segapsith_reproduce.t_tests import paired_t_test

__all__ = ["changes", "relative_means", "scores", "sets", "signs"]

PRINTED_SETS = 13
MODELS = ("VSM", "COV", *LATENT)
"""The six models of tables 3 to 7; tables 5 to 7 call COV by the name GVSM."""
CHANGED = ("ASSC-N", "ASSC", "PCORR", "COV")
SUPERIOR_T = 0.95
"""One-sided level of the tests of tables 2 and 8."""


def _scorer(data: Path, options: Options) -> Scorer:
    return Scorer(data, options, Results(options.results, options.tell))


def _notes(
    data: Path, names: Sequence[str], scorer: Scorer | None = None, *, has_latent: bool = True
) -> list[str]:
    n_printed = len(set(names).intersection(printed_sets()))
    notes = [f"Sets: {', '.join(names)} ({n_printed} of {PRINTED_SETS})."]
    if absent := missing_sets(data):
        notes.append(f"Missing, and left out of every mean: {', '.join(absent)}.")
    if scorer is not None:
        n_runs = f"Runs of spherical k-means: {scorer.n_runs('VSM')}"
        if has_latent:
            n_runs += f", of latent models {scorer.n_runs('LSI')} of each number of dimensions"
        notes.append(f"{n_runs}; the paper has {N_RUNS}.")
    if scorer is not None and has_latent and 1 < scorer.n_runs("LSI") < N_RUNS:
        notes.append(f"The best dimensions are corrected to {N_RUNS} runs.")
    if scorer is not None and has_latent and scorer.options.quick:
        n_linked, n_run = (len(scorer.ranks(name)) for name in ("HAC average", "spherical k-means"))
        notes.append(
            f"Dimensions tried: {n_linked} under linkages, {n_run} under spherical k-means;"
            " the paper has 96."
        )
    return notes


# -- table 1 ---------------------------------------------------------------------------------


def sets(data: Path, options: Options) -> PaperTable:
    """Return the size of each set: documents, terms, terms per document, classes, class size.

    The terms of a document are those with a count above 1: so they are in print, whatever its text.
    """
    names = chosen_sets(data, options)
    cells = []
    for name in progress.steps(names):
        documents = document_set(data / folder_of(name))
        counts, classes = documents.matrix, documents.classes
        frequent = np.asarray((counts > 1).sum(axis=1)).ravel()
        by_class = np.unique(classes, return_counts=True)[1]
        figures: dict[str, tuple[float, float | None]] = {
            "n": (counts.shape[0], None),
            "m": (counts.shape[1], None),
            "m_doc": mean_and_sd(frequent.tolist()),
            "k": (len(by_class), None),
            "n_class": mean_and_sd(by_class.tolist()),
        }
        for measure, (value, deviation) in figures.items():
            cells.append(Cell({"set": name, "measure": measure}, value, deviation))
    note = "m_doc: terms with a count above 1 in a document."
    return PaperTable("GVSM table 1: the sets", cells, "measure", [note, *_notes(data, names)])


# -- tables 5, 6 and 7 -----------------------------------------------------------------------


def scores(data: Path, options: Options, *, measure: str, number: int) -> PaperTable:
    """Return one measure of six models under three algorithms on each set."""
    scorer = _scorer(data, options)
    names = chosen_sets(data, options)
    scorer.compute(names, MODELS, ties=True)
    cells = []
    notes = []
    for name in names:
        for model in MODELS:
            for algorithm in ALGORITHMS:
                keys = {
                    "set": name, "algorithm": algorithm, "model": _printed_name(model),
                    "measure": measure,
                }  # fmt: skip
                value = scorer.measured(name, model, algorithm)[measure]
                ties = scorer.ties(name, algorithm) if model == "VSM" else {}
                more = {"ties": list(ties[measure])} if ties else {}
                if ties:
                    low, high = ties[measure]
                    notes.append(
                        f"Ties: {algorithm}, VSM on {name} merges documents without a common word"
                        f" (distance 1) before the cut; {measure} is {low:.3f} to {high:.3f} over"
                        f" {N_TIE_BREAKS} ways to break the ties."
                    )
                cells.append(Cell(keys, value, None, more))
    order = {algorithm: i for i, algorithm in enumerate(ALGORITHMS)}
    cells.sort(key=lambda cell: order[cell.keys["algorithm"]])
    return PaperTable(
        f"GVSM table {number}: {measure} by set, algorithm and model",
        cells,
        "model",
        [*notes, *_notes(data, names, scorer)],
        _draw_by_algorithm,
    )


def _printed_name(model: str) -> str:
    return "GVSM" if model == "COV" else model


def _draw_by_algorithm(comparison: Comparison) -> str:
    """Draw ours against print, one point per cell, coloured by algorithm."""
    drawn = []
    for cell in comparison.compared:
        ours, value = cell.ours.ours, cell.printed.value if cell.printed else None
        if value is not None and not isinstance(ours, str):
            keys = cell.ours.keys
            case = f"{keys['set']}, {keys['model']}"
            drawn.append(Score(case, keys["algorithm"], ours, ours, ours, (value, value)))
    heading = f"{comparison.title}: ours against print"
    return sheet(heading, [against_printed(heading, drawn)]) if drawn else ""


# -- tables 2 and 8 --------------------------------------------------------------------------


def changes(data: Path, options: Options, *, number: int) -> PaperTable:
    """Return the mean change against VSM in per cent over the sets, with t.

    Table 2 has the explicit models, table 8 COV from sampled rows and from all rows.
    """
    models = (
        {m: m for m in CHANGED} if number == 2 else {**{m: m for m in SAMPLED}, "COV-100%": "COV"}
    )
    scorer = _scorer(data, options)
    names = chosen_sets(data, options)
    scorer.compute(names, ("VSM", *models.values()))
    values = {
        (name, model, algorithm): scorer.measured(name, model, algorithm)
        for name in names
        for model in ("VSM", *models.values())
        for algorithm in ALGORITHMS
    }
    cells = []
    for algorithm in ALGORITHMS:
        for measure in MEASURES:
            for shown, model in models.items():
                of_sets = {
                    name: 100 * (values[name, model, algorithm][measure] / base - 1)
                    for name in names
                    if (base := values[name, "VSM", algorithm][measure]) > 0
                }
                keys = {
                    "set": f"mean of {PRINTED_SETS} sets", "algorithm": algorithm, "model": shown,
                    "measure": measure,
                }  # fmt: skip
                cells.append(_change(keys, of_sets))
    notes = ["Change against VSM in per cent; entropy, VD and VI are better when they fall."]
    if number == 8:
        notes.append(f"Samples of rows: {scorer.n_draws}; the paper has 20.")
    notes.append("Ratios of run-times depend on the machine and are not computed.")
    return PaperTable(
        f"GVSM table {number}: mean change against VSM", cells, "model",
        [*notes, *_notes(data, names, scorer, has_latent=False)], summarise=_signs_of_means,
    )  # fmt: skip


def _signs_of_means(comparison: Comparison) -> list[str]:
    """Return how many means have the printed sign, and what the other signs depend on.

    A mean of another sign is shown with its standard error, and with the sets without any one of
    which the mean of the others has the printed sign.
    """
    others = []
    n_cells = 0
    for cell in comparison.compared:
        printed = cell.printed.value if cell.printed else None
        changes: Mapping[str, float] = cell.ours.more.get("changes", {})
        if cell.printed is None or not printed or not changes:
            continue
        n_cells += 1
        total = sum(changes.values())
        if total * printed > 0:
            continue
        decisive = [name for name, change in changes.items() if (total - change) * printed > 0]
        error = (cell.ours.deviation or 0.0) / math.sqrt(len(changes))
        name = ", ".join(cell.ours.keys[key] for key in ("algorithm", "model", "measure"))
        others.append(
            f"Other sign: {name}: {total / len(changes):+.2f}, standard error {error:.2f}, printed"
            f" {cell.printed}. {_without(decisive)}"
        )
    same = f"Signs of the mean: {n_cells - len(others)} of {n_cells} as printed."
    return [same, *others] if n_cells else []


def _without(decisive: Sequence[str]) -> str:
    if not decisive:
        return "No set decides it alone."
    return f"As printed without {' or without '.join(decisive)}."


def _change(keys: Mapping[str, str], by_set: Mapping[str, float]) -> Cell:
    """Return the mean of the changes with t, and the verdict of a one-sided test at 95 %."""
    from scipy.stats import t as student

    mean, deviation = mean_and_sd(by_set.values()) if by_set else (0.0, 0.0)
    n = len(by_set)
    t = mean / (deviation / math.sqrt(n)) if deviation > 0 else 0.0
    is_significant = n > 1 and abs(t) > float(student.ppf(SUPERIOR_T, n - 1))
    better = (mean > 0) == (keys["measure"] in LARGER)
    verdict = ("superior" if better else "inferior") if is_significant else ""
    return Cell(keys, mean, deviation, {"t": t, "verdict": verdict, "sets": n, "changes": by_set})


# -- tables 3 and 4 --------------------------------------------------------------------------


def _relative(
    scorer: Scorer, names: Sequence[str]
) -> Iterator[tuple[str, str, Mapping[str, list[float]]]]:
    """Yield for each algorithm and measure the relative values of each model, one per set.

    A value is divided by the best of the six models; for entropy the best is divided by it.
    """
    scorer.compute(names, MODELS)
    for algorithm in ALGORITHMS:
        measured = [
            {model: scorer.measured(name, model, algorithm) for model in MODELS} for name in names
        ]
        for measure in ("F-measure", "entropy", "purity"):
            relative: dict[str, list[float]] = {model: [] for model in MODELS}
            for by_model in measured:
                values = {model: by_model[model][measure] for model in MODELS}
                best = (max if measure in LARGER else min)(values.values())
                for model, value in values.items():
                    ratio = (value, best) if measure in LARGER else (best, value)
                    relative[model].append(ratio[0] / ratio[1] if ratio[1] > 0 else 1.0)
            yield algorithm, measure, relative


def relative_means(data: Path, options: Options) -> PaperTable:
    """Return the mean over the sets of each measure relative to the best of six models."""
    scorer = _scorer(data, options)
    names = chosen_sets(data, options)
    cells = [
        Cell(
            {
                "set": f"mean of {PRINTED_SETS} sets", "algorithm": algorithm, "model": model,
                "measure": f"relative {measure}",
            },
            mean_and_sd(values)[0],
        )
        for algorithm, measure, relative in _relative(scorer, names)
        for model, values in relative.items()
    ]  # fmt: skip
    notes = _notes(data, names, scorer)
    return PaperTable("GVSM table 3: means of relative measures", cells, "model", notes)


def signs(data: Path, options: Options) -> PaperTable:
    """Return the sign of each pair of models: `<<` first inferior, `>>` first superior, `=` neither.

    Paired t-tests over the sets, two-sided at 95 %, on relative measures.
    """
    scorer = _scorer(data, options)
    names = chosen_sets(data, options)
    cells = []
    for algorithm, measure, relative in _relative(scorer, names):
        for first, second in combinations(MODELS, 2):
            test = paired_t_test(relative[first], relative[second])
            keys = {
                "set": f"{PRINTED_SETS} sets", "algorithm": algorithm,
                "model": f"{first}, {second}", "measure": f"relative {measure}",
            }  # fmt: skip
            sign = {"<": "<<", ">": ">>", "=": "="}[test.verdict()]
            cells.append(Cell(keys, sign, None, {"t": test.t, "p": test.p}))
    return PaperTable(
        "GVSM table 4: << first model inferior, >> superior, = neither (95 %)",
        cells,
        "measure",
        [
            "The text of the paper tests the measures themselves; relative ones give its signs.",
            *_notes(data, names, scorer),
        ],
    )
