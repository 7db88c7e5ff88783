"""Kernels: what compiling takes is known, and nobody's time limit; nor is a busy machine."""

from __future__ import annotations

import time

import pytest

from segapsith import seam
from segapsith.errors import PluginError
from segapsith.jit import compiling_seconds, kernel


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


@pytest.mark.parametrize("excuse", ["compiling_seconds", "_queued_seconds"])
def test_compiling_and_waiting_for_a_processor_do_not_count_against_a_plugin(
    excuse: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = time.monotonic()
    who = seam.Who("segmenter", "busy")
    # A process that does nothing else for the first 0.3 seconds.
    monkeypatch.setattr(seam, excuse, lambda: min(time.monotonic() - begin, 0.3))
    with seam.time_limit(who, "segment", 0.2):
        time.sleep(0.3)
    with (
        pytest.raises(PluginError, match=r"took more than 0.2 seconds"),
        seam.time_limit(who, "segment", 0.2),
    ):
        time.sleep(5)


def test_the_time_that_a_thread_was_kept_waiting_is_told_where_the_system_tells_it() -> None:
    before = seam._queued_seconds()
    assert 0 <= before <= seam._queued_seconds()
