"""SEGAPSITH groups newswire stories by subject as they arrive.

Every name is loaded when it is first used, so that importing the package is quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from segapsith import compare, metrics
    from segapsith.api.federation import federate
    from segapsith.api.preparation import prepare
    from segapsith.api.segmentation import segment
    from segapsith.api.wire import Wire, clusterer, open, similarity
    from segapsith.arrays import Compare, Labels, Matrix, Rows, State, Views
    from segapsith.errors import SegapsithError
    from segapsith.model import (
        Agreement,
        Annotation,
        Document,
        Lexicon,
        Network,
        Notice,
        Reject,
        Result,
        Snapshot,
        Subject,
        Unit,
    )
    from segapsith.plugin.contracts import (
        Annotator,
        Clusterer,
        Comparison,
        Executor,
        Exporter,
        Labeller,
        Notifier,
        Segmenter,
        Similarity,
        Source,
    )
    from segapsith.plugin.hookspecs import hookimpl
    from segapsith.plugin.registry import load_plugins

__version__ = "0.1.0"

__all__ = [
    "Agreement",
    "Annotation",
    "Annotator",
    "Clusterer",
    "Compare",
    "Comparison",
    "Document",
    "Executor",
    "Exporter",
    "Labeller",
    "Labels",
    "Lexicon",
    "Matrix",
    "Network",
    "Notice",
    "Notifier",
    "Reject",
    "Result",
    "Rows",
    "SegapsithError",
    "Segmenter",
    "Similarity",
    "Snapshot",
    "Source",
    "State",
    "Subject",
    "Unit",
    "Views",
    "Wire",
    "__version__",
    "clusterer",
    "compare",
    "federate",
    "hookimpl",
    "load_plugins",
    "metrics",
    "open",
    "prepare",
    "segment",
    "similarity",
]

_HOMES = {
    "segapsith.api.wire": ("Wire", "clusterer", "open", "similarity"),
    "segapsith.arrays": ("Compare", "Labels", "Matrix", "Rows", "State", "Views"),
    "segapsith.plugin.contracts": (
        "Annotator",
        "Clusterer",
        "Comparison",
        "Executor",
        "Exporter",
        "Labeller",
        "Notifier",
        "Segmenter",
        "Similarity",
        "Source",
    ),
    "segapsith.errors": ("SegapsithError",),
    "segapsith.api.federation": ("federate",),
    "segapsith.api.preparation": ("prepare",),
    "segapsith.api.segmentation": ("segment",),
    "segapsith.plugin.hookspecs": ("hookimpl",),
    "segapsith.plugin.registry": ("load_plugins",),
    "segapsith.model": (
        "Agreement",
        "Annotation",
        "Document",
        "Lexicon",
        "Network",
        "Notice",
        "Reject",
        "Result",
        "Snapshot",
        "Subject",
        "Unit",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in ("compare", "metrics"):
        return importlib.import_module(f"segapsith.{name}")
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'segapsith' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
