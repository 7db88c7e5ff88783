"""The bill of materials: in step with the lock, with a licence for each, and sound by itself."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "scripts" / "sbom.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "requirements" / "sbom.cdx.json").read_text("utf-8"))
    return found


def test_the_bill_is_in_step_with_the_lock(sbom: ModuleType) -> None:
    assert sbom.faults() == [], "run scripts/sbom"
    assert len(sbom.locked()) > 40


def test_a_bill_that_is_not_in_step_is_noticed(
    sbom: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: dict[str, Any]
) -> None:
    first, *others = kept["components"]
    other = {**first, "version": "0"}
    (tmp_path / "sbom.json").write_text(json.dumps({"components": [other, *others]}))
    monkeypatch.setattr(sbom, "SBOM", tmp_path / "sbom.json")
    assert len(sbom.faults()) == 2


def test_every_component_has_a_compatible_licence(sbom: ModuleType, kept: dict[str, Any]) -> None:
    for component in kept["components"]:
        (entry,) = component["licenses"]
        said = entry.get("expression") or entry["license"].get("id")
        names = set(re.findall(r"[\w.-]+", said)) - {"AND", "OR", "WITH"} if said else set()
        assert names <= sbom.COMPATIBLE, component["name"]
        assert names or entry["license"]["name"] in ("BSD", "public-domain")


def test_the_bill_is_sound_cyclonedx(kept: dict[str, Any]) -> None:
    assert (kept["bomFormat"], kept["specVersion"]) == ("CycloneDX", "1.6")
    refs = [component["bom-ref"] for component in kept["components"]]
    assert len(refs) == len(set(refs))
    own = kept["metadata"]["component"]["bom-ref"]
    known = {*refs, own}
    assert {entry["ref"] for entry in kept["dependencies"]} == known
    assert all(set(entry["dependsOn"]) <= known for entry in kept["dependencies"])
    asked = next(e["dependsOn"] for e in kept["dependencies"] if e["ref"] == own)
    assert any(ref.startswith("pkg:pypi/numpy@") for ref in asked)


def test_the_same_lock_gives_the_same_bill(sbom: ModuleType) -> None:
    assert sbom.bill() == sbom.bill()
