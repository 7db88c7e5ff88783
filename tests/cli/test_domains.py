"""Domains are merged, split and reassigned, by hand and automatically."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]


@pytest.fixture
def digest(answer: Answer, wire_file: Path) -> str:
    """The digest of a store with the sample wire."""
    answer("ingest", str(wire_file))
    return str(answer("status")["digest"])


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (("merge", "--auto", "--similarity", "0.1", "--after", "0"), "merged"),
        (("split", "--auto", "--threshold", "0.9"), "split"),
        (("reassign", "--similarity", "0.01"), "moved"),
    ],
)
def test_the_nightly_steps_by_hand_can_be_undone(
    answer: Answer, digest: str, arguments: tuple[str, ...], key: str
) -> None:
    if "--auto" in arguments:
        planned = answer("domains", *arguments, "--dry-run")
        assert planned["run"] is None
        assert answer("status")["digest"] == digest
    done = answer("domains", *arguments)
    if done["run"] is None:
        assert done[key] == 0
        return
    assert done[key] > 0
    assert answer("status")["digest"] != digest
    answer("runs", "undo")
    assert answer("status")["digest"] == digest


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("merge",), "name the domains to merge, or give --auto"),
        (("merge", "1", "2", "--auto"), "leave out ids"),
        (("merge", "--auto", "--into", "1"), "leave out ids"),
        (("merge", "1", "2", "--dry-run"), "need --auto"),
        (("split",), "name the domain to split, or give --auto"),
        (("split", "1", "--auto"), "leave out ID"),
        (("split", "1", "--threshold", "0.2"), "need --auto"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_store_is_opened(
    command: Command, arguments: tuple[str, ...], advice: str
) -> None:
    code, _, err = command("domains", *arguments)
    assert (code, advice in err) == (2, True), err
