"""Targets that the threshold follows: stored once, ended, stored again."""

from __future__ import annotations

from pathlib import Path

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import UsageError


@pytest.fixture
def wire(tmp_path: Path) -> Wire:
    wire = Wire(tmp_path / "wire.db")
    wire.ingest(sample.lines("en")[:80])
    return wire


def test_keeping_the_same_target_again_changes_nothing(wire: Wire) -> None:
    first = wire.threshold.search(target_new_rate=0.3, keep=True)
    before = wire.verify().digest
    assert wire.threshold.search(target_new_rate=0.3, keep=True).run == first.run
    assert wire.verify().digest == before
    assert wire.runs()[0].id == first.run


def test_another_target_or_more_stories_are_a_new_run(wire: Wire) -> None:
    first = wire.threshold.search(target_new_rate=0.3, keep=True)
    second = wire.threshold.search(target_new_rate=0.2, keep=True)
    wire.ingest(sample.lines("en")[80:90])
    third = wire.threshold.search(target_new_rate=0.2, keep=True)
    assert first.run is not None and second.run is not None and third.run is not None
    assert first.run < second.run < third.run


def test_a_target_is_ended_once(wire: Wire) -> None:
    with pytest.raises(UsageError, match="no target is kept"):
        wire.threshold.unfollow()
    wire.threshold.search(target_singletons=0.5, keep=True)
    assert wire.threshold.unfollow().ended["aim"] == "singletons"
    with pytest.raises(UsageError, match="no target is kept"):
        wire.threshold.unfollow()
