"""How close `tune` comes to its target: with one threshold, and with one that follows the target.

    python scripts/bench_tuning.py STORE… [--targets R,R] [--cuts C,C] [--aim new_rate|singletons]

Each stored stream is cut at several places. The units before a cut are learned in memory, with their
stored weights, and `tune` searches a threshold there. Then the next part, a third as long, and all
the rest are placed, once with that threshold and once with the one that follows the target. `chance`
is the standard error of a share in the next part, relative to the target. Targets of `singletons` are
added to the share at the cut.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segapsith.domains.index import DomainIndex
from segapsith.domains.replay import place_units
from segapsith.domains.threshold_control import MILLION, STEP, Target, ThresholdController
from segapsith.domains.threshold_search import Continuation, search, slope
from segapsith.domains.values import Bag, PlacementSettings
from segapsith.errors import UsageError
from segapsith.lexicon.vocabulary import SCALE
from segapsith_store import Store, codecs

SAMPLE = 10_000
CLOSE = 0.1
"""How near a share should come to its target, in parts of it."""


def stream(path: Path) -> tuple[list[Bag], NDArray[np.int64]]:
    """Return the units of a store in their order, and the ordinals of their stories."""
    with Store.reading(path) as store:
        rows = list(
            store.rows(
                "SELECT u.words, d.ordinal FROM assignments a JOIN units u ON u.id = a.unit"
                " JOIN documents d ON d.id = u.document ORDER BY u.id"
            )
        )
    return [codecs.bag_from(blob) for blob, _ in rows], np.array([n for _, n in rows])


def placed(
    before: DomainIndex,
    bags: Sequence[Bag],
    ordinals: NDArray[np.int64],
    state: ThresholdController,
    follows: bool,
    aim: str,
    stops: Sequence[int],
) -> tuple[list[float], NDArray[np.float64]]:
    """Return the share after each number of units in `stops`, and the thresholds of the steps."""
    index, first, found, thresholds = deepcopy(before), 0, dict[int, float](), []
    founded = 0
    while first < len(bags):
        step = -(-int(ordinals[first]) // STEP) * STEP
        last = int(np.searchsorted(ordinals, step, side="right"))
        last = min([last, *(stop for stop in stops if stop > first)])
        index.settings = replace(index.settings, threshold=state.threshold / SCALE)
        thresholds.append(index.settings.threshold)
        new = sum(place.domain is None for _, place in index.place_all(bags[first:last]))
        founded += new
        state.count(last - first, new)
        n_domains, n_single = index.count_open()
        if last in stops:
            found[last] = founded / last if aim == "new_rate" else n_single / n_domains
        if follows and (last == len(bags) or ordinals[last] > step):
            state.step(step, n_domains, n_single)
        first = last
    return [found[stop] for stop in stops], np.array(thresholds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stores", nargs="+", type=Path)
    parser.add_argument("--aim", choices=("new_rate", "singletons"), default="new_rate")
    parser.add_argument("--targets", default="")
    parser.add_argument("--cuts", default=".25,.375,.5,.625,.75")
    args = parser.parse_args()
    targets = args.targets or (".15,.30" if args.aim == "new_rate" else "-.08,.08")
    hits, number = np.zeros((2, 2), dtype=int), 0
    for path in args.stores:
        bags, ordinals = stream(path)
        index, places = DomainIndex(PlacementSettings()), list[int]()
        for cut in map(float, args.cuts.split(",")):
            at = int(np.searchsorted(ordinals, int(cut * ordinals[-1]), side="right"))
            places += place_units(index, bags[len(places) : at]).domains.tolist()
            world = Continuation(
                deepcopy(index), bags[max(0, at - SAMPLE) : at], places[-SAMPLE:], at
            )
            n_domains, n_single = index.count_open()
            for value in map(float, targets.split(",")):
                wanted = value if args.aim == "new_rate" else n_single / n_domains + value
                aim = f"next_{args.aim}"
                told = f"{path.stem:12} {cut:5} wanted {wanted:.3f}"
                try:
                    best, trials = search(world, wanted, aim)
                except UsageError as error:
                    print(f"{told} {error}", flush=True)
                    continue
                target = Target(
                    args.aim,
                    round(wanted * MILLION),
                    round(best.threshold * SCALE),
                    round(slope(trials, best.threshold, aim) * MILLION),
                    int(ordinals[at - 1]),
                )
                rest = len(bags) - at
                stops = [min(at // 3, rest), rest]
                line = told
                for row, follows in enumerate((False, True)):
                    shares, steps = placed(
                        index, bags[at:], ordinals[at:], ThresholdController.start(target), follows,
                        args.aim, stops,
                    )  # fmt: skip
                    near = [abs(share / wanted - 1) <= CLOSE for share in shares]
                    hits[row] += near
                    marks = " ".join(
                        f"{share:.3f}{' ' if close else '*'}"
                        for share, close in zip(shares, near, strict=True)
                    )
                    line += f"  {'follows' if follows else 'one'} {marks}"
                number += 1
                chance = np.sqrt((1 - wanted) / (wanted * stops[0]))
                print(
                    f"{line}  threshold {best.threshold:.3f}, {steps.min():.3f} to"
                    f" {steps.max():.3f}; units {stops[0]}, {stops[1]}; chance {chance:.3f}",
                    flush=True,
                )
    print(f"within {CLOSE:.0%} of {number}, next stretch and rest: one threshold {hits[0]},"
          f" following {hits[1]}")  # fmt: skip


if __name__ == "__main__":
    main()
