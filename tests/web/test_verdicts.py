"""Verdicts in the language of the page."""

from __future__ import annotations

from typing import Any

import pytest

from segapsith.evaluation.verdicts import ClusterShare, Verdict, describe
from segapsith.web.texts import Texts
from segapsith.web.verdicts import verdict_sentence

ONE = (ClusterShare(4, 18, 0.9, 0.3),)
TWO = (*ONE, ClusterShare(5, 2, 0.1, 0.5))
THREE = (*TWO, ClusterShare(6, 1, 0.05, 0.5))


def stored(kind: str, clusters: tuple[ClusterShare, ...], **more: Any) -> dict[str, Any]:
    values = {"merged_with": [], "stability": None, "coherence": None, **more}
    verdict = Verdict(domain=3, verdict=kind, units=20, words=[], clusters=list(clusters),
                      example_units=[], **values)  # fmt: skip
    written: dict[str, Any] = verdict.as_json()
    return {**written, "told": describe(verdict)}


CASES = [
    stored("confirmed", ONE),
    stored("split", TWO),
    stored("split", THREE, stability=0.25),
    stored("merged", ONE, merged_with=[7]),
    stored("missing", ONE, coherence=0.05),
    stored("missing", ()),
]


@pytest.mark.parametrize("verdict", CASES)
def test_the_english_forms_are_those_of_the_stored_sentence(
    verdict: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segapsith.web.texts.catalogue", dict)
    assert verdict_sentence(verdict, Texts("en")) == verdict["told"]
    untranslated = verdict_sentence(verdict, Texts("fr")).replace("0,", "0.")
    assert untranslated == verdict["told"]


@pytest.mark.parametrize("verdict", CASES)
def test_a_french_page_has_a_french_sentence(verdict: dict[str, Any]) -> None:
    french = verdict_sentence(verdict, Texts("fr"))
    assert "unités" in french and "units" not in french
