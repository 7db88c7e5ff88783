"""Steps report the share that is done; parts are nested, and the shares only grow."""

from __future__ import annotations

import io
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from segapsith import progress
from segapsith.api.wire import Wire
from segapsith.cli.output import Progress
from segapsith.demo import sample


@given(st.lists(st.integers(0, 5), max_size=6))
@example([3, 0, 0, 0, 0])
def test_shares_grow_from_0_to_1_whatever_the_steps_report(sizes: list[int]) -> None:
    shares: list[float] = []
    with progress.listening(shares.append):
        for size in progress.steps(sizes):
            for _ in progress.steps(range(size)):
                progress.report(1, 2)
    assert shares == sorted(shares)
    assert shares[-1] == (1.0 if sizes else 0.0)


def test_nothing_happens_without_a_listener() -> None:
    progress.report(1, 2)
    with progress.part(0.0, 0.5):
        assert list(progress.steps([1, 2])) == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("work", ["topics", "sections", "report"])
def test_long_commands_report_the_share_that_is_done(work: str) -> None:
    shares: list[float] = []
    with Wire(":memory:") as wire:
        wire.ingest(sample.lines("en"))
        with progress.listening(shares.append):
            getattr(wire, work)()
    assert len(shares) >= 3
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] and shares[-1] <= 1.0


def test_a_terminal_shows_share_time_left_and_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setenv("COLUMNS", "80")
    with Progress(enabled=True) as line, line.following("chi-sim-2"):
        line._updated = 0.0
        progress.report(1, 4)
        line._updated = 0.0
        line.update("re0 cosine")
    assert "chi-sim-2: 25 %, about 0 s left; re0 cosine" in shown.getvalue()
