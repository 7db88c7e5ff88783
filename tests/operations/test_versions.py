"""Versions of the program and of the packages that it needs."""

from __future__ import annotations

from segapsith.operations.versions import versions


def test_versions_name_what_is_needed_to_run() -> None:
    found = versions()
    assert {"python", "sqlite", "segapsith", "numpy", "spacy"} <= set(found)
    assert "missing" not in found.values()
