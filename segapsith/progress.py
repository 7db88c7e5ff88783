"""Progress of long work: the code that works reports its share, whoever shows it listens.

A reporter knows only its own steps. `part` says which part of the whole they are, so that steps can
be nested. Without a listener a report costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeVar

__all__ = ["listening", "part", "report", "steps"]

T = TypeVar("T")


class _Span(NamedTuple):
    """Who listens, and which part of the whole is being done."""

    listener: Callable[[float], None]
    first: float = 0.0
    last: float = 1.0


_span: ContextVar[_Span | None] = ContextVar("progress", default=None)


@contextmanager
def listening(listener: Callable[[float], None]) -> Iterator[None]:
    """Call `listener` with the share that is done, between 0 and 1, whenever it is reported."""
    reached = 0.0

    def forward(share: float) -> None:
        # Sums of shares are rounded, so the same place may come out a little lower than before.
        nonlocal reached
        reached = max(reached, share)
        listener(reached)

    token = _span.set(_Span(forward))
    try:
        yield
    finally:
        _span.reset(token)


@contextmanager
def part(first: float, last: float) -> Iterator[None]:
    """Let the reports of a block fill the part from `first` to `last`.

    >>> shares = []
    >>> with listening(shares.append), part(0.5, 1.0):
    ...     report(1, 2)
    >>> shares
    [0.75]
    """
    whole = _span.get()
    if whole is None:
        yield
        return
    width = whole.last - whole.first
    inner = _Span(whole.listener, whole.first + first * width, whole.first + last * width)
    token = _span.set(inner)
    try:
        yield
    finally:
        _span.reset(token)


def report(done: int, total: int) -> None:
    """Report that `done` of `total` steps of about the same length are done."""
    span = _span.get()
    if span is not None:
        span.listener(span.first + (span.last - span.first) * done / max(1, total))


def steps(items: Sequence[T]) -> Iterator[T]:
    """Yield the items; each is a step, and what is reported meanwhile is a part of it.

    >>> shares = []
    >>> with listening(shares.append):
    ...     for _ in steps("ab"):
    ...         report(1, 2)
    >>> shares
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    for number, item in enumerate(items):
        report(number, len(items))
        with part(number / len(items), (number + 1) / len(items)):
            yield item
    report(len(items), len(items))
