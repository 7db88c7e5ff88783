"""The learning clock: when what was learned from the stream becomes what reads it.

Document frequencies, terms, the network and word spaces all advance together, at fixed
ordinals of first-accepted documents. Between two ticks every document sees frozen values, so
cutting the same stream into other batches changes nothing.
"""

from __future__ import annotations

__all__ = [
    "EPOCH",
    "FIRST_TICK",
    "LONGEST",
    "LONGEST_SPACE",
    "last_renewal",
    "last_space_renewal",
    "next_tick",
    "ticks",
]

EPOCH = 512
"""Documents between two ticks, once the first epochs are over."""

FIRST_TICK = 8
"""Documents before the first tick, and the shortest epoch."""

_YOUNG = 4
"""Ticks per doubling of a stream of up to `EPOCH` documents, where each story changes much."""

LONGEST = 16_384
"""Documents after which the network is renewed at the latest."""

LONGEST_SPACE = 65_536
"""Documents after which the word space is renewed at the latest, and that it is learned from."""


def next_tick(ordinal: int) -> int:
    """The smallest ordinal after `ordinal` at which the clock ticks.

    >>> [next_tick(n) for n in (0, 7, 8, 64, 300, 511, 512, 1000)]
    [8, 8, 16, 80, 320, 512, 1024, 1024]
    """
    if ordinal < FIRST_TICK:
        return FIRST_TICK
    doubled = 1 << int(ordinal).bit_length()
    epoch = min(max(FIRST_TICK, doubled // (2 * _YOUNG)), EPOCH) if ordinal < EPOCH else EPOCH
    return (ordinal // epoch + 1) * epoch


def ticks(ordinal: int) -> bool:
    """Whether the clock ticks when the document with this ordinal has been accepted.

    >>> [n for n in range(40) if ticks(n)]
    [8, 16, 24, 32]
    """
    return ordinal >= FIRST_TICK and next_tick(ordinal - 1) == ordinal


def last_renewal(ordinal: int) -> int:
    """The last tick, up to `ordinal`, at which the network is renewed; 0 before the first.

    Taking it anew costs time in proportion to its size, so it is not done at every tick: the
    stream has to grow by an eighth, or by `LONGEST` documents. All renewals together then cost
    no more than nine times the last one while the stream is young, and later a fixed share.

    >>> [n for n in range(6000) if n and last_renewal(n) == n][-6:]
    [2560, 3072, 3584, 4096, 4608, 5632]
    """
    last, coming = 0, FIRST_TICK
    while coming <= ordinal:
        last = coming
        coming = next_tick(min(-(-last * 9 // 8), last + LONGEST) - 1)
    return last


def last_space_renewal(ordinal: int) -> int:
    """The last tick at which the word space is renewed: every one up to `EPOCH`, then every
    doubling, then every `LONGEST_SPACE`.

    >>> [last_space_renewal(n) for n in (7, 8, 100, 16_383, 16_384, 150_000)]
    [0, 8, 96, 8192, 16384, 131072]
    """
    if ordinal >= LONGEST_SPACE:
        return ordinal // LONGEST_SPACE * LONGEST_SPACE
    if ordinal >= EPOCH:
        return int(1 << int(ordinal).bit_length() - 1)
    last, coming = 0, FIRST_TICK
    while coming <= ordinal:
        last, coming = coming, next_tick(coming)
    return last
