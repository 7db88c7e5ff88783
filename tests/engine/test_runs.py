"""A run ends in one of few ways, whatever happens inside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.engine.runs import RunLog, RunPlan, RunSummary, Unfinished, collector_paused
from segapsith.errors import StorageError

COUNTS = {"read": 3}


class Log(RunLog):
    """A log of one run at most, in memory."""

    def __init__(self, unfinished: Unfinished | None = None, *, is_full: bool = False) -> None:
        self.unfinished, self.is_full = unfinished, is_full
        self.entries: list[tuple[Any, ...]] = []

    def _unfinished(self, command: str, input_key: str) -> Unfinished | None:
        return self.unfinished

    def _begin_run(self, plan: RunPlan) -> int:
        self.entries.append(("begin", plan.command))
        return 1

    def _resume_run(self, run: int) -> None:
        self.entries.append(("resume", run))

    def _finish_run(self, run: int, status: str, counts: Mapping[str, Any] | None) -> None:
        if self.is_full:
            raise StorageError("the disk is full")
        self.entries.append((status, run, counts))


def test_a_run_that_ends_is_done_with_its_counts() -> None:
    log = Log()
    with log.run(RunPlan("forget")) as run:
        run.counts = COUNTS
    assert log.entries == [("begin", "forget"), ("done", 1, COUNTS)]


@pytest.mark.parametrize(
    ("resume", "key", "status"),
    [(True, "k", "interrupted"), (True, "", "failed"), (False, "k", "failed")],
)
def test_a_run_that_raises_is_interrupted_only_if_it_can_be_resumed(
    resume: bool, key: str, status: str
) -> None:
    log = Log()
    with pytest.raises(KeyboardInterrupt), log.run(RunPlan(input_key=key), resume=resume):
        raise KeyboardInterrupt
    assert log.entries[1:] == [(status, 1, None)]


def test_the_first_error_is_reported_if_the_log_cannot_be_written_either() -> None:
    with pytest.raises(ZeroDivisionError), Log(is_full=True).run(RunPlan()):
        raise ZeroDivisionError


def test_a_resumed_run_knows_where_it_was() -> None:
    log = Log(Unfinished(5, 40, COUNTS))
    with log.run(RunPlan(input_key="k"), resume=True) as run:
        assert (run.number, run.position) == (5, 40)
        assert RunSummary.of(run) == RunSummary(run=5, read=3)
    assert log.entries[0] == ("resume", 5)


def test_a_finished_run_can_be_marked_as_failed() -> None:
    log = Log()
    log.mark_failed(4)
    assert log.entries == [("failed", 4, None)]


SUMMARIES = st.builds(
    RunSummary,
    read=st.integers(0, 9),
    new=st.integers(0, 9),
    units=st.integers(0, 9),
    languages=st.dictionaries(st.sampled_from(["de", "es"]), st.integers(1, 9)),
)


@given(SUMMARIES, SUMMARIES, SUMMARIES)
@settings(deadline=None)
def test_summaries_add_up_in_any_grouping(a: RunSummary, b: RunSummary, c: RunSummary) -> None:
    assert a.plus(b).plus(c) == a.plus(b.plus(c))
    assert a.plus(RunSummary()) == a


def test_counts_of_a_later_release_are_left_out() -> None:
    log = Log(Unfinished(5, 0, {"read": 2, "of_a_later_release": 1}))
    with log.run(RunPlan(input_key="k"), resume=True) as run:
        assert RunSummary.of(run).read == 2


def test_texts_in_other_languages_are_counted_and_announced() -> None:
    summary = RunSummary()
    assert summary.apart == ""
    for lang in ("de", "es", "de"):
        summary.count_language(lang)
    assert summary.apart.startswith("3 stories in languages without a dictionary (de 2, es 1)")


def test_a_program_that_pauses_the_collector_has_large_arrays_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Library:
        def __init__(self, _: None) -> None:
            self.mallopt = lambda option, value: asked.append((option, value))

    asked: list[tuple[int, int]] = []
    monkeypatch.setattr("ctypes.CDLL", Library)
    with collector_paused() as collect:
        collect()
    assert dict(asked).keys() == {-1, -3} and min(value for _, value in asked) >= 1 << 20
    monkeypatch.setattr("ctypes.CDLL", lambda _: object())  # another C library
    with collector_paused():
        pass
