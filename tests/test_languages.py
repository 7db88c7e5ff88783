"""Language packs: every one is valid, and a wrong one is named."""

from __future__ import annotations

import pytest

from segapsith.errors import ConfigurationError
from segapsith.languages import ALIASES, BUILT_IN, LanguagePack, has_pack, pack_of, parse_pack
from segapsith_plugins.annotators._words import normaliser


@pytest.mark.parametrize("code", BUILT_IN)
def test_every_pack_is_valid_and_has_words(code: str) -> None:
    pack = pack_of(code)
    assert pack.code == code and pack.name and pack.lemmatiser != "none"
    assert len(pack.stop_words) > 150
    normal = normaliser(pack)
    assert [word for word in pack.stop_words if normal(word) != word] == []


def test_other_codes_lead_to_packs() -> None:
    assert set(ALIASES.values()) <= set(BUILT_IN) and not set(ALIASES) & set(BUILT_IN)


def test_a_language_without_a_pack_is_not_english() -> None:
    assert not has_pack("xx")
    assert pack_of("xx") == LanguagePack("xx")
    assert pack_of("th").lemmatiser == "icu"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "not valid TOML"),
        ("stop_word = 'a'", "no field 'stop_word'; did you mean 'stop_words'"),
        ("case = 'upper'", "case='upper' should be one of plain, turkic, none"),
        ("joiners = 'yes'", "joiners should be true or false"),
        ("stop_words = 3", "stop_words should be a text"),
        ("spelling = true", "spelling should be a table"),
        ("lemmas = 'taxes tax'", "without a tab"),
        ("stop_words = 'a b'\ncontent_forms = 'b'", "'b' is a stop word and a content form"),
    ],
)
def test_a_wrong_pack_is_refused_with_its_field(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match="language pack 'xx'") as raised:
        parse_pack("xx", text)
    assert message in str(raised.value)
