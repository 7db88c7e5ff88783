"""Feedback control of the placement threshold, so that the stream reaches a target.

News arrive in waves that cannot be predicted. Every 16 accepted stories the threshold is set again
from what was counted since the target was set. It rises if too few units started a domain and falls
if too many did, by as much as should correct the deficit within a horizon. The base, from which the
threshold departs, follows it slowly. All values are integers, so the same stream gives the same
thresholds. The formulas are in docs/concepts/formulas.md, "Threshold search and control".
"""

from __future__ import annotations

from dataclasses import dataclass

from segapsith.lexicon.vocabulary import SCALE

__all__ = ["AIMS", "MILLION", "STEP", "Target", "ThresholdController", "is_control_step"]

AIMS = ("new_rate", "singletons")
"""Kinds of targets: the share of units that start a domain, or of domains with a single unit."""

MILLION = 1_000_000
"""Shares and slopes are stored in millionths."""

STEP = 16
"""Number of accepted stories between two control steps."""

HORIZON_FRACTION = 16
"""Correct a deficit over 1/16 of the units that were placed since the target was set."""

MIN_HORIZON, MAX_HORIZON = 64, 512
"""Limits of the horizon, in units."""

MIN_HORIZON_STEPS = 2
"""Least length of the horizon, in control steps."""

BASE_HORIZONS = 4
"""Number of horizons in which the base approaches the threshold."""

SINGLETON_GAIN = 4
"""Factor on the deviation of the share of singletons.

It is the share among all domains and reacts slowly. For the same reason the base stays constant for
this aim; otherwise both would oscillate."""

MAX_DEPARTURE = round(0.1 * SCALE)
"""Largest distance of the threshold from its base.

A target that is reached later is better than domains of another kind."""

MIN_THRESHOLD, MAX_THRESHOLD = round(0.03 * SCALE), round(0.8 * SCALE)
"""Limits of the threshold."""


def is_control_step(ordinal: int) -> bool:
    """Return whether the threshold is set again after the story with this ordinal.

    >>> [n for n in range(50) if is_control_step(n)]
    [16, 32, 48]
    """
    return ordinal > 0 and ordinal % STEP == 0


@dataclass(frozen=True, slots=True)
class Target:
    """A target for the stream, with what the threshold search measured."""

    aim: str
    """One of `AIMS`; empty if a target was ended."""
    share: int
    """The share to reach, in millionths."""
    threshold: int
    """The first threshold; `SCALE` stands for 1."""
    slope: int
    """Relative growth of the share per unit of threshold, in millionths."""
    ordinal: int
    """Number of stories that were accepted when the target was set."""


@dataclass(slots=True)
class ThresholdController:
    """The state of the control loop of a target."""

    target: Target
    threshold: int
    """The present threshold; `SCALE` stands for 1."""
    base: int
    """The threshold that should give the target if there is no deficit to correct."""
    ordinal: int
    """Number of stories that were accepted when the threshold was set."""
    since: int = 0
    """Units placed with the present threshold."""
    placed: int = 0
    """Units placed since the target was set."""
    founded: int = 0
    """Units that started a domain since the target was set."""

    @classmethod
    def start(cls, target: Target) -> ThresholdController:
        """Return the state before the first unit is placed."""
        return cls(target, target.threshold, target.threshold, target.ordinal)

    def count(self, placed: int, founded: int) -> None:
        """Count `placed` more units, of which `founded` started a domain."""
        self.since += placed
        self.placed += placed
        self.founded += founded

    def step(self, ordinal: int, n_domains: int, n_singletons: int) -> None:
        """Set the threshold again, given the number of open domains and of single-unit ones."""
        share = self.target.share
        if self.target.aim == "singletons":
            deficit = SINGLETON_GAIN * (share * n_domains - MILLION * n_singletons)
            part = _rounded_quotient(deficit * MILLION, share * max(n_domains, 1))
        else:
            horizon = min(max(self.placed // HORIZON_FRACTION, MIN_HORIZON), MAX_HORIZON)
            horizon = max(horizon, MIN_HORIZON_STEPS * self.since)
            self.base += _rounded_quotient(
                (self.threshold - self.base) * self.since, BASE_HORIZONS * horizon
            )
            deficit = share * self.placed - MILLION * self.founded
            part = _rounded_quotient(deficit * MILLION, share * horizon)
        part = min(max(part, -MILLION // 2), MILLION)  # aim at half to twice the share
        departure = _rounded_quotient(part * SCALE, self.target.slope)
        departure = min(max(departure, -MAX_DEPARTURE), MAX_DEPARTURE)
        self.threshold = min(max(self.base + departure, MIN_THRESHOLD), MAX_THRESHOLD)
        self.ordinal, self.since = ordinal, 0


def _rounded_quotient(value: int, divisor: int) -> int:
    """Return the quotient, rounded: truncation would let the threshold drift."""
    return (2 * value + divisor) // (2 * divisor)
