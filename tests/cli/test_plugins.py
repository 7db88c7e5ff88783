"""`plugins check` and `plugins new`, and the page that leads there."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import segapsith
from segapsith import hookimpl
from segapsith.cli import context, plugins
from segapsith.cli.app import run
from segapsith.plugin import contracts, guards
from segapsith.plugin.contracts import KINDS
from segapsith.plugin.hookspecs import HOOKS, CommandHooks, PluginHooks
from segapsith.plugin.registry import Registry, load_plugins
from segapsith.testing import CHECKS, similarity_checks

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text("utf-8")


# -- new -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_project_is_sound_and_keeps_its_contract(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"my-{kind}-2"
    assert run(["plugins", "new", name, "--kind", kind, "--into", str(tmp_path), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    folder, module = tmp_path / f"segapsith-{name}", f"segapsith_my_{kind}_2"
    assert written["path"] == str(folder)
    assert set(written["files"]) == {
        ".github/workflows/ci.yml",
        ".gitignore",
        "README.md",
        "pyproject.toml",
        f"src/{module}/__init__.py",
        f"src/{module}/py.typed",
        f"tests/test_my_{kind}_2.py",
    }
    texts = {file: (folder / file).read_text("utf-8") for file in written["files"]}
    assert not any(re.search(r"\$[a-z]", text) for text in texts.values())
    project = tomllib.loads(texts["pyproject.toml"])
    assert project["project"]["name"] == f"segapsith-{name}"
    assert project["project"]["entry-points"]["segapsith"] == {name: module}
    assert "${{ matrix.python }}" in texts[".github/workflows/ci.yml"]
    assert f"segapsith plugins check {name} --kind {kind}" in texts[".github/workflows/ci.yml"]
    test = ast.parse(texts[f"tests/test_my_{kind}_2.py"])
    imported = {
        n.name for node in test.body if isinstance(node, ast.ImportFrom) for n in node.names
    }
    assert imported == {f"{kind}_checks", f"My{kind.title()}2"}

    monkeypatch.syspath_prepend(folder / "src")
    made = importlib.import_module(module)
    monkeypatch.delitem(sys.modules, module)
    registry = load_plugins(made, installed=False)
    assert list(registry.offers) == [(kind, name)] and not registry.problems
    for check in CHECKS[kind]:
        check(registry.offers[kind, name].factory)


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    theirs = tmp_path / "segapsith-mine" / "README.md"
    theirs.parent.mkdir()
    theirs.write_text("mine")
    assert run(["plugins", "new", "mine", "--kind", "source", "--into", str(tmp_path)]) == 2
    assert "is there already; nothing was written" in capsys.readouterr().err
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [theirs]
    assert theirs.read_text() == "mine"


@pytest.mark.parametrize(
    "name",
    ["Upper", "under_score", "-a", "a-", "a--b", "1a", "a b", "../a", "a/b", "é", "", "x" * 41],
)
def test_a_name_that_is_none_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plugins", "new", "--kind", "source", "--into", str(tmp_path), "--", name]) == 2
    assert f"the name {name!r} should be lower case" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_names_that_are_taken_or_ours_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into = ["--into", str(tmp_path)]
    assert run(["plugins", "new", "cosine", "--kind", "similarity", *into]) == 2
    assert "from package segapsith" in capsys.readouterr().err
    assert run(["plugins", "new", "segapsith-x", "--kind", "similarity", *into]) == 2
    assert run(["plugins", "new", "x", "--kind", "similarty", *into]) == 2
    assert "did you mean 'similarity'?" in capsys.readouterr().err
    assert run(["plugins", "new", "x", *into]) == 2
    assert not list(tmp_path.iterdir())


# -- check ---------------------------------------------------------------------------------


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
    monkeypatch.setattr(context, "plugins", lambda **_: registry)
    monkeypatch.setattr(plugins, "SIZES", (20, 40))
    return registry


@pytest.mark.slow
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


@pytest.mark.slow
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
    monkeypatch.setattr(plugins, "SIZES", (20, 500, 1_000))
    assert run(["plugins", "check", "sleepy", "--limit", "2", "--json"]) == 70
    (plugin,) = json.loads(capsys.readouterr().out)["plugins"]
    slow = [c for c in plugin["checks"] if c["result"] == "SLOW"]
    assert [c["check"] for c in slow] == ["compare of 500 rows"]
    assert [t["rows"] for t in plugin["timings"]] == [20, 500]


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_clusterer_is_scored_with_the_number_of_the_gold(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    registry = load_plugins()
    for kind, name in list(registry.offers):
        if kind == "clusterer" and name not in ("ahc", "spherical-kmeans"):
            del registry.offers[kind, name]
    monkeypatch.setattr(context, "plugins", lambda **_: registry)
    monkeypatch.setattr(plugins, "SIZES", (20,))
    assert run(["plugins", "check", "ahc", "--json"]) == 0
    (plugin,) = json.loads(capsys.readouterr().out)["plugins"]
    scores = {row["name"]: row["f1"] for row in plugin["leaderboard"]}
    assert scores.keys() == {"ahc", "spherical-kmeans"} and min(scores.values()) > 0.5


def test_the_list_is_still_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plugins", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {"name", "kind", "package", "version", "licence", "error"} == rows[0].keys()
    assert run(["--json", "plugins", "--no-plugins"]) == 0


def test_every_contract_can_be_imported_from_the_package() -> None:
    for protocol in KINDS.values():
        assert getattr(segapsith, protocol.__name__) is protocol
        assert protocol.__name__ in segapsith.__all__


# -- the page ------------------------------------------------------------------------------


def signature(function: Any) -> str:
    """A signature as the page writes it: without self, annotations as they stand."""
    found = inspect.signature(function)
    parameters = [p for p in found.parameters.values() if p.name != "self"]
    return f"{function.__name__}{found.replace(parameters=parameters)}".replace("'", "")


METHODS = [
    method
    for protocol in KINDS.values()
    for name, method in vars(protocol).items()
    if inspect.isfunction(method) and not name.startswith("_")
]
HOOK_METHODS = [
    hook
    for hooks in (PluginHooks, CommandHooks)
    for name, hook in vars(hooks).items()
    if name.startswith("register_")
]


def test_the_page_has_every_hook_and_method_with_its_exact_signature() -> None:
    documented = {line for block in blocks("python") for line in block.splitlines()}
    assert len(HOOK_METHODS) == len(HOOKS) + 1 and len(METHODS) == 11
    missing = [s for s in map(signature, HOOK_METHODS + METHODS) if s not in documented]
    assert not missing
    assert "bounds: tuple[float, float]" in documented
    assert "bounds" in vars(contracts.Similarity)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_measure_on_the_page_is_short_and_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = blocks("python")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 20
    (tmp_path / "measure_of_the_page.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    page = importlib.import_module("measure_of_the_page")
    monkeypatch.delitem(sys.modules, "measure_of_the_page")
    (offer,) = load_plugins(page, installed=False).offers.values()
    assert (offer.kind, offer.name) == ("similarity", "overlap-share")
    for check in similarity_checks:
        check(offer.factory)


def test_the_page_names_every_tuple_of_checks_and_stays_short() -> None:
    for kind in KINDS:
        assert f"`{kind}_checks`" in PAGE
    assert len(PAGE.splitlines()) < 220
