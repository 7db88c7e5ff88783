"""SEGAPSITH: semantic domains learned from newswire, night after night, and proved.

Names are reached lazily, so that importing the package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from segapsith import compare, metrics
    from segapsith.api.segmentation import segment
    from segapsith.api.wire import clusterer, open, similarity
    from segapsith.arrays import Compare, Labels, Matrix, Rows, State
    from segapsith.errors import SegapsithError
    from segapsith.model import (
        Agreement,
        Annotation,
        Document,
        Lexicon,
        Network,
        Reject,
        Snapshot,
        Unit,
    )
    from segapsith.plugin.contracts import (
        Annotator,
        Clusterer,
        Comparison,
        Exporter,
        Segmenter,
        Similarity,
        Source,
    )
    from segapsith.plugin.hookspecs import hookimpl

__version__ = "0.1.0"

__all__ = [
    "Agreement",
    "Annotation",
    "Annotator",
    "Clusterer",
    "Compare",
    "Comparison",
    "Document",
    "Exporter",
    "Labels",
    "Lexicon",
    "Matrix",
    "Network",
    "Reject",
    "Rows",
    "SegapsithError",
    "Segmenter",
    "Similarity",
    "Snapshot",
    "Source",
    "State",
    "Unit",
    "__version__",
    "clusterer",
    "compare",
    "hookimpl",
    "metrics",
    "open",
    "segment",
    "similarity",
]

_HOMES = {
    "segapsith.api.wire": ("clusterer", "open", "similarity"),
    "segapsith.arrays": ("Compare", "Labels", "Matrix", "Rows", "State"),
    "segapsith.plugin.contracts": (
        "Annotator",
        "Clusterer",
        "Comparison",
        "Exporter",
        "Segmenter",
        "Similarity",
        "Source",
    ),
    "segapsith.errors": ("SegapsithError",),
    "segapsith.api.segmentation": ("segment",),
    "segapsith.plugin.hookspecs": ("hookimpl",),
    "segapsith.model": (
        "Agreement",
        "Annotation",
        "Document",
        "Lexicon",
        "Network",
        "Reject",
        "Snapshot",
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
