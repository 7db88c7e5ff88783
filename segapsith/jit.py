"""Kernels: numeric functions that are compiled when they are first called.

The first call imports numba, so importing a plugin stays cheap. The decorator preserves types: a type
checker sees the plain function.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import time
import types
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

__all__ = ["Kernel", "announce", "compiling_seconds", "kernel", "parallel_lanes"]

P = ParamSpec("P")
R = TypeVar("R")


class Kernel(functools.partial[R], Generic[P, R]):
    """A function and its compiled form; `python` is the plain function.

    Calls go to the compiled form without a Python function in between, once there is one.
    """

    python: Callable[P, R]
    files: frozenset[str]
    """The files of this kernel and of the kernels that it calls; complete when it is compiled."""
    _compiled: Callable[P, R] | None

    def __new__(cls, function: Callable[P, R], lanes: bool = False) -> Kernel[P, R]:
        def first_call(*args: P.args, **kwargs: P.kwargs) -> R:
            compiled = made.compiled()
            with _parallel_lanes() if lanes else contextlib.nullcontext():
                return compiled(*args, **kwargs)

        made = super().__new__(cls, first_call)
        made.python, made._compiled = function, None
        made.files = frozenset([function.__code__.co_filename])
        functools.update_wrapper(made, function)
        return made

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

    def compiled(self) -> Callable[P, R]:
        """Return the compiled function; kernels that it calls are compiled with it."""
        if self._compiled is None:
            duplicate, self.files = _with_compiled_callees(self.python)
            self._compiled = _compile(duplicate)
            self.__setstate__((self._compiled, (), {}, vars(self)))  # type: ignore[attr-defined]  # typeshed lacks it
        return self._compiled


def kernel(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a function for compilation. It uses no Python objects and may call other kernels.

    >>> @kernel
    ... def double(x: float) -> float:
    ...     return 2 * x
    >>> double.python(4.0)
    8.0
    """
    return Kernel(function)


def parallel_lanes(function: Callable[P, R]) -> Kernel[P, R]:
    """Mark a kernel whose independent scalars are to be computed together in vector registers.

    Every number is what it is without that. numba does so for loops alone unless asked, because an
    earlier compiler made mistakes; so this is for a few kernels, with tests against plain Python.
    """
    return Kernel(function, lanes=True)


@contextlib.contextmanager
def _parallel_lanes() -> Iterator[None]:
    """Let numba combine independent operations while a kernel is compiled at its first call."""
    from numba.core import config

    settings: Any = config  # numba sets them from a list of names
    before = settings.SLP_VECTORIZE
    settings.SLP_VECTORIZE = 1
    try:
        yield
    finally:
        settings.SLP_VECTORIZE = before


def _with_compiled_callees(
    function: Callable[P, R],
) -> tuple[Callable[P, R], frozenset[str]]:
    """Return a copy of the function whose globals are the compiled forms of the kernels it names,
    and the files of all these kernels.

    numba compiles a cached kernel again when its own file has changed. It also looks at the values
    that a function encloses, so the dates of the other files are entered as such a value.
    """
    source: Any = function
    scope = dict(source.__globals__)
    code: types.CodeType = source.__code__
    files = {code.co_filename}
    for name in code.co_names:
        callee = scope.get(name)
        if isinstance(callee, Kernel):
            scope[name] = callee.compiled()
            files |= callee.files
    enclosed: tuple[types.CellType, ...] = ()
    if len(files) > 1:
        code = code.replace(co_freevars=("dates",))
        enclosed = (types.CellType(_dates(files)),)
    duplicate = types.FunctionType(code, scope, source.__name__, source.__defaults__, enclosed)
    functools.update_wrapper(duplicate, source)
    del duplicate.__wrapped__  # type: ignore[attr-defined]  # numba would unwrap it
    return duplicate, frozenset(files)


def _dates(files: Iterable[str]) -> str:
    """Return when some files were changed; a file in an archive has no date of its own."""
    dates = [(name, os.stat(name).st_mtime_ns) for name in sorted(files) if os.path.exists(name)]
    return repr(dates)


class _Stopwatch:
    """Measures how long this process has been compiling."""

    def __init__(self) -> None:
        self._spent = self._since = 0.0
        self._depth = 0
        self.is_listening = False
        self.listener: Callable[[], None] | None = None
        """Called when compiling begins."""

    def listen(self) -> None:
        """Register for numba's compile events; loading from the cache is not compiling."""
        from numba.core import event

        stopwatch = self

        class Listener(event.Listener):
            def on_start(self, _: object) -> None:
                if stopwatch._depth == 0:
                    stopwatch._since = time.monotonic()
                    if stopwatch.listener is not None:
                        stopwatch.listener()
                stopwatch._depth += 1

            def on_end(self, _: object) -> None:
                stopwatch._depth -= 1
                if stopwatch._depth == 0:
                    if not gc.isenabled():
                        gc.collect(0)  # what one kernel leaves, before the next is compiled
                    stopwatch._spent += time.monotonic() - stopwatch._since

        event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]
        self.is_listening = True

    def seconds(self) -> float:
        return self._spent + (time.monotonic() - self._since if self._depth else 0.0)


_stopwatch = _Stopwatch()


def announce(listener: Callable[[], None] | None) -> None:
    """Call a function whenever compiling begins; None ends that.

    Kernels are compiled once: later processes load them from the cache.
    """
    _stopwatch.listener = listener


def compiling_seconds() -> float:
    """Return the seconds that this process has spent compiling, which time limits exclude."""
    return _stopwatch.seconds()


_OPTIONS = {"nogil": True, "no_cfunc_wrapper": True}
"""No kernel is called from C: without an entry for that, compiling takes a twelfth less."""


def _load_arrays_of_numba() -> None:
    """Load what numba needs for arrays, without SciPy.

    numba imports `scipy.linalg` there, with seventy modules, only to see whether it is installed. It
    always is, and a kernel that needs linear algebra imports it when it is compiled.
    """
    from numba.np import linalg

    looks_for_scipy = linalg.ensure_blas
    linalg.ensure_blas = bool
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = looks_for_scipy


def _compile(function: Callable[P, R]) -> Callable[P, R]:
    import numba

    if not _stopwatch.is_listening:
        _load_arrays_of_numba()
        _stopwatch.listen()
    njit: Any = numba.njit  # its types do not have every option
    try:
        compiled: Callable[P, R] = njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no writable directory for the cache: compile in every process
        compiled = njit(**_OPTIONS)(function)
    return compiled
