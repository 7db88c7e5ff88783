"""What pages ask of a store: `wire.browse`."""

from segapsith.api.browsing.browse import Browsing

__all__ = ["Browsing"]
