"""Tables that are computed again, beside the figures that were printed.

`TABLES` leads from a name to the function that fills it: a module of this package, loaded when its
table is asked for. The function is given the folder of the data sets and the options, and gives a
`Table`; what it has to say meanwhile goes to `options.tell`. To add one, write the module and name
it here; the command, its help and its JSON follow.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from segapsith.errors import MissingInputError, UsageError, did_you_mean

__all__ = ["TABLES", "Options", "Reproduction", "Table", "reproduce"]


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Options:
    """What may be chosen about a table."""

    quick: bool = False
    """A part of the data that says about the same in a minute or two."""
    seed: int = 0
    tell: Callable[[str], None] = _silent
    """Hears what is being done."""
    results: Path | None = None
    """JSON lines in which figures are kept as they come, so that a table can be gone on with."""
    sets: tuple[str, ...] = ()
    """Only these of the sets that a table has; none is all."""
    repetitions: int | None = None
    """So many samples or repetitions in place of the usual number."""
    store: Path | None = None
    """A store whose terms and network texts are segmented with, instead of reference corpora."""


@dataclass(frozen=True, slots=True)
class Table:
    """Figures in rows; `head` names the columns. A cell is a string, a number or None."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str | int | float | None]]
    notes: Sequence[str] = ()
    picture: str = ""
    """The figures drawn, as SVG; empty where there is no picture."""

    def as_json(self) -> dict[str, Any]:
        """
        >>> Table("t", ["a", "b"], [[1, None]]).as_json()["rows"]
        [{'a': 1, 'b': None}]
        """
        return {
            "title": self.title,
            "rows": [dict(zip(self.head, row, strict=True)) for row in self.rows],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Reproduction:
    """A table that can be computed again."""

    about: str
    """One line for the help."""
    home: str
    """`module:function` of this package; it is called with the data's folder and the options."""
    needs: Sequence[str] = ()
    """Folders of data sets without which it cannot begin."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Further arguments of the function, so that one can fill several tables."""
    narrowed: frozenset[str] = frozenset()
    """Which of `sets` and `repetitions` it can be narrowed by."""
    takes_store: bool = False
    """Whether it can be filled with what a store has learned."""

    def fill(self, data: Path, options: Options) -> Table:
        for name, given in (("sets", options.sets), ("repetitions", options.repetitions)):
            if given and name not in self.narrowed:
                raise UsageError(f"this table cannot be narrowed by --{name}")
        if options.store is not None and not self.takes_store:
            raise UsageError("only tables of segmentation can be filled with a store")
        absent = [name for name in self.needs if not (data / name).is_dir()]
        if absent:
            raise MissingInputError(
                f"{data} has no folder {', '.join(absent)}; name the one that has with --data"
                " or SEGAPSITH_DATA"
            )
        module, _, name = self.home.partition(":")
        function = getattr(importlib.import_module(f"{__name__}.{module}"), name)
        table: Table = function(data, options, **self.settings)
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
        f"boundaries in {what}, found by our segmenters and others", "segmentation:table", (name,),
        {"name": name}, takes_store=True,
    )
    for name, what in _SEGMENTED.items()
}  # fmt: skip
"""Every table, by the name that the command knows."""

TABLES |= {
    "segmentation": Reproduction(
        "the nine tables above in one, each reference network learned once",
        "segmentation:tables",
        tuple(_SEGMENTED),
        {"names": tuple(_SEGMENTED)},
        takes_store=True,
    ),
    "streaming": Reproduction(
        "domains and topics of six streams, beside a single pass",
        "streaming:streaming",
        ["tdt2", "mstream-news", "bbc-news", "reuters21578", "ecbplus", "wikipedia-current-events"],
    ),
    "month": Reproduction(
        "the paper's month of agency copy, on two months of French news",
        "month:month",
        ["orangesum-fr"],
    ),
    "order": Reproduction("how far shuffled orders of tdt2 agree", "streaming:order", ["tdt2"]),
}

TABLES["inferred"] = Reproduction(
    "whether words inferred from the network help to see that texts are about the same",
    "inferred:table",
    ("reuters21578", "orangesum-fr"),
)


_SETS, _BOTH = frozenset({"sets"}), frozenset({"sets", "repetitions"})

TABLES |= {
    "chi-sim-2": Reproduction(
        "χ-Sim, precision with words by mutual information", "chi_sim:table", ("20ng",),
        {"words": "information"}, _BOTH,
    ),
    "chi-sim-3": Reproduction(
        "χ-Sim, precision with words by k-medoids", "chi_sim:table", ("20ng",),
        {"words": "medoids"}, _BOTH,
    ),
    "chi-sim-figure-2": Reproduction(
        "χ-Sim, precision against p and k", "chi_sim:figure", ("20ng",), {}, _BOTH,
    ),
    "gvsm-2": Reproduction(
        "GVSM models, complete and average linkage", "gvsm:models", (),
        {"algorithms": ("complete", "average"), "number": 2}, _SETS,
    ),
    "gvsm-3": Reproduction(
        "GVSM models, spherical k-means", "gvsm:models", (),
        {"algorithms": ("spherical",), "number": 3}, _BOTH,
    ),
    "gvsm-4": Reproduction("GVSM models, paired t-tests", "gvsm:tests", (), {}, _BOTH),
    "gvsm-5": Reproduction(
        "hybrid models, spherical k-means", "gvsm:hybrids", (),
        {"algorithm": "spherical", "number": 5}, _BOTH,
    ),
    "gvsm-6": Reproduction(
        "hybrid models, complete linkage", "gvsm:hybrids", (),
        {"algorithm": "complete", "number": 6}, _SETS,
    ),
    "gvsm-7": Reproduction(
        "hybrid models, average linkage", "gvsm:hybrids", (),
        {"algorithm": "average", "number": 7}, _SETS,
    ),
    "gvsm-8": Reproduction("GVSM COV from sampled rows", "gvsm:sampling", (), {}, _BOTH),
    "mvsim-2": Reproduction(
        "MVSim and others on two views, precision", "mvsim:views", (),
        {"score": "micro_precision", "number": 2}, _BOTH,
    ),
    "mvsim-3": Reproduction(
        "MVSim and others on two views, entropy", "mvsim:views", (),
        {"score": "entropy_nats", "number": 3}, _BOTH,
    ),
    "mvsim-4": Reproduction(
        "MVSim on split matrices", "mvsim:splitting", ("20ng",), {}, _BOTH,
    ),
}  # fmt: skip


def reproduce(name: str, data: Path, options: Options | None = None) -> Table:
    """The table of that name, computed from the data sets below a folder."""
    if name not in TABLES:
        raise UsageError(
            f"no table is called {name!r} (known: {', '.join(TABLES)}){did_you_mean(name, TABLES)}"
        )
    return TABLES[name].fill(data, options or Options())
