"""`plugins check` gives verdicts, times and scores."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from segapsith import hookimpl
from segapsith.cli import plugins_check
from segapsith.cli.app import run
from segapsith.cli.context import Context
from segapsith.plugin import guards
from segapsith.plugin.registry import Registry, load_plugins
from segapsith.testing import similarity_checks


class Constant:
    """Sound, and of no use."""

    bounds = (0.0, 1.0)
    value = 0.5

    def learn(self, rows: Any) -> None:
        pass

    def compare(self, left: Any, right: Any) -> Any:
        return np.full((left.shape[0], right.shape[0]), self.value)

    def state(self) -> Any:
        return {}

    def restore(self, state: Any) -> None:
        pass


class Excessive(Constant):
    value = 7.0


class Sleepy(Constant):
    clock: Any

    def compare(self, left: Any, right: Any) -> Any:
        if left.shape[0] >= 500:
            self.clock.advance(60)
            self.clock.ring()
        return super().compare(left, right)


class Offering:
    @hookimpl
    def register_similarities(self) -> dict[str, type[Constant]]:
        return {"constant": Constant, "excessive": Excessive, "sleepy": Sleepy}

    @hookimpl
    def register_exporters(self) -> dict[str, type[Constant]]:
        return {"constant": Constant}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Registry:
    """Few built-ins and small sizes, so that a check takes little time."""
    registry = load_plugins(Offering())
    for kind, name in list(registry.offers):
        if kind == "similarity" and name not in ("constant", "cosine", "excessive", "sleepy"):
            del registry.offers[kind, name]
    monkeypatch.setattr(Context, "registry", lambda _: registry)
    monkeypatch.setattr(plugins_check, "SIZES", (20, 40))
    return registry


def test_check_gives_verdicts_times_and_scores(
    few: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plugins", "check", "constant", "--kind", "similarity", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"]
    (plugin,) = found["plugins"]
    assert plugin["package"] == "given"
    assert [c["check"] for c in plugin["checks"]] == [c.__name__ for c in similarity_checks]
    assert {c["result"] for c in plugin["checks"]} == {"ok"}
    assert [t["rows"] for t in plugin["timings"]] == [20, 40]
    assert all(t["learn"] >= 0 and t["compare"] >= 0 for t in plugin["timings"])
    first, last = plugin["leaderboard"]
    assert (first["name"], last["name"]) == ("cosine", "constant")
    assert first["f1"] > 0.6 > last["f1"] and 0 <= last["nmi_en"] <= 1


def test_check_prints_what_a_person_reads(
    few: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plugins", "check", "cosine"]) == 0
    said = capsys.readouterr().out
    assert "similarity 'cosine' of segapsith" in said
    assert "ok    check_new_rows" in said and "rows\tlearn\tcompare" in said
    assert "> cosine\t" in said and "constant" not in said
    assert f"{len(similarity_checks)} of {len(similarity_checks)} checks passed" in said


def test_a_failed_check_is_70_and_has_its_reason(
    few: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plugins", "check", "excessive"]) == 70
    said = capsys.readouterr()
    assert "FAIL  check_shape_bounds_and_symmetry" in said.out and "outside" not in said.out
    assert "compare returned 7…7; bounds = (0, 1) is declared" in said.err


def test_a_slow_plugin_is_said_to_be_slow(
    few: Registry,
    clock: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(guards, "charged_seconds", clock)
    monkeypatch.setattr(Sleepy, "clock", clock, raising=False)
    monkeypatch.setattr(plugins_check, "SIZES", (20, 500, 1_000))
    assert run(["plugins", "check", "sleepy", "--limit", "2", "--json"]) == 70
    (plugin,) = json.loads(capsys.readouterr().out)["plugins"]
    slow = [c for c in plugin["checks"] if c["result"] == "SLOW"]
    assert [c["check"] for c in slow] == ["compare of 500 rows"]
    assert [t["rows"] for t in plugin["timings"]] == [20, 500]


def test_a_name_is_looked_for_in_every_kind(
    few: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plugins", "check", "constant", "--json"]) == 70
    found = json.loads(capsys.readouterr().out)
    assert [p["kind"] for p in found["plugins"]] == ["similarity", "exporter"]
    (lacking,) = [
        c for c in found["plugins"][1]["checks"] if c["check"] == "check_it_is_an_exporter"
    ]
    assert "it lacks export" in lacking["reason"]


@pytest.mark.slow
def test_check_of_what_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plugins", "check", "cosin"]) == 78
    assert "did you mean 'cosine'?" in capsys.readouterr().err
    assert run(["plugins", "check", "cosine", "--kind", "clusterer"]) == 78
    assert run(["plugins", "check", "cosine", "--kind", "thing"]) == 2


def test_a_clusterer_is_scored_with_the_number_of_the_gold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    registry = load_plugins()
    for kind, name in list(registry.offers):
        if kind == "clusterer" and name not in ("ahc", "spherical-kmeans"):
            del registry.offers[kind, name]
    monkeypatch.setattr(Context, "registry", lambda _: registry)
    monkeypatch.setattr(plugins_check, "SIZES", (20,))
    assert run(["plugins", "check", "ahc", "--json"]) == 0
    (plugin,) = json.loads(capsys.readouterr().out)["plugins"]
    scores = {row["name"]: row["f1"] for row in plugin["leaderboard"]}
    assert scores.keys() == {"ahc", "spherical-kmeans"} and min(scores.values()) > 0.5
