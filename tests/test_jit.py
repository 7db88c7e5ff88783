"""Kernels: what compiling takes is known, and nobody's time limit; nor is a busy machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from segapsith.errors import PluginTimeoutError
from segapsith.jit import announce, compiling_seconds, kernel, parallel_lanes
from segapsith.plugin import guards


@kernel
def halved(x: float) -> float:
    return x / 2


def test_compiling_is_timed_once_for_each_kind_of_argument() -> None:
    before = compiling_seconds()
    twin = halved.compiled()
    assert compiling_seconds() == before  # nothing has been called yet
    twin.py_func  # type: ignore[attr-defined]  # noqa: B018  (it is numba's)
    assert halved(4.0) == 2.0
    first = compiling_seconds()
    assert first >= before  # equal where the cache of an earlier process has it
    halved(5.0)
    assert compiling_seconds() == first


@parallel_lanes
def scaled(x: float, y: float) -> tuple[float, float]:
    return x / 3, y / 3


def test_lanes_change_no_number_and_no_other_kernel() -> None:
    from numba.core import config

    before = vars(config)["SLP_VECTORIZE"]
    assert scaled(1.0, 2.0) == scaled.python(1.0, 2.0)
    assert before == vars(config)["SLP_VECTORIZE"]


CALLER = """
from segapsith.jit import kernel
from callee import part

@kernel
def whole(x: int) -> int:
    return 10 * part(x)

print(whole(1), sum(whole.compiled().stats.cache_hits.values()))
"""

CALLEE = """
from segapsith.jit import kernel

@kernel
def part(x: int) -> int:
    return {factor} * x
"""


def test_a_changed_kernel_is_noticed_by_those_that_call_it_from_other_files(tmp_path: Path) -> None:
    Path(tmp_path, "caller.py").write_text(CALLER)
    answers = []
    for factor in (2, 2, 3):
        Path(tmp_path, "callee.py").write_text(CALLEE.format(factor=factor))
        os.utime(Path(tmp_path, "callee.py"), (factor, factor))
        ran = subprocess.run(
            [sys.executable, "-B", "caller.py"], cwd=tmp_path, check=True, capture_output=True
        )
        answers.append(ran.stdout.split())
    assert answers == [[b"20", b"0"], [b"20", b"1"], [b"30", b"0"]]


def test_a_plugin_is_stopped_when_its_time_is_over_and_not_before(clock: Any) -> None:
    who = guards.PluginName("segmenter", "busy")
    with (
        pytest.raises(PluginTimeoutError, match=r"segment took more than 600 seconds"),
        guards.time_limit(who, "segment", 600, clock=clock),
    ):
        clock.advance(599)
        clock.ring()  # too early: nothing happens
        clock.advance(1)
        clock.ring()
        raise AssertionError("not stopped")


@pytest.mark.parametrize("excuse", ["compiling_seconds", "_queued_seconds"])
def test_compiling_and_waiting_for_a_processor_do_not_count_against_a_plugin(
    excuse: str, monkeypatch: pytest.MonkeyPatch, clock: Any
) -> None:
    excused = 0.0
    monkeypatch.setattr(guards, "compiling_seconds", lambda: 0.0)
    monkeypatch.setattr(guards, "_queued_seconds", lambda: 0.0)
    monkeypatch.setattr(guards, excuse, lambda: excused)
    monkeypatch.setattr(guards, "time", SimpleNamespace(monotonic=clock))
    with (
        pytest.raises(PluginTimeoutError, match=r"took more than 600 seconds"),
        guards.time_limit(guards.PluginName("segmenter", "busy"), "segment", 600),
    ):
        excused = 300.0
        clock.advance(899)
        clock.ring()  # of which 300 are excused
        clock.advance(1)
        clock.ring()
        raise AssertionError("not stopped")


def test_the_alarm_of_the_system_stops_what_never_ends() -> None:
    with (
        pytest.raises(PluginTimeoutError, match=r"took more than 0\.01 seconds"),
        guards.time_limit(guards.PluginName("segmenter", "endless"), "segment", 0.01),
    ):
        while True:
            pass


def test_the_time_that_a_thread_was_kept_waiting_is_told_where_the_system_tells_it() -> None:
    before = guards._queued_seconds()
    assert 0 <= before <= guards._queued_seconds()


def test_the_begin_of_compiling_is_announced() -> None:
    from numba.core import event

    kernel(abs_of).compiled()  # registers for the events
    told: list[str] = []
    announce(lambda: told.append("compiling"))
    try:
        with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
            assert told == ["compiling"]
    finally:
        announce(None)
    with event.trigger_event("numba:compile"):
        assert told == ["compiling"]


def abs_of(x: float) -> float:
    return x if x > 0 else -x
