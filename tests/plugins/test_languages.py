"""Packs come through the hook, built-in ones and those of others."""

from __future__ import annotations

import types

import pytest

from segapsith import languages
from segapsith.languages import BUILT_IN, LanguagePack, pack_of
from segapsith.plugin.hookspecs import hookimpl
from segapsith.plugin.registry import load_plugins


def plugin(**factories: object) -> types.SimpleNamespace:
    @hookimpl
    def register_languages() -> dict[str, object]:
        return factories

    return types.SimpleNamespace(register_languages=register_languages, __name__="mine")


@pytest.fixture(autouse=True)
def no_added_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(languages, "_added", {})
    pack_of.cache_clear()


def test_the_built_in_packs_are_offered() -> None:
    assert sorted(load_plugins(only_own=True).languages) == sorted(BUILT_IN)


def test_a_plugin_adds_a_pack() -> None:
    registry = load_plugins(plugin(xx=lambda: LanguagePack("xx", "Example")), installed=False)
    assert registry.problems == [] and registry.languages == {"xx": "given"}
    assert pack_of("xx").name == "Example"


def test_a_built_in_pack_is_not_replaced() -> None:
    registry = load_plugins(plugin(de=lambda: LanguagePack("de", "Mine")), installed=False)
    assert "already" in registry.problems[0].reason
    assert pack_of("de").name == "German"


def test_what_is_no_factory_is_a_problem() -> None:
    registry = load_plugins(plugin(xx=3), installed=False)
    assert "no mapping of code to factory" in registry.problems[0].reason


@pytest.mark.parametrize(
    ("lang", "words"),
    [
        ("cs", "zatím zároveň především nyní"),
        ("hu", "jelenleg tavaly mintegy gyakran"),
        ("pl", "obecnie ponadto wciąż zwłaszcza"),
        ("sv", "nästan dessutom samtidigt"),
        ("da", "især desuden samtidig"),
        ("nb", "dessuten imidlertid fortsatt"),
    ],
)
def test_common_adverbs_are_no_content(lang: str, words: str) -> None:
    assert set(words.split()) <= pack_of(lang).stop_words
