"""Comparison of two partitions of the same units: links by words, coverage, kappa, Mantel's test.

Links need words and their weights. All other measures need only the contingency table
(`segapsith.evaluation.contingency`). After Ferret, Grau & Jardino (2001); the formulas are in
docs/concepts/formulas.md, "Comparing partitions".
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
    mantel_moments,
    mantel_of_table,
    mantel_samples,
)
from segapsith.evaluation.compare.trees import (
    Tree,
    TreeMantel,
    average_linkage_tree,
    mantel_of_trees,
)

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
    "average_linkage_tree",
    "coverage",
    "coverage_of_table",
    "kappa",
    "kappa_interval",
    "kappa_interval_of_table",
    "kappa_of_table",
    "link_by_entropy",
    "link_by_similarity",
    "mantel",
    "mantel_from_margins",
    "mantel_moments",
    "mantel_of_table",
    "mantel_of_trees",
    "mantel_samples",
    "profiles",
    "shared_links",
    "similarities",
    "witten_bell",
]
