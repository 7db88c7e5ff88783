"""What a plugin promises, and how it is found, made and guarded.

A plugin implements hooks with `hookimpl`; each hook returns a mapping of name to factory. What a
factory makes has the methods of its contract: `Source`, `Annotator`, `Segmenter`, `Similarity`,
`Clusterer`, `Comparison` or `Exporter`. `load_plugins` finds what is installed and returns a
`Registry`. Every name is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from segapsith.plugin.contracts import (
        KINDS,
        NETWORK_PARTS,
        Annotator,
        Clusterer,
        Comparison,
        Exporter,
        Segmenter,
        Similarity,
        Source,
    )
    from segapsith.plugin.hookspecs import hookimpl
    from segapsith.plugin.registry import Registry, load_plugins

__all__ = [
    "KINDS",
    "NETWORK_PARTS",
    "Annotator",
    "Clusterer",
    "Comparison",
    "Exporter",
    "Registry",
    "Segmenter",
    "Similarity",
    "Source",
    "hookimpl",
    "load_plugins",
]

_HOME_OF = {
    "Registry": "segapsith.plugin.registry",
    "hookimpl": "segapsith.plugin.hookspecs",
    "load_plugins": "segapsith.plugin.registry",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'segapsith.plugin' has no attribute {name!r}")
    home = _HOME_OF.get(name, "segapsith.plugin.contracts")
    return getattr(importlib.import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
