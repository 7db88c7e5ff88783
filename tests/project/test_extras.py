"""Each extra is in the lock, and where it is missing a message names it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

NOT_LOCKED = {"dev", "testing", "rivals"}
"""Extras without a lock of their own: `rivals` brings PyTorch, and is only compared with."""


def _optional() -> dict[str, list[str]]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras: dict[str, list[str]] = tomllib.load(file)["project"]["optional-dependencies"]
    return extras


def test_the_lock_for_development_has_every_extra() -> None:
    extras = _optional()
    own = next(line for line in extras["dev"] if line.startswith("segapsith["))
    locked = set(own.removeprefix("segapsith[").removesuffix("]").split(","))
    assert locked == set(extras) - NOT_LOCKED


@pytest.mark.parametrize(
    ("package", "module", "extra"),
    [("sklearn", "segapsith.sklearn", "sklearn"), ("river", "segapsith.river", "river")],
)
def test_a_missing_package_is_named_with_its_extra(package: str, module: str, extra: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; import {module}"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 1
    assert f"pip install segapsith[{extra}]" in answer.stderr.splitlines()[-1]
