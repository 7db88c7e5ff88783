"""A validation has the figures that were promised, and fails below a limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]


@pytest.mark.slow
def test_validation_keeps_the_contract(command: Command, answer: Answer, wire_file: Path) -> None:
    answer("ingest", str(wire_file))
    found = answer("validate", "--min-units", "5")
    assert set(found) >= {
        "run", "units", "share", "domains", "clusters", "links", "coverage", "kappa", "mantel",
        "ari", "nmi",
    }  # fmt: skip
    assert set(found["kappa"]) == {"greedy", "hungarian", "optimal", "random"}
    assert set(found["mantel"]) >= {"z", "expected", "sd", "z_max", "p", "permutations"}
    assert found["kappa"]["optimal"] >= found["kappa"]["greedy"]
    assert command("validate", "--min-units", "5", "--fail-under", "kappa=1.01")[0] == 76
    assert command("validate", "--min-units", "5", "--fail-under", "kappa=0.1")[0] == 0
    assert command("validate", "--min-units", "5", "--clusterer", "nobody")[0] == 78
    empty = answer("validate", "--min-units", "100000")
    assert empty["kappa"]["greedy"] is None
    assert command("validate", "--fail-under", "beauty=1")[0] == 2


@pytest.mark.slow
def test_validation_prints_five_lines_and_more_with_full(command: Command, wire_file: Path) -> None:
    command("ingest", str(wire_file))
    _, text, _ = command("validate", "--min-units", "5")
    lines = text.splitlines()
    assert len(lines) == 5
    assert lines[-1].startswith("independent: entropy-kmeans")
    _, full, _ = command("validate", "--min-units", "5", "--full")
    assert len(full.splitlines()) > 8
    assert "coverage of domains" in full


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "evidence"),
    [
        (("--clusterer", "ahc", "--similarity", "eq7"), False),
        (("--clusterer", "ahc", "--similarity", "cosine"), False),
        (("--clusterer", "spherical-kmeans"), False),
        (("--clusterer", "entropy-kmeans"), True),
    ],
)
def test_a_measure_like_that_of_the_placement_is_no_evidence(
    command: Command, wire_file: Path, arguments: tuple[str, ...], evidence: bool
) -> None:
    command("ingest", str(wire_file))
    _, text, _ = command("validate", "--min-units", "5", *arguments)
    assert ("NO EVIDENCE" not in text.splitlines()[-1]) is evidence
