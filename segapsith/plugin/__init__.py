"""Contracts of plugins, and how plugins are registered, made and guarded.

A plugin imports what it needs from here: `from segapsith.plugin import Similarity, hookimpl`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from segapsith.plugin.contracts import (
    ABILITIES,
    KINDS,
    NETWORK_PARTS,
    Annotator,
    Clusterer,
    Comparison,
    Exporter,
    HasCurve,
    HasExample,
    HasFactors,
    LearnedRowsOnly,
    Segmenter,
    Similarity,
    Source,
    TakesViews,
    UnitDiagonal,
    UsesNetworkParts,
)

if TYPE_CHECKING:
    from segapsith.plugin.hookspecs import hookimpl

__all__ = [
    "ABILITIES",
    "KINDS",
    "NETWORK_PARTS",
    "Annotator",
    "Clusterer",
    "Comparison",
    "Exporter",
    "HasCurve",
    "HasExample",
    "HasFactors",
    "LearnedRowsOnly",
    "Segmenter",
    "Similarity",
    "Source",
    "TakesViews",
    "UnitDiagonal",
    "UsesNetworkParts",
    "hookimpl",
]


def __getattr__(name: str) -> Any:
    if name == "hookimpl":  # pluggy is imported only by who registers plugins
        from segapsith.plugin import hookspecs

        return hookspecs.hookimpl
    raise AttributeError(f"module 'segapsith.plugin' has no attribute {name!r}")
