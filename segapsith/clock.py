"""The learning clock: when what was learned from the stream becomes what reads it.

Document frequencies, terms, the network and word spaces all advance together, at fixed
ordinals of first-accepted documents. Between two ticks every document sees frozen values, so
cutting the same stream into other batches changes nothing.
"""

from __future__ import annotations

__all__ = ["EPOCH", "FIRST_TICK", "next_tick", "ticks"]

EPOCH = 512
"""Documents between two ticks, once the first epochs are over."""

FIRST_TICK = 8
"""Documents before the first tick; after it the epochs double until they last `EPOCH`."""


def next_tick(ordinal: int) -> int:
    """The smallest ordinal after `ordinal` at which the clock ticks.

    >>> [next_tick(n) for n in (0, 7, 8, 300, 511, 512, 1000)]
    [8, 8, 16, 512, 512, 1024, 1024]
    """
    if ordinal < FIRST_TICK:
        return FIRST_TICK
    if ordinal >= EPOCH:
        return (ordinal // EPOCH + 1) * EPOCH
    return int(1 << int(ordinal).bit_length())


def ticks(ordinal: int) -> bool:
    """Whether the clock ticks when the document with this ordinal has been accepted.

    >>> [n for n in range(40) if ticks(n)]
    [8, 16, 32]
    """
    return ordinal >= FIRST_TICK and next_tick(ordinal - 1) == ordinal
