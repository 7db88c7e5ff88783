"""The figures of the store for Prometheus, under `/metrics`."""

from __future__ import annotations

from starlette.responses import Response

from segapsith.api.browsing.metrics import CONTENT_TYPE, metrics_text
from segapsith.web.ask import Ask

__all__ = ["metrics"]


def metrics(ask: Ask) -> Response:
    """Return the figures of the store and of its last night."""
    text = ask.wire.read(lambda store: metrics_text(store, stable=ask.desk.stable))
    return Response(text, headers={"content-type": CONTENT_TYPE})
