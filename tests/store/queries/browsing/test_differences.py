"""What differs between two moments follows from where the units are."""

from __future__ import annotations

from collections.abc import Callable

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith_store.queries.browsing.activity import read_activity
from segapsith_store.queries.browsing.differences import Differences, differences


def between(wire: Wire, left: int, right: int | None = None) -> Differences:
    with wire.reading() as store:
        return differences(read_activity(store, None, left), read_activity(store, None, right))


def test_merging_splitting_moving_and_renaming_are_told_apart(
    open_wire: Callable[..., Wire],
) -> None:
    wire = open_wire(lang="en")
    wire.ingest(sample.lines("en")[:80])
    largest = wire.domains()
    whole, first, second, named = (largest[i].id for i in (0, 1, 2, 3))
    assert between(wire, 1).moved == 0
    start = wire.runs(1)[0].id
    wire.domains.merge([first, second])
    merged = between(wire, start)
    assert (merged.n_merged, merged.n_split) == (1, 0)
    assert merged.merged[0].into[0].id == min(first, second)
    assert merged.moved == merged.merged[0].units
    wire.domains.split(whole, parts=2)
    both = between(wire, start)
    assert both.n_split == 1 and both.split[0].id == whole and both.n_appeared == 2
    wire.domains.rename(named, "Mine")
    assert between(wire, start).renamed[0][::2] == (named, "Mine")
    assert between(wire, start).arrived == between(wire, start).left == 0


def test_new_stories_arrive_and_domains_grow(open_wire: Callable[..., Wire]) -> None:
    wire = open_wire(lang="en")
    wire.ingest(sample.lines("en")[:40])
    wire.ingest(sample.lines("en")[40:80])
    found = between(wire, 1)
    assert found.arrived == found.units_after - found.units_before > 0
    assert found.n_gone == found.n_merged == 0
    grown = sum(one.after - one.before for one in found.grown)
    assert grown + sum(one.after for one in found.appeared) == found.arrived
