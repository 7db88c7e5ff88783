"""The stream of domains as a River clusterer; it needs the extra `river`."""

from __future__ import annotations

try:
    import river as _river
except ImportError as error:
    raise ImportError(
        "segapsith.river needs River, which is not installed; run: pip install segapsith[river]"
    ) from error

from segapsith.river.stream import DomainStream

del _river

__all__ = ["DomainStream"]
