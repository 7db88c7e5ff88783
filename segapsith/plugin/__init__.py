"""Contracts of plugins, and how plugins are registered, made and guarded.

A plugin imports what it needs from here: `from segapsith.plugin import Similarity, hookimpl`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from segapsith.plugin.contracts import (
    ABILITIES,
    KINDS,
    NETWORK_PARTS,
    Annotator,
    Clusterer,
    Comparison,
    Executor,
    Exporter,
    Followable,
    HasCurve,
    HasExample,
    HasFactors,
    HasProductForm,
    Labeller,
    LearnedRowsOnly,
    LiveSource,
    NamesColumns,
    Notifier,
    ProductForm,
    Segmenter,
    SharedValue,
    Similarity,
    Source,
    TakesViews,
    UnitDiagonal,
    UsesNetworkParts,
)

if TYPE_CHECKING:
    from segapsith.plugin.hookspecs import hookimpl
    from segapsith.plugin.registry import Registry, load_plugins

__all__ = [
    "ABILITIES",
    "KINDS",
    "NETWORK_PARTS",
    "Annotator",
    "Clusterer",
    "Comparison",
    "Executor",
    "Exporter",
    "Followable",
    "HasCurve",
    "HasExample",
    "HasFactors",
    "HasProductForm",
    "Labeller",
    "LearnedRowsOnly",
    "LiveSource",
    "NamesColumns",
    "Notifier",
    "ProductForm",
    "Registry",
    "Segmenter",
    "SharedValue",
    "Similarity",
    "Source",
    "TakesViews",
    "UnitDiagonal",
    "UsesNetworkParts",
    "hookimpl",
    "load_plugins",
]

_HOME_OF = {
    "hookimpl": "segapsith.plugin.hookspecs",
    "Registry": "segapsith.plugin.registry",
    "load_plugins": "segapsith.plugin.registry",
}
"""Names that are imported only when they are used: they need pluggy."""


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'segapsith.plugin' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
