"""The threshold that follows a target: the news come in waves that nobody foresees, so it is steered.

Every few stories the threshold is set anew from what came since the target was kept: it rises if too
few units founded a domain and falls if too many did, by as much as should make up for it within a
horizon. The base, from which it departs, slowly follows it. All of this is integers, so that the
same stream gives the same thresholds.
"""

from __future__ import annotations

from dataclasses import dataclass

from segapsith.lexicon.weighting import SCALE

__all__ = ["AIMS", "MILLION", "STEP", "Target", "ThresholdController", "steps"]

AIMS = ("new_rate", "singletons")
"""What a target is of: the units that found a domain, or the domains that have one unit."""

MILLION = 1_000_000
"""Shares and slopes are kept in millionths."""

STEP = 16
"""Accepted stories between two steps of the threshold."""

HORIZON = 16
"""What is missing should be made up for within this part of the units since the target was kept,"""
SHORTEST, LONGEST = 64, 512
"""but within so many units at least and at most,"""
PATIENCE = 2
"""and not within less than so many steps."""

MEMORY = 4
"""Horizons in which the base comes to where the threshold is."""

GAIN = 4
"""How much stronger than itself a deviation of the singletons is answered: their share is that of
all domains, and turns slowly. For the same reason the base stays, or both would swing."""

REACH = round(0.1 * SCALE)
"""How far the threshold departs from its base: domains of another kind are worse than a target that
is reached later."""

LOWEST, HIGHEST = round(0.03 * SCALE), round(0.8 * SCALE)
"""Thresholds that are never passed."""


def steps(ordinal: int) -> bool:
    """Whether the threshold is set anew when the story with this ordinal has been accepted.

    >>> [n for n in range(50) if steps(n)]
    [16, 32, 48]
    """
    return ordinal > 0 and ordinal % STEP == 0


@dataclass(frozen=True, slots=True)
class Target:
    """What the stream should give, and what `tune` knew of it."""

    aim: str
    share: int
    """In millionths."""
    threshold: int
    """The first one; 1 is `SCALE`."""
    slope: int
    """By what part of itself the share grows with a threshold that is higher by 1, in millionths."""
    ordinal: int
    """Stories accepted when it was kept."""


@dataclass(slots=True)
class ThresholdController:
    """A target and where its threshold stands."""

    target: Target
    threshold: int
    base: int
    """The threshold that should give the target if nothing is to be made up for."""
    ordinal: int
    """Stories accepted when the threshold was set."""
    since: int = 0
    """Units placed with this threshold."""
    placed: int = 0
    """Units placed since the target was kept."""
    founded: int = 0
    """Those of them that founded a domain."""

    @classmethod
    def begun(cls, target: Target) -> ThresholdController:
        return cls(target, target.threshold, target.threshold, target.ordinal)

    def count(self, placed: int, founded: int) -> None:
        """Units were placed, and so many of them founded a domain."""
        self.since += placed
        self.placed += placed
        self.founded += founded

    def step(self, ordinal: int, n_domains: int, n_singletons: int) -> None:
        """Sets the threshold anew. There are so many open domains now, and so many of one unit."""
        share = self.target.share
        if self.target.aim == "singletons":
            missing = GAIN * (share * n_domains - MILLION * n_singletons)
            part = _over(missing * MILLION, share * max(n_domains, 1))
        else:
            horizon = min(max(self.placed // HORIZON, SHORTEST), LONGEST)
            horizon = max(horizon, PATIENCE * self.since)
            self.base += _over((self.threshold - self.base) * self.since, MEMORY * horizon)
            missing = share * self.placed - MILLION * self.founded
            part = _over(missing * MILLION, share * horizon)
        part = min(max(part, -MILLION // 2), MILLION)  # from half the share to twice as much
        departs = min(max(_over(part * SCALE, self.target.slope), -REACH), REACH)
        self.threshold = min(max(self.base + departs, LOWEST), HIGHEST)
        self.ordinal, self.since = ordinal, 0


def _over(value: int, by: int) -> int:
    """A quotient, rounded: cut off, it would drift."""
    return (2 * value + by) // (2 * by)
