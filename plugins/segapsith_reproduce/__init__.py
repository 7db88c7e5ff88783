"""Tables of published papers, computed again.

`TABLES` maps a name to a function of a module of this package, which is imported when its table is
requested. The function receives the directory of the data sets and the options; it reports
progress with `options.tell`. To add a table, write the module and add an entry here; the command,
its help and its JSON follow.

A table of our own returns a `Table`. A table that a paper prints returns a `PaperTable`: our figures
only, each a `Cell` whose keys (set, algorithm, model, measure, and further ones if needed) have the
names of `printed_tables/NAME.csv`. `reproduce` joins them with the printed figures of that file, or
of `Options.printed`, and returns a `Comparison`, which counts, lays out and draws. So a function
for a paper's table neither reads printed figures nor compares anything.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segapsith.errors import MissingInputError, UsageError, did_you_mean

if TYPE_CHECKING:
    from segapsith.plugin.contracts import Executor
    from segapsith_reproduce.comparison import Comparison

__all__ = ["TABLES", "Cell", "Options", "PaperTable", "Reproduction", "Table", "reproduce"]


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a table."""

    quick: bool = False
    """Use a part of the data, for a result within a minute or two."""
    seed: int = 0
    tell: Callable[[str], None] = _silent
    """Receives a line about the progress."""
    results: Path | None = None
    """A file of JSON lines for finished scores, so that an interrupted table can be continued."""
    sets: tuple[str, ...] = ()
    """Use only these sets of the table; empty for all."""
    repetitions: int | None = None
    """Number of samples or repetitions, if not the default."""
    store: Path | None = None
    """A store whose terms and network replace those of the reference corpora in segmentation."""
    printed: Path | None = None
    """A CSV file of printed figures, in the place of those that the package has."""
    half: str = ""
    """Score only this half of the labels, `first` or `second`; empty for both."""
    executor: Executor | None = None
    """Where the cells of grids are computed; None for this process."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of figures; `head` names the columns. A cell is a string, a number or None."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | int | float | None]]
    notes: Sequence[str] = ()
    picture: str = ""
    """A chart of the figures as SVG, or an empty string."""

    def as_json(self) -> dict[str, Any]:
        """Return the title, the rows as objects, and the notes.

        >>> Table("t", ["a", "b"], [[1, None]]).as_json()["rows"]
        [{'a': 1, 'b': None}]
        """
        return {
            "title": self.title,
            "rows": [dict(zip(self.head, row, strict=True)) for row in self.rows],
            "notes": list(self.notes),
        }

    def cells(self) -> list[Cell]:
        """Return every number as a cell: columns of text are its keys, its column the measure.

        >>> Table("t", ["set", "F"], [["a", 0.5]]).cells()
        [Cell(keys={'set': 'a', 'measure': 'F'}, ours=0.5, deviation=None, more={}, label='')]
        """
        named = [dict(zip(self.head, row, strict=True)) for row in self.rows]
        return [
            Cell({**{k: v for k, v in row.items() if isinstance(v, str)}, "measure": name}, value)
            for row in named
            for name, value in row.items()
            if isinstance(value, int | float)
        ]


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure of ours, named as in the printed table."""

    keys: Mapping[str, str]
    """`set`, `algorithm`, `model`, `measure` and further columns of the printed table."""
    ours: float | str
    """A number, or a sign such as `<<`."""
    deviation: float | None = None
    """Standard deviation of ours, where there is one."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Further facts for the JSON, such as a value of t."""
    label: str = ""
    """What the figure is about where ours and the paper's differ, such as the word at a place."""


@dataclass(frozen=True, slots=True)
class PaperTable:
    """Our figures of a table that a paper prints."""

    title: str
    cells: Sequence[Cell]
    across: str = "model"
    """The key whose values are the columns of the layout; the other keys name the rows."""
    notes: Sequence[str] = ()
    draw: Callable[[Comparison], str] | None = None
    """Draws the comparison as SVG; by default ours is drawn against the printed figures."""
    summarise: Callable[[Comparison], Sequence[str]] | None = None
    """Returns further notes on the comparison, such as counts of some rows."""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A table that can be computed again."""

    about: str
    """One line for the help."""
    home: str
    """`module:function` of this package; it is called with the data directory and the options."""
    needs: Sequence[str] = ()
    """Directories of data sets that must exist."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Further arguments of the function, so that one function can compute several tables."""
    accepts: frozenset[str] = frozenset()
    """Which of the options `sets`, `repetitions`, `half` and `workers` the table accepts."""
    accepts_store: bool = False
    """Whether the table can use the terms and the network of a store."""

    def compute(self, data: Path, options: Options) -> Table | PaperTable:
        """Check options and data, and return the table."""
        for name in ("sets", "repetitions", "half"):
            if getattr(options, name) and name not in self.accepts:
                raise UsageError(f"this table does not accept --{name}")
        if options.store is not None and not self.accepts_store:
            raise UsageError("only the segmentation tables accept --store")
        absent = [name for name in self.needs if not (data / name).is_dir()]
        if absent:
            raise MissingInputError(
                f"{data} has no directory {', '.join(absent)}; name the directory of the data sets"
                " with --data or SEGAPSITH_DATA"
            )
        module, _, name = self.home.partition(":")
        function = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        table: Table | PaperTable = function(data, options, **self.settings)
        return table


_SEGMENTED = {
    "choi": "ten joined pieces of the Brown corpus",
    "orangesum-segments-fr": "joined French news",
    "clinical": "a medical textbook",
    "wiki300": "encyclopedia articles",
    "lectures-ai": "lectures on artificial intelligence",
    "lectures-physics": "lectures on physics",
    "fiction": "novels",
    "wikisection-pt-disease": "articles on diseases, translated into Portuguese",
    "manifesto": "party manifestos",
}

TABLES: dict[str, Reproduction] = {
    name: Reproduction(
        f"segmentation of {what}, by our segmenters and others", "segmentation:table", (name,),
        {"name": name}, accepts_store=True,
    )
    for name, what in _SEGMENTED.items()
}  # fmt: skip
"""Every table, by the name that the command knows."""

TABLES |= {
    "segmentation": Reproduction(
        "the nine tables above in one; each reference network is learned once",
        "segmentation:tables",
        tuple(_SEGMENTED),
        {"names": tuple(_SEGMENTED)},
        accepts_store=True,
    ),
    "streaming": Reproduction(
        "every level of labelled streams, compared with single pass, Louvain and k-means",
        "streaming:streaming",
        accepts=frozenset({"sets", "half"}),
    ),
    "languages": Reproduction(
        "reading and learning in every language, compared with single pass and k-means",
        "languages:languages",
        accepts=frozenset({"sets"}),
    ),
    "labels": Reproduction(
        "how often `classify LABEL` finds the domain, topic or section of the label first",
        "streams.label_retrieval:label_retrieval",
        accepts=frozenset({"sets"}),
    ),
    "month": Reproduction(
        "two months of French news with the default settings",
        "month:month",
        ["orangesum-fr"],
    ),
    "order": Reproduction("agreement of shuffled orders of tdt2", "streaming:order", ["tdt2"]),
}

TABLES["inferred"] = Reproduction(
    "whether words inferred from the network help to recognise texts on the same subject",
    "inferred:table",
    ("reuters21578", "orangesum-fr"),
)


_SETS, _GRID = frozenset({"sets"}), frozenset({"sets", "workers"})
_BOTH = frozenset({"sets", "repetitions", "workers"})

TABLES |= {
    "chi-sim-1": Reproduction("χ-Sim, the six subsets", "chi_sim:subsets", ("20ng",), {}, _SETS),
    "chi-sim-2": Reproduction(
        "χ-Sim, precision and NMI with words by mutual information", "chi_sim:table", ("20ng",),
        {"number": 2}, _BOTH,
    ),
    "chi-sim-3": Reproduction(
        "χ-Sim, precision with words by k-medoids", "chi_sim:table", ("20ng",),
        {"number": 3}, _BOTH,
    ),
    "chi-sim-protocols": Reproduction(
        "χ-Sim, tables 2 and 3 by other word selections, entries and distances",
        "chi_sim:protocols", ("20ng",), {}, _BOTH,
    ),
    "chi-sim-figure-2": Reproduction(
        "χ-Sim, precision against p and k", "chi_sim:figure", ("20ng",), {}, _BOTH,
    ),
    "gvsm-1": Reproduction("GVSM, the sets", "gvsm.tables:sets", (), {}, _SETS),
    "gvsm-2": Reproduction(
        "GVSM, mean change against VSM of four explicit models", "gvsm.tables:changes", (),
        {"number": 2}, _BOTH,
    ),
    "gvsm-3": Reproduction(
        "GVSM, means of relative measures of six models", "gvsm.tables:relative_means", (), {}, _BOTH,
    ),
    "gvsm-4": Reproduction(
        "GVSM, signs of paired t-tests between six models", "gvsm.tables:signs", (), {}, _BOTH,
    ),
    "gvsm-5": Reproduction(
        "GVSM, F-measure by set, algorithm and model", "gvsm.tables:scores", (),
        {"measure": "F-measure", "number": 5}, _BOTH,
    ),
    "gvsm-6": Reproduction(
        "GVSM, entropy by set, algorithm and model", "gvsm.tables:scores", (),
        {"measure": "entropy", "number": 6}, _BOTH,
    ),
    "gvsm-7": Reproduction(
        "GVSM, purity by set, algorithm and model", "gvsm.tables:scores", (),
        {"measure": "purity", "number": 7}, _BOTH,
    ),
    "gvsm-8": Reproduction(
        "GVSM, mean change against VSM of COV from sampled rows", "gvsm.tables:changes", (),
        {"number": 8}, _BOTH,
    ),
    "mvsim-1": Reproduction("MVSim, the sets", "mvsim:sizes", (), {}, _SETS),
    "mvsim-2": Reproduction(
        "MVSim and the best methods of one view, precision", "mvsim:precisions", (), {}, _GRID,
    ),
    "mvsim-3": Reproduction(
        "MVSim, χ-Sim and multi-view k-means, entropy", "mvsim:entropies", (), {}, _GRID,
    ),
    "mvsim-4": Reproduction(
        "MVSim on split matrices", "mvsim:splitting", ("20ng",), {}, _BOTH,
    ),
}  # fmt: skip


TABLES |= {
    name: Reproduction(
        f"SEGAPSITH, {about}", "paper_month:table", ("orangesum-fr",), {"name": name}
    )
    for name, about in {
        "segapsith-1": "words of a thematic unit",
        "segapsith-2": "words inferred for a unit",
        "segapsith-3": "the best words of a domain",
        "segapsith-4": "links between domains and clusters",
        "segapsith-5": "coverage of domains by clusters",
        "segapsith-figures": "units, domains, kappa and Mantel's test",
    }.items()
}


def reproduce(name: str, data: Path, options: Options | None = None) -> Table | Comparison:
    """Compute the table of that name, and compare it with the printed figures if there are any."""
    from segapsith_reproduce.comparison import compare
    from segapsith_reproduce.printed import read, shipped

    if name not in TABLES:
        raise UsageError(
            f"no table is called {name!r} (there are: {', '.join(TABLES)}){did_you_mean(name, TABLES)}"
        )
    options = options or Options()
    computed = TABLES[name].compute(data, options)
    if options.printed is not None:
        printed = read(options.printed, name)
    elif isinstance(computed, PaperTable):
        printed = shipped(name)
    else:
        return computed
    if isinstance(computed, Table):
        computed = PaperTable(computed.title, computed.cells(), "measure", computed.notes)
    return compare(name, computed, printed)
