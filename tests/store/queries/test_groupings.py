"""Groupings: topics and sections as runs stored them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.domains.groups import DomainGroups
from segapsith.engine.runs import RunPlan
from segapsith.errors import MissingInputError
from segapsith_store.queries import groupings
from segapsith_store.queries.groupings import SECTIONS, TOPICS, Level, group_of_domain


def _save(wire: Wire, level: Level, labels: list[int]) -> tuple[int, dict[str, int]]:
    """Store groups of the first domains by hand; return the run and what it counted."""
    groups = DomainGroups(np.arange(1, len(labels) + 1), np.array(labels))
    with wire.writer.run(RunPlan(level.table, {}, {})) as run:
        run.counts = counts = groupings.save(
            wire.writer, level, run.number, {"en": groups}, basis=str(labels)
        )
    return run.number, counts


@pytest.mark.parametrize("level", [TOPICS, SECTIONS])
def test_the_last_grouping_is_valid_and_earlier_ones_can_be_read(
    level: Level, open_wire: Callable[..., Wire]
) -> None:
    wire = open_wire(threshold=0.9)
    wire.ingest(sample.lines("en")[:6])
    assert group_of_domain(wire.writer, level) == {}
    first, counts = _save(wire, level, [0, 0, 1])
    assert counts == {level.table: 2, "domains": 3}
    second, _ = _save(wire, level, [0, 0, 0])
    assert group_of_domain(wire.writer, level) == {1: 1, 2: 1, 3: 1}
    assert group_of_domain(wire.writer, level, first) == {1: 1, 2: 1, 3: 2}
    assert group_of_domain(wire.writer, level, first - 1) == {}
    assert groupings.last_grouping(wire.writer, level) == (second, "[0, 0, 0]")
    wire.runs.undo()
    assert group_of_domain(wire.writer, level) == {1: 1, 2: 1, 3: 2}
    wire.runs.undo()
    assert wire.writer.number(f"SELECT count(*) FROM {level.table}") == 0
    _save(wire, level, [0, 0, 1])
    assert group_of_domain(wire.writer, level) == {1: 3, 2: 3, 3: 4}  # numbers never go back
    assert wire.verify().sound


@pytest.mark.parametrize("level", [TOPICS, SECTIONS])
def test_only_the_last_groupings_are_stored(
    level: Level, open_wire: Callable[..., Wire], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groupings, "GROUPINGS", 2)
    wire = open_wire(threshold=0.9)
    wire.ingest(sample.lines("en")[:4])
    runs = [_save(wire, level, [0, i % 2])[0] for i in range(3)]
    rows = [run for (run,) in wire.writer.rows(f"SELECT run FROM {level.groupings} ORDER BY run")]
    assert rows == runs[1:]


@pytest.mark.parametrize("level", [TOPICS, SECTIONS])
def test_a_name_needs_a_group_that_exists(level: Level, open_wire: Callable[..., Wire]) -> None:
    wire = open_wire()
    wire.ingest(sample.lines("en")[:2])
    _save(wire, level, [0])
    groupings.rename(wire.writer, level, 1, "Weather")
    assert wire.writer.row(f"SELECT name FROM {level.table}") == ("Weather",)
    with pytest.raises(MissingInputError, match=f"no {level.what} 7"):
        groupings.rename(wire.writer, level, 7, "x")
