"""The five tables and the figures of Ferret, Grau & Jardino (2001), from one month of French news.

The paper had May 1994 of AFP copy, which is not available. `orangesum-fr` of May 2020 is of the same
size: news in French, much of it agency copy. All settings are those of the preset `paper`. Another
corpus has other domains, so the counts show whether the picture is the same, not the figures.

The month is learned once. With `--results` its figures are stored, and the six tables share them.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from segapsith.api.validation import ValidationResult
from segapsith.api.wire import Wire
from segapsith.evaluation.compare.mantel import (
    mantel_from_margins,
    mantel_of_table,
    mantel_samples,
)
from segapsith.evaluation.contingency import Contingency
from segapsith.evaluation.validation import CoverageSummary, LinkSummary
from segapsith.settings import resolve
from segapsith_reproduce import Cell, Options, PaperTable
from segapsith_reproduce.cells import Results
from segapsith_store.queries.documents import UnitRow, iterate_units
from segapsith_store.queries.stream import learned_units

__all__ = ["table"]

MONTH = "2020-05"
MIN_UNITS = 15
"""Number of units from which a domain is compared."""
MIN_WEIGHT = 0.1
"""A word with more than this weight belongs to a domain."""
N_UNIT_WORDS, N_DOMAIN_WORDS = 18, 10
N_MANTEL_UNITS, N_PERMUTATIONS = 1000, 99
LINK_THRESHOLD = 0.25
QUICK = 400
"""Number of articles with `options.quick`."""
COVERAGE = {
    "100": "100 %", "80-100": "80 % to 100 %", "60-80": "60 % to 80 %",
    "40-60": "40 % to 60 %", "20-40": "20 % to 40 %", "0-20": "below 20 %",
}  # fmt: skip
TITLES = {
    "segapsith-1": "words of a thematic unit",
    "segapsith-2": "words inferred for this unit from the co-occurrence network",
    "segapsith-3": "the ten best words of a domain",
    "segapsith-4": "domains by the number of clusters that are linked to them",
    "segapsith-5": "domains by their share in one cluster",
    "segapsith-figures": "figures of the running text",
}
ACROSS = {"segapsith-4": "model", "segapsith-figures": "value"}
"""Keys of the columns; no cell has a key `value`, so that each figure is a row."""

Found = list[tuple[str, Cell]]
"""Cells with the name of their table."""


def table(data: Path, options: Options, *, name: str) -> PaperTable:
    """Return one of the paper's tables from the month."""
    cells = [cell for of, cell in _month(data, options) if of == name]
    notes = [
        f"Another corpus: orangesum-fr, {MONTH}, preset `paper`; the paper has AFP, May 1994.",
        *_notes(name),
    ]
    title = f"SEGAPSITH {name.removeprefix('segapsith-')}: {TITLES[name]}"
    return PaperTable(title, cells, ACROSS.get(name, "measure"), notes)


def _notes(name: str) -> list[str]:
    if name in ("segapsith-1", "segapsith-2"):
        return ["Places are compared by weight; the unit with the most inferred words is shown."]
    if name == "segapsith-3":
        return ["The largest domain is shown."]
    if name == "segapsith-4":
        return ["No link counts clusters, as in the paper; the other rows count domains."]
    if name == "segapsith-5":
        return ["Coverage of 100 % means that a domain lies inside one cluster."]
    printed = mantel_from_margins(N_MANTEL_UNITS, 978_460, 948_608, 940_894)
    return [
        (
            f"Mantel: the printed Z of {N_MANTEL_UNITS:,} units (940,894; 978,460 and 948,608 at most)"
            f" have an expected Z of {printed.expected:,.0f}, not the printed 937,708."
        ),
        "Not computed: from how many units a domain is stable, and the time of a clustering.",
    ]


@lru_cache(maxsize=1)
def _month(data: Path, options: Options) -> Found:
    """Return the cells of all tables, from the results if they are stored."""
    results: Results[dict[str, float]] = Results(options.results, options.tell)
    key = ("segapsith-month", MONTH, "quick" if options.quick else "whole", options.seed)
    stored = results.get(key, lambda: _packed(_learned(data, options)))
    return _unpacked(stored)


def _packed(tables: Found) -> dict[str, float]:
    """Return the cells as numbers by name, which is the form of stored results."""
    return {
        json.dumps([of, dict(cell.keys), cell.label, cell.deviation]): float(cell.ours)
        for of, cell in tables
    }


def _unpacked(stored: Mapping[str, float]) -> Found:
    cells = []
    for key, value in stored.items():
        of, keys, label, deviation = json.loads(key)
        ours = int(value) if value == int(value) else value
        cells.append((of, Cell(keys, ours, deviation, label=label)))
    return cells


# --- learning the month -------------------------------------------------------------------


def _days(data: Path, options: Options) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    with gzip.open(data / "orangesum-fr" / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        items = [item for line in lines if (item := json.loads(line))["date"][:7] == MONTH]
    items.sort(key=lambda item: (item["date"], str(item["id"])))
    stories = [
        {
            "id": str(item["id"]), "date": item["date"], "lang": "fr",
            "title": item["title"] or "", "text": item["text"] or "",
        }
        for item in items[: QUICK if options.quick else None]
    ]  # fmt: skip
    for day, of_day in groupby(stories, key=lambda story: story["date"][:10]):
        yield day, list(of_day)


def _learned(data: Path, options: Options) -> Found:
    """Learn the month, validate it, and return the cells of all tables."""
    with Wire(":memory:", resolve({"lang": "fr", "preset": "paper"}, environment={})) as wire:
        for day, stories in _days(data, options):
            options.tell(f"learning {day} …")
            wire.ingest(stories)
        options.tell("validating …")
        all_domains = wire.domains(min_units=1, top=1)
        domains = wire.domains(min_units=MIN_UNITS, top=None)
        learned = wire.read(lambda store: learned_units(store, "fr"))
        units = wire.read(lambda store: list(iterate_units(store)))
        significance = learned.significance
        weights = (
            {} if significance is None else dict(zip(learned.words, significance, strict=True))
        )
        cells = [*_unit_cells(units, weights), *_domain_cells(domains)]
        n_units = sum(domain.units for domain in all_domains)
        heavy = {w.word for d in domains for w in d.words if w.weight > MIN_WEIGHT}
        figures: dict[tuple[str, str], float] = {
            ("2.2", "thematic units of May 1994 (AFP)"): n_units,
            ("2.2", "weight below which words are rarely related to the domain"): MIN_WEIGHT,
            ("2.2", "aggregations a domain must have to be taken"): MIN_UNITS,
            ("2.2", "domains taken"): len(domains),
            ("2.2", "thematic units in these domains"): sum(d.units for d in domains),
            ("2.2", "words with a weight above 0.1 in these domains"): len(heavy),
        }
        if len(domains) > 1:
            validation = wire.validation.run(
                min_units=MIN_UNITS, word_cut=MIN_WEIGHT, stability=0, seed=options.seed, lang="fr"
            )
            cells += [*_link_cells(validation), *_coverage_cells(validation)]
            figures |= _validation_figures(validation, options.seed)
            figures |= _topic_figures(wire, {domain.id for domain in domains})
    sd = figures.pop(("4.2.3", "sd"), None)
    for (section, measure), value in figures.items():
        deviation = sd if measure == "Z of the permuted matrices" else None
        keys = {"section": section, "measure": measure}
        cells.append(("segapsith-figures", Cell(keys, value, deviation)))
    return cells


def _unit_cells(
    units: Sequence[UnitRow], weights: Mapping[str, float]
) -> Iterator[tuple[str, Cell]]:
    """Yield the heaviest words of the unit with most inferred words, and these."""
    long_units = [unit for unit in units if unit.kept and len(unit.words) >= N_UNIT_WORDS]
    if not long_units:
        return
    unit = max(
        long_units, key=lambda one: (len(one.inferred), sum(one.inferred.values()), -one.unit)
    )
    words = {word: float(weights.get(word, 0.0)) for word in unit.words}
    for name, listed in (("segapsith-1", words), ("segapsith-2", unit.inferred)):
        ranked = sorted(listed.items(), key=lambda pair: (-pair[1], pair[0]))[:N_UNIT_WORDS]
        for place, (word, weight) in enumerate(ranked, 1):
            yield name, Cell({"place": str(place), "measure": "weight"}, weight, label=word)


def _domain_cells(domains: Sequence[Any]) -> Iterator[tuple[str, Cell]]:
    """Yield the best words of the largest domain."""
    if not domains:
        return
    domain = max(domains, key=lambda one: (one.units, -one.id))
    for place, word in enumerate(domain.words[:N_DOMAIN_WORDS], 1):
        for measure, value in (("occurrences", word.occurrences), ("weight", word.weight)):
            keys = {"place": str(place), "measure": measure}
            yield "segapsith-3", Cell(keys, value, label=word.word)


def _link_cells(validation: ValidationResult) -> Iterator[tuple[str, Cell]]:
    links = {"similarity": validation.links.similarity, "entropy": validation.links.entropy}
    tables = {name: one for name, one in links.items() if isinstance(one, LinkSummary)}
    for model, summary in tables.items():
        keys = {"link": "no link", "model": model, "measure": "clusters"}
        yield "segapsith-4", Cell(keys, summary.unlinked)
    most = max((int(n) for one in tables.values() for n in one.table), default=0)
    for n in range(1, max(most, 6) + 1):
        for model, summary in tables.items():
            keys = {"link": f"1 to {n}", "model": model, "measure": "domains"}
            yield "segapsith-4", Cell(keys, summary.table.get(str(n), 0))


def _coverage_cells(validation: ValidationResult) -> Iterator[tuple[str, Cell]]:
    if isinstance(validation.coverage, CoverageSummary):
        for name, count in validation.coverage.bins.items():
            keys = {"coverage": COVERAGE[name], "measure": "domains"}
            yield "segapsith-5", Cell(keys, count)


def _validation_figures(validation: ValidationResult, seed: int) -> dict[tuple[str, str], float]:
    """Return the figures of sections 3 and 4 that follow from the validation."""
    figures: dict[tuple[str, str], float] = {
        ("3.2", "clusters K of the entropy-based clustering"): validation.clusters,
        ("4.1.1", "threshold of the similarity between cluster and domain"): LINK_THRESHOLD,
    }
    similar, entropy = validation.links.similarity, validation.links.entropy
    if isinstance(similar, LinkSummary):
        linked = {int(n): count for n, count in similar.table.items() if int(n)}
        figures |= {
            ("4.1.3", "clusters without a domain (similarity)"): similar.unlinked,
            ("4.1.3", "clusters linked to a domain (similarity)"): sum(n * c for n, c in linked.items()),
            ("4.1.3", "domains linked to (similarity)"): sum(linked.values()),
            ("4.1.3", "links of one cluster to one domain (similarity)"): linked.get(1, 0),
        }  # fmt: skip
    if isinstance(entropy, LinkSummary):
        by_entropy = sum(count for n, count in entropy.table.items() if int(n))
        figures["4.1.3", "associated in the entropy-based classification"] = by_entropy
    if isinstance(validation.coverage, CoverageSummary):
        coverages = [100 * one.coverage for one in validation.coverage.domains]
        figures |= {
            ("4.2.1", "domains identical to a cluster"): validation.coverage.bins["100"],
            ("4.2.1", "lowest coverage"): min(coverages),
            ("4.2.1", "domains with a coverage above 20 %"): sum(c > 20 for c in coverages),
        }
    for mapping, measure in (
        (validation.kappa.random, "kappa with a random mapping"),
        (validation.kappa.greedy, "kappa with the greedy mapping by largest intersection"),
    ):
        if mapping is not None:
            figures["4.2.2", measure] = mapping
    if validation.table is not None:
        figures |= _mantel_figures(validation.table.cells, seed)
    return figures


def _mantel_figures(cells: Sequence[Sequence[int]], seed: int) -> dict[tuple[str, str], float]:
    """Return Mantel's test on a random subset of the units, as in the paper.

    `cells` are (domain, cluster, units). To draw units is to draw from these cells.
    """
    listed = np.asarray(cells, dtype=np.int64)
    n = min(N_MANTEL_UNITS, int(listed[:, 2].sum()))
    drawn = np.random.default_rng(seed).multivariate_hypergeometric(listed[:, 2], n)
    square = np.zeros(listed[:, :2].max(axis=0) + 1, dtype=np.int64)
    np.add.at(square, (listed[:, 0], listed[:, 1]), drawn)
    square = square[square.any(axis=1)][:, square.any(axis=0)]
    subset = Contingency.of_table(square)
    result = mantel_of_table(subset, N_PERMUTATIONS, seed)
    permuted = mantel_samples(subset, N_PERMUTATIONS, seed)
    largest = [n * n - int((sizes**2).sum()) for sizes in (square.sum(axis=1), square.sum(axis=0))]
    return {
        ("4.2.3", "units in the Mantel test"): n,
        ("4.2.3", "Z between domains and clusters"): result.z,
        ("4.2.3", "largest Z for the domains"): largest[0],
        ("4.2.3", "largest Z for the clusters"): largest[1],
        ("4.2.3", "permuted matrices"): N_PERMUTATIONS,
        ("4.2.3", "Z of the permuted matrices"): float(permuted.mean()),
        ("4.2.3", "sd"): float(permuted.std(ddof=1)),
        ("4.2.3", "share of permuted values above Z"): float((permuted > result.z).mean()),
    }


def _topic_figures(wire: Wire, stable: set[int]) -> dict[tuple[str, str], float]:
    """Return how many general domains the stable domains make, and their sizes."""
    topics = wire.topics(top=1)
    sizes = Counter(topic.id for topic in topics for domain in topic.domains if domain in stable)
    if not sizes:
        return {}
    return {
        ("4.1.3", "general domains after hierarchical classification"): len(sizes),
        ("4.1.3", "domains in one general domain, from"): min(sizes.values()),
        ("4.1.3", "domains in one general domain, to"): max(sizes.values()),
    }
