"""People use the real commands in a terminal, and the pages show what they saw."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
OUTPUTS = ROOT / "scripts" / "outputs"

NOT_SHOWN = {
    *("segapsith", "feeds", "network", "notify", "schedule"),  # they only hold commands
}


def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


walkthrough = _script("walkthrough")


def test_the_page_on_commands_shows_an_output_of_each() -> None:
    names = {name.removeprefix("segapsith ") for name, _ in _script("docs")._helps()}
    files = {path.stem for path in OUTPUTS.glob("*.txt")}
    without = {name for name in names if name.replace(" ", "-") not in files}
    assert without == NOT_SHOWN, "add a step to scripts/walkthrough.py, then run it with --write"
    assert {name.replace(" ", "-") for name in names} >= files


LINES = [line for script in walkthrough.PEOPLE.values() for line in script.strip().splitlines()]


def test_people_use_every_command_that_is_shown() -> None:
    steps = [walkthrough.Step("", line, 0, "") for line in LINES]
    files = {path.stem for path in OUTPUTS.glob("*.txt")}
    assert {step.name.replace(" ", "-") for step in steps} == files


@pytest.mark.slow
@pytest.mark.parametrize("columns", walkthrough.WIDTHS)
def test_people_stumble_over_nothing_and_see_what_the_pages_show(columns: int) -> None:
    script = ROOT / "scripts" / "walkthrough.py"
    answer = subprocess.run(
        [sys.executable, script, "--columns", str(columns)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stdout[-5000:] + answer.stderr[-5000:]
    assert answer.stdout.count(": ok\n") == len(LINES)


def test_an_output_agrees_with_itself_at_another_time_on_another_machine() -> None:
    here = "run 3 of 2026-11-18 06:00: kappa 0.979, 0.5 s\nname  seconds\ncosine  0.031\n"
    there = "run 3 of 2031-12-01 23:59: kappa 0.978,\n    12.3 s\nname  seconds\ncosine  0.417\n"
    assert walkthrough.agree(walkthrough.settled(here), walkthrough.settled(there))
    other = here.replace("0.979", "0.879")
    assert not walkthrough.agree(walkthrough.settled(here), walkthrough.settled(other))
