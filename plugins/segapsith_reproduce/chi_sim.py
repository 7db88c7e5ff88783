"""Tables 1 to 3 and figure 2 of the χ-Sim paper (Grimal & Bisson 2011), on 20 Newsgroups.

Table 2 selects 2,000 words by supervised mutual information. Table 3 selects them by k-medoids of
word vectors, without the words of a single document. Ward linkage makes as many clusters as there
are groups. Scores are means and deviations over the samples. Where a method has settings, those
with the best mean precision are reported, as in the paper.

The paper leaves the details open. `BY_INFORMATION` and `BY_MEDOIDS` are the protocols of the two
tables: words are counted in bodies, a similarity s becomes the distance 1 - s, and mutual
information is the pointwise one of the source that the paper cites, with half a message added to
every count. `protocols` shows what other choices give.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from segapsith_reproduce import Cell, Options, PaperTable, Table
from segapsith_reproduce.cells import (
    GridCell,
    LabelledRows,
    PluginCell,
    Results,
    Scores,
    compute_cells,
    in_groups,
    mean_and_sd,
    selected,
    settings_key,
    significantly_better,
)
from segapsith_reproduce.comparison import Comparison
from segapsith_reproduce.newsgroups import (
    SUBSETS,
    Protocol,
    Sample,
    absent_notes,
    groups,
    matrices,
    sample_numbers,
    samples,
    with_samples,
)
from segapsith_reproduce.printed import shipped
from segapsith_reproduce.score_charts import Score, against_printed, curves, sheet

__all__ = ["BY_INFORMATION", "BY_MEDOIDS", "figure", "protocols", "subsets", "table"]

QUICK = ("M5", "M10", "NG1")
SHARES = tuple(p / 10 for p in range(10))
RANKS = tuple(range(10, 201, 10))
BY_INFORMATION = Protocol("smoothed")
BY_MEDOIDS = Protocol("medoids")
TRIED: Mapping[int, Sequence[Protocol]] = {
    2: (
        BY_INFORMATION,
        Protocol("smoothed", distance="euclidean"),
        Protocol("smoothed", values="presence"),
        Protocol("smoothed", text="headers"),
        Protocol("pointwise"),
        Protocol("pointwise", values="presence", distance="euclidean"),
        Protocol("class"),
        Protocol("class", values="presence", distance="euclidean"),
        Protocol("information"),
        Protocol("information", values="presence", distance="euclidean"),
        Protocol("information", text="headers", values="presence", distance="euclidean"),
        Protocol("counts"),
    ),
    3: (
        BY_MEDOIDS,
        Protocol("medoids", distance="euclidean"),
        Protocol("medoids", values="presence"),
        Protocol("medoids", values="presence", distance="euclidean"),
        Protocol("random medoids"),
        Protocol("random medoids", distance="euclidean"),
        Protocol("random medoids", values="presence"),
        Protocol("random medoids", values="presence", distance="euclidean"),
    ),
}
"""The protocols of `protocols`, by the number of the table; the first is that of the table."""

PRECISION, NMI = "micro-averaged precision", "NMI"


@dataclass(frozen=True, slots=True)
class _Method:
    """A row of the tables."""

    plugin: str
    grid: Sequence[Mapping[str, Any]] = ({},)
    """Settings that are tried; the best mean precision is reported."""
    algorithm: str = "Ward"
    fixed: Mapping[str, Any] | None = None
    """Settings that nobody chose by the classes; by default the first of the grid."""


def _pruned(plugin: str, **settings: float) -> _Method:
    return _Method(
        plugin, [{**settings, "prune": p} for p in SHARES], fixed={**settings, "prune": 0.6}
    )


METHODS: Mapping[str, _Method] = {
    "Cosine": _Method("cosine"),
    "LSA": _Method("lsa", [{"rank": rank} for rank in RANKS], fixed={"rank": 50}),
    "ITCC": _Method("itcc", algorithm="ITCC"),
    "BVD": _Method("bvd", algorithm="BVD"),
    "RSN": _Method("rsn", algorithm="RSN"),
    "SNOS": _Method("snos"),
    "CTK": _Method("ctk", [{"graph": "bipartite"}]),
    "chi-Sim": _Method("chi-sim-original", [{"prune": 0.0}]),
    "chi-Sim_p": _pruned("chi-sim-original"),
    "chi-Sim^1": _Method("chi-sim", [{"k": 1.0, "prune": 0.0}]),
    "chi-Sim_p^1": _pruned("chi-sim", k=1.0),
    "chi-Sim^0.8": _Method("chi-sim", [{"k": 0.8, "prune": 0.0}]),
    "chi-Sim_p^0.8": _pruned("chi-sim", k=0.8),
}
"""The rows by their printed names: χ-Sim has the normalisation of 2008, χ-Sim^k the new one."""
CHI_SIM = tuple(name for name in METHODS if name.startswith("chi-Sim"))
UNPRUNED = ("Cosine", "chi-Sim", "chi-Sim^1", "chi-Sim^0.8")


def subsets(data: Path, options: Options) -> PaperTable:
    """Return table 1: groups and documents of each subset."""
    cells = []
    for name in with_samples(data, selected(SUBSETS, SUBSETS, options)):
        listed = groups(data, name)
        more = {"groups": listed, "samples": len(samples(data, name))}
        sizes = {"clusters": len(listed), "documents": len(samples(data, name)[0])}
        cells += [
            Cell({"set": name, "measure": measure}, size, more=more)
            for measure, size in sizes.items()
        ]
    notes = [
        "The print misspells rec.sport.* as rec.sports.* and talk.politics.guns without its s.",
        *absent_notes(data, SUBSETS),
    ]
    return PaperTable("χ-Sim table 1: the six subsets", cells, "measure", notes)


def table(data: Path, options: Options, *, number: int) -> PaperTable:
    """Return table 2 or 3: the scores of each method on each subset."""
    protocol = TRIED[number][0]
    scored = {
        (subset, name): _Scored(
            METHODS[name], _samples(data, subset, protocol, options), _results(options), options
        )
        for subset, name in product(_used(data, options), _methods(number, options))
    }
    _compute(scored.values(), options)
    cells, precision = [], dict[str, list[float]]()
    for (subset, name), of_method in scored.items():
        precision.setdefault(name, []).extend(of_method.best("micro_precision"))
        cells += list(of_method.cells(subset, name, number))
    selection = "mutual information" if number == 2 else "k-medoids"
    return PaperTable(
        f"χ-Sim table {number}: 2,000 words by {selection}",
        cells,
        "set",
        [
            f"protocol: {protocol}. Settings: the best mean precision, as in the paper.",
            (
                f"significantly better (paired t-tests over {len(next(iter(precision.values())))}"
                f" samples, 95 %): {significantly_better(precision)}."
            ),
            *absent_notes(data, SUBSETS),
        ],
        draw=_picture,
        summarise=_summary,
    )


def _methods(number: int, options: Options) -> list[str]:
    quoted = ("BVD", "RSN") if number == 3 else ()
    left_out = ("ITCC", "BVD", "RSN", "SNOS", "CTK") if options.quick else quoted
    return [name for name in METHODS if name not in left_out]


def _summary(comparison: Comparison) -> list[str]:
    """Return how many cells of cosine agree, and how many of the χ-Sim rows are reached."""
    cells = [c for c in comparison.compared if c.ours.keys["measure"] == PRECISION]
    cosine = [c for c in cells if c.ours.keys["model"] == "Cosine"]
    rows = [c for c in cells if c.ours.keys["model"] in CHI_SIM]
    return [
        (
            f"Precision: cosine agrees on {sum(c.agrees is True for c in cosine)} of {len(cosine)} sets;"
            f" of {len(rows)} cells of the χ-Sim rows {sum(c.reached is True for c in rows)} are reached"
            f" and {sum(c.agrees is True for c in rows)} agree."
        )
    ]


def _picture(comparison: Comparison) -> str:
    """Draw ours against print, coloured by method; the χ-Sim rows have one colour."""
    scores = []
    for cell in comparison.compared:
        value = cell.printed.value if cell.printed is not None else None
        if value is not None:
            model, ours = cell.ours.keys["model"], float(cell.ours.ours)
            method = "χ-Sim, six rows" if model in CHI_SIM else model
            scores.append(Score(cell.ours.keys["set"], method, ours, ours, ours, (value, value)))
    scores.sort(key=lambda score: score.method)
    heading = f"{comparison.title}: ours against print, one point per cell"
    return sheet(heading, [against_printed(heading, scores)]) if scores else ""


def _used(data: Path, options: Options, quick: Sequence[str] = QUICK) -> list[str]:
    return with_samples(data, selected(SUBSETS, quick if options.quick else SUBSETS, options))


@lru_cache(maxsize=1)
def _results(options: Options) -> Results[Scores]:
    return Results(options.results, options.tell)


def _samples(data: Path, subset: str, protocol: Protocol, options: Options) -> list[Sample]:
    numbers = sample_numbers(data, subset, options)
    return [Sample(data, subset, number, protocol, options.seed) for number in numbers]


@dataclass(frozen=True)
class _Scored:
    """A method on the samples of a subset: its scores by settings."""

    method: _Method
    samples: Sequence[Sample]
    results: Results[Scores]
    options: Options
    whole: bool = False
    """Use all settings, also with `--quick`."""

    def groups(self) -> Iterator[Sequence[GridCell]]:
        """Yield the cells of each sample."""
        fixed = self.method.fixed or self.method.grid[0]
        for sample in self.samples:
            cells = {
                cell.name: cell
                for cell in (self.cell(sample, settings) for settings in (*self.grid(), fixed))
            }
            yield from in_groups(list(cells.values()))

    def cell(self, sample: Sample, settings: Mapping[str, Any]) -> PluginCell:
        """Return the cell of a sample and settings."""
        method = self.method
        name = sample.cell(method.plugin, settings_key(settings))
        is_linked = method.algorithm == "Ward"
        return PluginCell(
            " ".join(str(part) for part in name), sample.name, method.plugin, settings,
            sample.protocol.distance if is_linked else "", sample.seed, max(RANKS),
        )  # fmt: skip

    def grid(self) -> list[Mapping[str, Any]]:
        """Return the settings that are tried; with `--quick` a part of them."""
        if self.whole or not self.options.quick:
            return list(self.method.grid)
        few = (0.0, 0.3, 0.6, 0.9), (10, 20, 50, 100)
        return [g for g in self.method.grid if g.get("prune", 0.0) in few[0] and g.get("rank", 10) in few[1]]  # fmt: skip

    def scores(self, settings: Mapping[str, Any]) -> list[dict[str, float]]:
        """Return the scores of each sample."""
        return [self.results[self.cell(sample, settings).name] for sample in self.samples]

    def best_settings(self) -> Mapping[str, Any]:
        """Return the settings with the best mean precision; of equal ones the first."""
        return max(self.grid(), key=lambda g: mean_and_sd(self.values("micro_precision", g))[0])

    def values(self, score: str, settings: Mapping[str, Any]) -> list[float]:
        """Return one score of each sample."""
        return [scores[score] for scores in self.scores(settings)]

    def best(self, score: str) -> list[float]:
        """Return a score of each sample with the best settings."""
        return self.values(score, self.best_settings())

    def cells(self, subset: str, name: str, number: int) -> Iterator[Cell]:
        """Yield the cells of this method; NMI where the paper prints it."""
        settings = self.best_settings()
        fixed = self.method.fixed or self.method.grid[0]
        measures = {PRECISION: "micro_precision"}
        if number == 2 and subset.startswith("NG") and name in (*CHI_SIM, "RSN"):
            measures[NMI] = "nmi"
        for measure, score in measures.items():
            mean, sd = mean_and_sd(self.values(score, settings))
            fixed_mean, _ = mean_and_sd(self.values(score, fixed))
            more = {"settings": dict(settings), "fixed": fixed_mean, "samples": len(self.samples)}
            keys = {"set": subset, "algorithm": self.method.algorithm, "model": name}
            yield Cell({**keys, "measure": measure}, mean, sd, more)


def _compute(scored: Iterable[_Scored], options: Options) -> None:
    """Compute the cells of methods on samples, in the workers of the options."""
    listed = list(scored)
    wanted = [sample for one in listed for sample in one.samples]

    def rows() -> dict[str, LabelledRows]:
        selected = matrices(wanted, options.executor)
        return {sample.name: held for sample, held in selected.items()}

    groups = [group for one in listed for group in one.groups()]
    compute_cells(_results(options), options, groups, rows)


# --- what other protocols give ------------------------------------------------------------


def protocols(data: Path, options: Options) -> Table:
    """Return the precision of cosine and unpruned χ-Sim by other protocols, and counts."""
    used = _used(data, options, ("M5", "M10"))
    rows: list[list[str | int | float | None]] = []
    scored = {
        (number, protocol, name, subset): _Scored(
            METHODS[name], _samples(data, subset, protocol, options), _results(options), options
        )
        for number, tried in TRIED.items()
        for protocol in (tried[:2] if options.quick else tried)
        for name, subset in product(UNPRUNED, used)
    }
    _compute(scored.values(), options)
    for number, tried in TRIED.items():
        for protocol in tried[:2] if options.quick else tried:
            cells = [
                next(scored[number, protocol, name, subset].cells(subset, name, number))
                for name, subset in product(UNPRUNED, used)
            ]
            for name in UNPRUNED:
                figures = [round(float(c.ours), 3) for c in cells if c.keys["model"] == name]
                rows.append([number, str(protocol), name, *figures, *_counts(number, name, cells)])
    return Table(
        "χ-Sim tables 2 and 3: precision without pruning by other protocols",
        ["table", "protocol", "model", *used, "agree", "reached"],
        rows,
        [
            (
                "protocol: text, word selection, entries, distance for Ward linkage. The first of each"
                " table is the protocol of that table."
            ),
            "agree, reached: number of sets, compared with the printed figures.",
            *absent_notes(data, SUBSETS),
        ],
    )


def _counts(number: int, name: str, cells: Sequence[Cell]) -> tuple[int, int]:
    printed = {
        p.keys["set"]: p
        for p in shipped(f"chi-sim-{number}")
        if p.keys["model"] == name and p.keys["measure"] == PRECISION
    }
    pairs = [(printed[c.keys["set"]], c.ours) for c in cells if c.keys["model"] == name]
    return sum(p.agrees(ours) for p, ours in pairs), sum(p.reached(ours) for p, ours in pairs)


# --- figure 2 -----------------------------------------------------------------------------


def figure(data: Path, options: Options) -> Table:
    """Return the precision against the share that is pruned, and against the pseudo-norm k."""
    used = with_samples(data, selected(SUBSETS, ("NG1",), options))
    powers = (0.5, 0.8, 1.0) if options.quick else (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0)  # fmt: skip
    shares = SHARES[::3] if options.quick else SHARES
    panels = {
        ("p", "k = 0.8"): [({"k": 0.8, "prune": p}, p) for p in shares],
        ("p", "k = 0.6"): [({"k": 0.6, "prune": p}, p) for p in shares],
        ("k", "p = 0.6"): [({"k": k, "prune": 0.6}, k) for k in powers],
    }
    rows: list[list[str | int | float | None]] = []
    sections = []
    scored = {
        (panel, subset, words): _Scored(
            _Method("chi-sim", [settings for settings, _ in points]),
            _samples(data, subset, protocol, options), _results(options), options, whole=True,
        )
        for panel, points in panels.items()
        for subset, (words, protocol) in product(used, _SELECTIONS.items())
    }  # fmt: skip
    _compute(scored.values(), options)
    for (name, others), points in panels.items():
        lines: dict[str, list[tuple[float, float, float]]] = {}
        for subset, words in product(used, _SELECTIONS):
            of_panel = scored[(name, others), subset, words]
            for settings, at in points:
                mean, sd = mean_and_sd(of_panel.values("micro_precision", settings))
                rows.append([subset, words, name, others, at, round(mean, 3), round(sd, 3)])
                lines.setdefault(f"{subset}, {words}", []).append((at, mean, sd))
        sections.append(curves(f"precision against {name} ({others})", name, lines))
    return Table(
        "χ-Sim figure 2: precision against p and against k",
        ["set", "words", "against", "others", "value", "precision", "sd"],
        rows,
        [
            (
                "The paper prints curves without numbers, for NG1: flat with words by mutual"
                " information; rising up to p of about 0.6 with words by k-medoids, and best for k of"
                " 0.5 to 1. Its caption names k = 0.6 for the left panel, perhaps a misprint of 0.8."
            ),
            *absent_notes(data, ("NG1",)),
        ],
        sheet("precision of χ-Sim against the share pruned and against k", sections),
    )


_SELECTIONS = {"mutual information": BY_INFORMATION, "k-medoids": BY_MEDOIDS}
