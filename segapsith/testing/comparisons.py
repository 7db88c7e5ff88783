"""What every comparison promises."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from segapsith.model import Agreement, Snapshot
from segapsith.plugin.guards import TOLERANCE
from segapsith.testing.examples import chosen_units, example_snapshot, relabelled
from segapsith.testing.kit import Check, Factory, Frozen, bounded, check_settings, of_kind

__all__ = ["comparison_checks"]


def _measured(comparison: Any, left: Snapshot, right: Snapshot) -> float:
    """The value, if the agreement is as promised."""
    agreement = comparison.measure(left, right)
    assert isinstance(agreement, Agreement), (
        f"measure returned {type(agreement).__name__}; an Agreement is wanted"
    )
    value = float(agreement.value)
    assert math.isfinite(value), f"measure gave the value {agreement.value}; a finite one is wanted"
    try:
        json.dumps(agreement.details, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"details are not JSON: {error}") from error
    return value


@bounded
def check_it_is_a_comparison(factory: Factory) -> None:
    """It has the method."""
    of_kind("comparison", factory)


@bounded
def check_a_snapshot_agrees_with_itself(factory: Factory) -> None:
    """Nothing agrees better with a snapshot than the snapshot."""
    snapshot = example_snapshot()
    itself = _measured(factory(), snapshot, snapshot)
    rng = np.random.default_rng(0)
    for _ in range(3):
        other = relabelled(snapshot, rng.permutation(snapshot.labels), "shuffled")
        value = _measured(factory(), snapshot, other)
        assert value <= itself + TOLERANCE, (
            f"a shuffled partition agrees {value:g}, the snapshot itself {itself:g}"
        )


@bounded
def check_units_are_matched_by_id(factory: Factory) -> None:
    """The order of the units does not matter."""
    snapshot = example_snapshot()
    order = np.random.default_rng(1).permutation(len(snapshot.units))
    itself = _measured(factory(), snapshot, snapshot)
    value = _measured(factory(), snapshot, chosen_units(snapshot, order))
    assert abs(value - itself) <= TOLERANCE, (
        f"the same units in another order agree {value:g}; {itself:g} is wanted"
    )


@bounded
def check_small_and_strange_snapshots(factory: Factory) -> None:
    """No units, one unit, one group, no group, nothing in common: still a finite number."""
    snapshot = example_snapshot()
    none, one = (chosen_units(snapshot, slice(0, n)) for n in (0, 1))
    together = relabelled(snapshot, [0] * 40, "one group")
    alone = relabelled(snapshot, np.arange(40), "a group each")
    nowhere = relabelled(snapshot, np.full(40, -1), "no group")
    first, last = (chosen_units(snapshot, part) for part in (slice(0, 20), slice(20, 40)))
    for left, right in (
        (none, none), (one, one), (none, snapshot), (together, snapshot), (alone, snapshot),
        (together, alone), (nowhere, snapshot), (nowhere, nowhere), (first, last),
    ):  # fmt: skip
        _measured(factory(), left, right)
        _measured(factory(), right, left)


@bounded
def check_measure_changes_nothing(factory: Factory) -> None:
    """Neither the snapshots nor the next answer."""
    left = example_snapshot()
    right = relabelled(left, np.arange(40) % 3, "other")
    frozen, labels = Frozen(left.rows), left.labels.copy()
    comparison = factory()
    first = _measured(comparison, left, right)
    assert _measured(comparison, left, right) == first, "measure gave another answer"
    assert _measured(factory(), left, right) == first, "a fresh comparison gave another answer"
    frozen.assert_same("measure")
    assert np.array_equal(left.labels, labels), "measure changed the labels of its input"


comparison_checks: tuple[Check, ...] = (
    check_it_is_a_comparison,
    check_settings,
    check_a_snapshot_agrees_with_itself,
    check_units_are_matched_by_id,
    check_small_and_strange_snapshots,
    check_measure_changes_nothing,
)
