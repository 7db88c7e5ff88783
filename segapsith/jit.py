"""Kernels: small numeric functions that are compiled when they are first called.

Numba is imported by that first call and not before, so that importing a plugin stays
cheap; the decorator keeps the types, so that the type checker sees the plain function.
"""

from __future__ import annotations

import functools
import time
import types
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

__all__ = ["Kernel", "compiling_seconds", "kernel"]

P = ParamSpec("P")
R = TypeVar("R")


class Kernel(Generic[P, R]):
    """A function with its compiled twin; `python` is the plain one."""

    def __init__(self, function: Callable[P, R]) -> None:
        self.python = function
        self._twin: Callable[P, R] | None = None
        functools.update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        twin = self._twin or self.compiled()
        return twin(*args, **kwargs)

    def compiled(self) -> Callable[P, R]:
        """The compiled twin, made once; kernels that it calls are compiled with it."""
        if self._twin is None:
            self._twin = _compile(_with_compiled_callees(self.python))
        return self._twin


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Marks a function for compilation: no Python objects inside, other kernels allowed.

    >>> @kernel
    ... def double(x: float) -> float:
    ...     return 2 * x
    >>> double.python(4.0)
    8.0
    """
    return Kernel(function)


def _with_compiled_callees(function: Callable[P, R]) -> Callable[P, R]:
    """The function again, seeing the compiled twins of the kernels that it names."""
    source: Any = function
    scope = dict(source.__globals__)
    for name in source.__code__.co_names:
        if isinstance(scope.get(name), Kernel):
            scope[name] = scope[name].compiled()
    twin = types.FunctionType(source.__code__, scope, source.__name__, source.__defaults__)
    functools.update_wrapper(twin, source)
    del twin.__wrapped__  # type: ignore[attr-defined]  # numba would follow it back
    return twin


class _Watch:
    """How long this process has been compiling."""

    def __init__(self) -> None:
        self._spent = self._since = 0.0
        self._depth = 0
        self.listens = False

    def listen(self) -> None:
        """Hears from numba when it compiles; what it takes from its cache is no compiling."""
        from numba.core import event

        watch = self

        class Listener(event.Listener):
            def on_start(self, _: object) -> None:
                if watch._depth == 0:
                    watch._since = time.monotonic()
                watch._depth += 1

            def on_end(self, _: object) -> None:
                watch._depth -= 1
                if watch._depth == 0:
                    watch._spent += time.monotonic() - watch._since

        event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
        self.listens = True

    def seconds(self) -> float:
        return self._spent + (time.monotonic() - self._since if self._depth else 0.0)


_watch = _Watch()


def compiling_seconds() -> float:
    """Seconds that this process has spent on compiling kernels: no fault of who calls them."""
    return _watch.seconds()


def _compile(function: Callable[P, R]) -> Callable[P, R]:
    import numba

    if not _watch.listens:
        _watch.listen()
    try:
        compiled: Callable[P, R] = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no directory that could hold the cache: compile in every process
        compiled = numba.njit(nogil=True)(function)
    return compiled
