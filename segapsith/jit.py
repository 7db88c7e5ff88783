"""Compiled loops, typed: numba's decorator seen as a function that changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

__all__ = ["compiled"]

F = TypeVar("F", bound=Callable[..., object])


def compiled(function: F) -> F:
    """The same function, compiled on first use and kept beside its source."""
    return cast(F, numba.njit(cache=True)(function))
