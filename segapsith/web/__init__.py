"""The web application: look, search, steer and undo in a browser.

`app(path)` is an ASGI application; `segapsith serve` runs it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from segapsith.settings import Settings

__all__ = ["app"]


def app(
    store: str | os.PathLike[str], *, settings: Settings | None = None, **options: Any
) -> Starlette:
    """Return the web application on a store.

    `options` are fields of `segapsith.web.security.WebOptions`, such as `token`, `allow_changes`,
    `hosts` and `base_path`. Without a token one is made; it is `app(…).state.token`.
    """
    from segapsith.web.application import make_app
    from segapsith.web.security import WebOptions

    return make_app(store, WebOptions(**options), settings)
