"""What every worker of a cluster needs: importing this module imports it and loads a kernel.

Only the fork server imports it. What fails here is met again by a worker, which reports it.
"""

from __future__ import annotations

import contextlib
from importlib import import_module

from segapsith.jit import kernel

__all__ = ["nothing"]


@kernel
def nothing() -> None:
    """Do nothing: loading any kernel loads what all of them need."""


with contextlib.suppress(Exception):
    for name in ("distributed.nanny", "scipy.sparse"):
        import_module(name)
    nothing()
