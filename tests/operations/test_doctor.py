"""Doctor: a healthy installation has no trouble, and each problem is named with advice."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.demo import sample
from segapsith.engine.runs import RunPlan
from segapsith.errors import StorageError
from segapsith.operations.doctor import examine
from segapsith.operations.nightly import STEPS, NightlyRun, Outcome, Step
from segapsith_store import Store
from segapsith_store.feed_states import later
from segapsith_store.queries import subscriptions

pytestmark = pytest.mark.slow

Command = Callable[..., tuple[int, str, str]]
ITEMS = sample.lines("en")


def lines(n_items: int) -> str:
    return "".join(json.dumps(item) + "\n" for item in ITEMS[:n_items])


def states(house: Any, **more: Any) -> dict[str, str]:
    """Return the worst state of each thing that was checked."""
    worst: dict[str, str] = {}
    with house.open(**more) as wire:
        for finding in examine(wire, now=lambda: house.date):
            if worst.get(finding.what) != "trouble":
                worst[finding.what] = (
                    finding.state if finding.state != "ok" else worst.get(finding.what, "ok")
                )
            assert finding.text
            assert finding.advice or finding.state == "ok"
    return worst


def test_a_healthy_installation_has_no_trouble(house: Any) -> None:
    house.drop("a.jsonl", ITEMS[:10])
    assert house.night().code == 0
    house.date = later(house.date, -3600 * 20)
    found = states(house)
    assert {name for name, state in found.items() if state != "ok"} <= {"sqlite"}
    assert {
        "packages",
        "python",
        "plugins",
        "store",
        "lock",
        "runs",
        "disk",
        "feeds",
        "nights",
        "backup",
    } <= (set(found))


def test_each_problem_is_named_with_advice(house: Any) -> None:
    assert states(house)["store"] == "trouble"  # there is none
    house.drop("a.jsonl", ITEMS[:10])
    with house.open() as wire:
        wire.ingest(ITEMS[:5])
        url = "https://example.org/a"
        subscriptions.add(wire.writer, url)
        wire.writer.change(
            lambda c: c.execute("UPDATE feeds SET failures = 4, error = 'gone'").rowcount
        )
    found = states(house)
    assert (found["nights"], found["feeds"]) == ("note", "note")
    house.night()
    house.pass_day(5)
    found = states(house)
    assert (found["nights"], found["backup"]) == ("note", "note")
    with Store.writing(house.path):
        assert states(house)["lock"] == "note"
    house.path.chmod(0o666)
    assert states(house)["permissions"] == "trouble"
    house.path.chmod(0o644)
    assert states(house, segmenter="nosuch")["plugins"] == "trouble"


def test_a_night_that_failed_is_trouble_until_one_succeeds(house: Any) -> None:
    house.drop("a.jsonl", ITEMS[:10])

    def broken(_: NightlyRun) -> Outcome:
        raise StorageError("no room")

    assert house.night((*STEPS[:3], Step("broken", broken), *STEPS[3:])).code == 74
    house.date = later(house.date, 3600)
    assert states(house)["nights"] == "trouble"
    assert house.night().code == 0
    house.date = later(house.date, 3600)
    assert states(house)["nights"] == "ok"


def test_a_full_disk_and_a_damaged_store_are_trouble(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.drop("a.jsonl", ITEMS[:10])
    house.night()
    with monkeypatch.context() as patch:
        usage = type("Usage", (), {"free": 1000})()
        patch.setattr("segapsith.operations.doctor.shutil.disk_usage", lambda _: usage)
        assert states(house)["disk"] == "trouble"
    data = bytearray(house.path.read_bytes())
    page = int.from_bytes(data[16:18], "big")
    data[2 * page : 3 * page] = b"\xff" * page
    house.path.write_bytes(data)
    assert states(house)["store"] == "trouble"


def test_a_store_that_is_gone_is_restored_from_the_newest_copy(house: Any) -> None:
    def advice() -> str:
        with house.open() as wire:
            (finding,) = [f for f in examine(wire, now=lambda: house.date) if f.what == "store"]
        return f"{finding.text}: {finding.advice}"

    assert "copy" not in advice()
    house.drop("a.jsonl", ITEMS[:10])
    assert house.night().code == 0
    (copy,) = house.path.with_suffix(".backups").iterdir()
    for path in house.path.parent.glob(f"{house.path.name}*"):
        path.unlink()
    assert f"{copy} is a copy of it: put the last backup" in advice()


def test_doctor_ends_with_1_if_there_is_trouble(command: Command, tmp_path: Path) -> None:
    code, out, _ = command("doctor", "--json")
    assert code == 1
    assert json.loads(out)["well"] is False
    (tmp_path / "a.jsonl").write_text(lines(5))
    command("ingest", "a.jsonl", "--lang", "en")
    code, out, _ = command("doctor", "--json")
    assert (code, json.loads(out)["well"]) == (0, True)
    code, out, _ = command("doctor")
    assert code == 0
    assert "segapsith schedule show --store segapsith.db" in out
    assert command("doctor", "--quiet") == (0, "", "")


def test_a_run_that_a_kill_left_behind_is_explained(house: Any) -> None:
    house.drop("a.jsonl", ITEMS[:10])
    assert house.night().code == 0
    plan = RunPlan("ingest", {}, {})
    child = os.fork()
    if child == 0:
        with Store.writing(house.path) as store, store.run(plan):
            os._exit(0)  # nobody is left to finish the run
    os.waitpid(child, 0)
    assert states(house)["runs"] == "note"
    with house.open() as wire:
        (finding,) = [one for one in examine(wire, now=lambda: house.date) if one.what == "runs"]
    assert "killed" in finding.text and "same command again" in finding.advice
    with pytest.raises(ValueError), Store.writing(house.path) as store, store.run(plan):
        raise ValueError
    with house.open() as wire:
        (finding,) = [one for one in examine(wire, now=lambda: house.date) if one.what == "runs"]
    assert "failed" in finding.text
