"""Comparing two partitions of the same units: by words, by coverage, by kappa, by Mantel's test.

The word-based linkings take words and their weights; everything else needs only the table in
which the two partitions meet (`segapsith.evaluation.contingency`). After Ferret, Grau & Jardino (2001).
"""

from __future__ import annotations

from segapsith.evaluation.compare.coverage import (
    BINS,
    ClassCoverage,
    Coverage,
    coverage,
    coverage_of_table,
)
from segapsith.evaluation.compare.kappa import (
    Interval,
    Kappa,
    kappa,
    kappa_interval,
    kappa_interval_of_table,
    kappa_of_table,
)
from segapsith.evaluation.compare.linking import (
    Activation,
    Links,
    Profiles,
    link_by_entropy,
    link_by_similarity,
    profiles,
    shared_links,
    similarities,
    witten_bell,
)
from segapsith.evaluation.compare.mantel import (
    Mantel,
    MantelMargins,
    mantel,
    mantel_from_margins,
    mantel_law,
    mantel_moments,
    mantel_of_table,
)
from segapsith.evaluation.compare.trees import Tree, TreeMantel, grown, mantel_of_trees

__all__ = [
    "BINS",
    "Activation",
    "ClassCoverage",
    "Coverage",
    "Interval",
    "Kappa",
    "Links",
    "Mantel",
    "MantelMargins",
    "Profiles",
    "Tree",
    "TreeMantel",
    "coverage",
    "coverage_of_table",
    "grown",
    "kappa",
    "kappa_interval",
    "kappa_interval_of_table",
    "kappa_of_table",
    "link_by_entropy",
    "link_by_similarity",
    "mantel",
    "mantel_from_margins",
    "mantel_law",
    "mantel_moments",
    "mantel_of_table",
    "mantel_of_trees",
    "profiles",
    "shared_links",
    "similarities",
    "witten_bell",
]
