"""`plugins new` writes a project that keeps its contract, and overwrites nothing."""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from segapsith.cli.app import run
from segapsith.plugin.contracts import KINDS
from segapsith.plugin.registry import load_plugins
from segapsith.testing import CHECKS


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
