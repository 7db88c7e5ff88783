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
