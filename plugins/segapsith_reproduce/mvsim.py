"""The four tables of Bisson and Grimal (2012): several views of one set, and one matrix in blocks.

Table 1 lists the sets. Table 2 is micro-averaged precision: the view on which methods of one view
did best, the two best methods there, and MVSim. Table 3 is entropy on CiteSeer. Table 4 splits the
words of 20 Newsgroups samples, selected by k-medoids, into blocks.

The paper prints no settings. As it describes, several are tried and the best precision is reported.
Clusters are those of the χ-Sim tables: Ward linkage on 1 - s.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from scipy.sparse import csr_array, hstack

from segapsith import progress
from segapsith.arrays import Rows
from segapsith.errors import InputError, MissingInputError
from segapsith_reproduce import Cell, Options, PaperTable
from segapsith_reproduce.cells import (
    LabelledRows,
    PluginCell,
    Results,
    Scores,
    compute_cells,
    in_groups,
    is_present,
    labelled_matrix,
    mean_and_sd,
    selected,
    settings_key,
)
from segapsith_reproduce.chi_sim import BY_MEDOIDS
from segapsith_reproduce.comparison import Comparison
from segapsith_reproduce.newsgroups import (
    SUBSETS,
    Sample,
    absent_notes,
    matrices,
    sample_numbers,
    with_samples,
)

__all__ = ["entropies", "precisions", "sizes", "splitting"]


@dataclass(frozen=True, slots=True)
class _Set:
    """A data set, and its place in the printed tables."""

    name: str
    """Its name in table 2."""
    folder: str
    view: str
    """The view of the best method of one view, as printed."""
    best: str
    second: str
    size_name: str = ""
    """Its name in table 1, if it is another."""

    @property
    def has_links(self) -> bool:
        """Whether the second view is links of documents; else keywords and actors of films."""
        return self.folder != "imdb"

    def place(self, model: str) -> str:
        """Return the place of a model of one view in table 2."""
        places = {self.best: "best single view", self.second: "second on that view"}
        return places.get(model, "not printed")


SETS = (
    _Set("Movie", "imdb", "Key+Act", "CTK", "chi-Sim", "IMDb"),
    _Set("Cora", "cora", "Citation", "chi-Sim", "LSA"),
    _Set("Citeseer", "citeseer", "Content", "chi-Sim", "ITCC"),
    _Set("Cornell", "cornell", "Content", "chi-Sim", "LSA"),
    _Set("Texas", "texas", "Content", "chi-Sim", "LSA"),
    _Set("Washington", "washington", "Content", "LSA", "chi-Sim"),
    _Set("Wisconsin", "wisconsin", "Content", "chi-Sim", "LSA", "Winconsin"),
)
FOLDERS = tuple(one.folder for one in SETS)
QUICK = ("cornell", "texas", "imdb")
PRECISION = "micro-averaged precision (%)"
TWO = "two relations"
"""The view of MVSim, in the names of cells and in print."""
RANKS = tuple(range(10, 201, 10))
OF_ONE: tuple[dict[str, Any], ...] = tuple(
    {"k": k, "prune": p / 10} for k, p in product((0.8, 1.0), range(10))
)
"""Settings of χ-Sim that are tried: those of the χ-Sim tables."""
OF_TWO: tuple[dict[str, Any], ...] = tuple(
    {"k": k, "prune": p, "damping": 0.9, "combine": "max"}
    for k, p in product((0.8, 1.0), (0.0, 0.2, 0.4, 0.6))
)
"""Settings of MVSim that are tried with two relations."""
OF_LINKS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "chi-sim": tuple({"k": 1.0, "prune": 0.0, "iterations": n} for n in (8, 12)),
    "mvsim": tuple(
        {"k": 1.0, "prune": 0.0, "damping": damping, "combine": "mean", "iterations": n}
        for n, damping in ((4, None), (8, None), (8, 0.9), (12, 0.9))
    ),
}
"""Settings that are tried as well where the view is citations: four rounds reach little of it."""
FIXED: Mapping[str, Any] = {"k": 1.0, "prune": 0.4}
"""Settings for all sets; each set's best of the grid may be far above them."""
OF_BLOCKS: tuple[dict[str, Any], ...] = tuple({**g, "combine": "mean"} for g in OF_TWO)
"""Settings of MVSim that are tried on split matrices."""
MODELS: Mapping[str, tuple[str, Sequence[Mapping[str, Any]]]] = {
    "Cosine": ("cosine", [{}]),
    "LSA": ("lsa", [{"rank": rank} for rank in RANKS]),
    "SNOS": ("snos", [{}]),
    "CTK": ("ctk", [{"graph": "bipartite", "a": a} for a in (7.0, 10.0)]),
    "chi-Sim": ("chi-sim", OF_ONE),
    "ITCC": ("itcc", [{}]),
}
"""Methods of one view: plugin, and the settings that are tried."""
CLUSTERERS = ("itcc", "mvkm")
"""Plugins that cluster by themselves, without a similarity and Ward linkage."""


def sizes(data: Path, options: Options) -> PaperTable:
    """Return table 1: documents, words, links and classes of each set."""
    cells = []
    for one in progress.steps(_used(data, options, FOLDERS)):
        rows, more, classes = _matrices(data / one.folder, one)
        if one.has_links:
            # The print counts entries both ways for the universities, directed links for Cora.
            links = more if one.folder in ("cora", "citeseer") else csr_array(more + more.T)
            shown = {"documents": rows.shape[0], "words": rows.shape[1], "links": links.nnz}
        else:
            shown = {"movies": rows.shape[0], "keywords": rows.shape[1], "actors": more.shape[1]}
        shown["clusters"] = len(set(classes))
        name = one.size_name or one.name
        cells += [Cell({"set": name, "measure": what}, size) for what, size in shown.items()]
    return PaperTable("MVSim table 1: the sets", cells, "measure", _missing_note(data))


def precisions(data: Path, options: Options) -> PaperTable:
    """Return table 2: methods of one view on the printed view, and MVSim on two."""
    searches = []
    for one in _used(data, options, QUICK if options.quick else FOLDERS):
        of_links = OF_LINKS if one.view == "Citation" else {}
        for model, (plugin, grid) in MODELS.items():
            grid = (*grid, *of_links.get(plugin, ()))
            keys = {"view": one.view, "model": model, "place": one.place(model)}
            keys["algorithm"] = "ITCC" if plugin == "itcc" else "Ward"
            searches.append((_Search(data, one, plugin, one.view, grid), keys))
        grid = (*OF_TWO, *of_links.get("mvsim", ()))
        keys = {"view": TWO, "model": "MVSim", "place": "multi-view", "algorithm": "Ward"}
        searches.append((_Search(data, one, "mvsim", TWO, grid), keys))
    _compute([search for search, _ in searches], options)
    cells = [
        search.best(options).cell({"set": search.set.name, **keys}) for search, keys in searches
    ]
    return PaperTable(
        "MVSim table 2: precision on the printed view, and of MVSim",
        cells,
        "model",
        [
            (
                "Settings: the best precision of those tried. LSA: 10 to 200 dimensions; CTK: a 7 and 10; χ-Sim: k 0.8"
                " and 1, p 0 to 0.9; MVSim: the same k, p 0 to 0.6, λ 0.9, maximum, inbound links"
                " (Cora, Citeseer: citations). Cora also: 8 and 12 rounds with p 0, mean."
            ),
            *_missing_note(data),
        ],
        summarise=_with_fixed,
    )


def _with_fixed(comparison: Comparison) -> list[str]:
    """Return how many cells of χ-Sim and MVSim would agree with the same settings for all sets."""
    cells = [
        (cell.printed, cell.ours.more["fixed"])
        for cell in comparison.compared
        if cell.printed is not None and cell.ours.more.get("fixed") is not None
    ]
    n_agree = sum(printed.agrees(fixed) for printed, fixed in cells)
    settings = ", ".join(f"{name} {value:g}" for name, value in FIXED.items())
    return [f"With {settings} for all sets {n_agree} of {len(cells)} χ-Sim and MVSim cells agree."]


def entropies(data: Path, options: Options) -> PaperTable:
    """Return table 3: entropy of multi-view k-means, χ-Sim and MVSim; printed for CiteSeer only."""
    searches = [
        (_Search(data, one, plugin, view, grid, "entropy_nats"), model)
        for one in _used(data, options, QUICK if options.quick else FOLDERS)
        for model, plugin, view, grid in (
            ("MVKM", "mvkm", TWO, ({},)),
            ("chi-Sim_p^k", "chi-sim", one.view, OF_ONE),
            ("MVSim", "mvsim", TWO, OF_TWO),
        )
    ]
    _compute([search for search, _ in searches], options)
    cells = []
    for search, model in searches:
        name = "CiteSeer" if search.set.folder == "citeseer" else search.set.name
        algorithm = "MVKM" if search.plugin == "mvkm" else "Ward"
        keys = {"set": name, "algorithm": algorithm, "model": model, "measure": "entropy"}
        best = search.best(options)
        cells.append(Cell(keys, best.value, more={"settings": dict(best.settings)}))
    return PaperTable(
        "MVSim table 3: entropy of the classes in a cluster, in nats",
        cells,
        "model",
        [
            (
                "The paper prints CiteSeer only, without the formula or the base of the logarithm."
                " Settings: the lowest entropy of those tried."
            ),
            *_missing_note(data),
        ],
    )


def _used(data: Path, options: Options, default: Sequence[str]) -> list[_Set]:
    folders = {name.lower(): one.folder for one in SETS for name in (one.folder, one.name)}
    given = tuple(folders.get(name.lower(), name) for name in options.sets)
    wanted = selected(FOLDERS, default, replace(options, sets=given))
    used = [one for one in SETS if one.folder in wanted and _is_present(data, one)]
    if not used:
        raise MissingInputError(
            f"{data} has none of {', '.join(wanted)}; name another directory with --data"
        )
    return used


def _is_present(data: Path, one: _Set) -> bool:
    return is_present(data / one.folder, *_parts(one))


def _missing_note(data: Path) -> list[str]:
    absent = [one.folder for one in SETS if not _is_present(data, one)]
    return [f"Missing or incomplete, and left out: {', '.join(absent)}."] if absent else []


def _few(grid: Sequence[Mapping[str, Any]], options: Options) -> list[Mapping[str, Any]]:
    """Return the settings that are tried; with `--quick` a part of them."""
    if not options.quick or len(grid) == 1:
        return list(grid)
    few = [g for g in grid if g.get("prune", 0.2) in (0.2, 0.4) and g.get("k", 1.0) == 1.0]
    return [g for g in few if g.get("rank", 50) in (50, 100)]


def _parts(one: _Set) -> tuple[str, str]:
    return ("content", "links") if one.has_links else ("keywords", "actors")


@dataclass(frozen=True, slots=True)
class _Found:
    """The best score of a method on a view, and its settings."""

    value: float
    settings: Mapping[str, Any]
    fixed: float | None = None
    """The score with `FIXED`, if these settings were tried."""

    def cell(self, keys: Mapping[str, str]) -> Cell:
        """Return a cell of table 2."""
        fixed = None if self.fixed is None else 100 * self.fixed
        more = {"settings": dict(self.settings), "fixed": fixed}
        return Cell({**keys, "measure": PRECISION}, 100 * self.value, more=more)


@dataclass(frozen=True)
class _Search:
    """A method on a view of a set, with the settings that are tried."""

    data: Path
    set: _Set
    plugin: str
    view: str
    grid: Sequence[Mapping[str, Any]]
    score: str = "micro_precision"
    """What is the best: of an entropy the lowest, else the highest."""

    def cells(self, options: Options) -> list[PluginCell]:
        """Return a cell for each of the settings."""
        return [self._cell(settings, options) for settings in _few(self.grid, options)]

    def best(self, options: Options) -> _Found:
        """Return the best score of the settings; of equal ones the first."""
        results = _results(options)
        scored = [
            _Found(results[self._cell(g, options).name][self.score], g)
            for g in _few(self.grid, options)
        ]
        choose: Callable[..., _Found] = min if self.score.startswith("entropy") else max
        best = choose(scored, key=lambda one: one.value)
        same = [s.value for s in scored if FIXED.items() <= s.settings.items()]
        return replace(best, fixed=same[0] if same else None)

    def _cell(self, settings: Mapping[str, Any], options: Options) -> PluginCell:
        name = f"mvsim {self.set.folder} {self.plugin} {self.view}"
        return PluginCell(
            f"{name} {settings_key(settings)} {options.seed}", _rows_name(self.set, self.view),
            self.plugin, settings, "" if self.plugin in CLUSTERERS else "one-minus", options.seed,
            max(RANKS),
        )  # fmt: skip


def _rows_name(one: _Set, view: str) -> str:
    return f"{one.folder} {view}"


def _compute(searches: Sequence[_Search], options: Options) -> None:
    """Compute the cells of searches, in the workers of the options."""

    def rows() -> dict[str, LabelledRows]:
        held = {}
        for search in searches:
            name = _rows_name(search.set, search.view)
            if name not in held:
                views, classes = _views(search.data / search.set.folder, search.set)
                used = _second(views, search.set) if search.view == TWO else views[search.view]
                held[name] = LabelledRows(used, classes)
        return held

    groups = [group for search in searches for group in in_groups(search.cells(options))]
    compute_cells(_results(options), options, groups, rows)


@lru_cache(maxsize=1)
def _results(options: Options) -> Results[Scores]:
    return Results(options.results, options.tell)


def _matrices(folder: Path, one: _Set) -> tuple[Rows, Rows, list[str]]:
    """Return both matrices of a set, and the classes."""
    (first, second), classes = labelled_matrix(folder, *_parts(one))
    if one.has_links and second.shape[0] != second.shape[1]:
        raise InputError(
            f"{folder / 'links.npz'} has {second.shape[0]} rows and {second.shape[1]} columns;"
            " links are a square matrix of documents"
        )
    return first, second, classes


@lru_cache(maxsize=4)
def _views(folder: Path, one: _Set) -> tuple[dict[str, Rows], list[str]]:
    """Return the views by their printed names, and the classes."""
    first, second, classes = _matrices(folder, one)
    if one.has_links:
        both = csr_array(second + second.T)
        inbound = csr_array(second.T.tocsr())
        return {"Content": first, "Inbound": inbound, "Citation": both}, classes
    side_by_side = csr_array(hstack([first, second], format="csr"))
    return {"Keywords": first, "Actors": second, "Key+Act": side_by_side}, classes


def _second(views: Mapping[str, Rows], one: _Set) -> dict[str, Rows]:
    """Return the two relations of MVSim."""
    if not one.has_links:
        return {"Keywords": views["Keywords"], "Actors": views["Actors"]}
    links = "Citation" if one.folder in ("cora", "citeseer") else "Inbound"
    return {"Content": views["Content"], links: views[links]}


# --- table 4 ------------------------------------------------------------------------------

CUTS = tuple((blocks, width) for width in (500, 1000) for blocks in (1, 2, 4))


def splitting(data: Path, options: Options) -> PaperTable:
    """Return table 4: the precision of one matrix, and of matrices of different words."""
    subsets = with_samples(data, selected(SUBSETS, ("M5",) if options.quick else SUBSETS, options))
    drawn = {
        (subset, cut): [
            Sample(data, subset, number, BY_MEDOIDS, options.seed, cut[0] * cut[1])
            for number in sample_numbers(data, subset, options)
        ]
        for subset, cut in product(subsets, CUTS[:2] if options.quick else CUTS)
    }
    grid = _few(OF_BLOCKS, options)

    def rows() -> dict[str, LabelledRows]:
        wanted = [sample for listed in drawn.values() for sample in listed]
        selected = matrices(wanted, options.executor)
        return {sample.name: held for sample, held in selected.items()}

    groups = [
        [_split_cell(sample, cut[0], settings) for settings in grid]
        for (_, cut), listed in drawn.items()
        for sample in listed
    ]
    results = _results(options)
    compute_cells(results, options, groups, rows)
    cells = []
    for (subset, (n_blocks, width)), listed in drawn.items():
        n_samples = len(listed)
        values = {
            settings_key(settings): [
                results[_split_cell(sample, n_blocks, settings).name]["micro_precision"]
                for sample in listed
            ]
            for settings in grid
        }
        best = max(values, key=lambda key: mean_and_sd(values[key])[0])
        mean, sd = mean_and_sd(values[best])
        more = {"settings": json.loads(best), "samples": n_samples}
        keys = {"set": subset, "algorithm": "Ward", "model": f"MVSim {n_blocks}x{width}"}
        cells.append(Cell({**keys, "measure": PRECISION}, 100 * mean, 100 * sd, more))
    return PaperTable(
        "MVSim table 4: precision of split matrices, words by k-medoids",
        cells,
        "set",
        [
            (
                f"protocol: {BY_MEDOIDS}; words are dealt to the matrices at random. Settings: the best"
                " mean precision of k 0.8 and 1, p 0 to 0.6, λ 0.9, mean."
            ),
            "The print has the same figures in the rows 1x500 and 1x1000 on M2, M5 and M10.",
            *absent_notes(data, SUBSETS),
        ],
    )


def _split_cell(sample: Sample, n_blocks: int, settings: Mapping[str, Any]) -> PluginCell:
    name = " ".join(str(part) for part in sample.cell("mvsim", n_blocks, settings_key(settings)))
    more = {**settings, "views": n_blocks, "seed": sample.seed}
    return PluginCell(name, sample.name, "mvsim", more, sample.protocol.distance)
