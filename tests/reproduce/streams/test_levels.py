"""The levels of a store as partitions of its documents."""

from __future__ import annotations

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith_reproduce.streams.levels import LEVELS, level_groups


def test_every_level_has_a_group_for_every_learned_document() -> None:
    with Wire(":memory:") as wire:
        wire.ingest(sample.lines("en")[:40])
        levels = level_groups(wire)
        units = list(wire.writer.assigned_units())
    assert list(levels) == list(LEVELS)
    documents = {unit.document for unit in units}
    assert all(groups.keys() == documents for groups in levels.values())
    events = {u.document: u.assignment.event for u in units if u.assignment}
    assert levels["events"] == events
    sizes = [len(set(groups.values())) for groups in levels.values()]
    assert sizes == sorted(sizes, reverse=True), "each level is coarser than the one before"
