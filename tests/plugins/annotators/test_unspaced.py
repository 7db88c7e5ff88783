"""Words of every script: positions, lost letters, and what the packs know."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segapsith.languages import pack_of
from segapsith.model import Annotation, Document, Lexicon
from segapsith_plugins.annotators._unspaced import is_installed, word_finder
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords

READER = SimplemmaWords()

SCRIPTS = {
    "de": "aäßẞSstTéI.'’-–\u00ad 3",
    "tr": "İIıişŞ'ğ .", "el": "ΣσςάΑαϊ;. ", "ru": "жЖёЁй-.№ ", "uk": "їґ'’ьЄ. ",
    "ar": "وبالكتأإى\u0651ـ؟، ", "he": "צהלארב\"״׳'\u05b0־ ", "fa": "میكيک\u200cه؟ ",
    "hi": "किड़्षा\u200d।॥ ", "zh": "中国政府的𠀋。！，a1 ", "ja": "政府𠀋はアー。ガ\u3099ｶﾞ ",
    "ko": "정부𠀋는했다. ᄀ", "th": "รัฐ𠀋บาลไทย่ ", "xx": "aé中ק\ud800😀\u0301_-'. ",
}  # fmt: skip


def read(text: str, lang: str) -> Annotation:
    return next(READER.annotate([Document(body=text, lang=lang)], Lexicon()))


def content(text: str, lang: str) -> list[str]:
    annotation = read(text, lang)
    return [w for w, is_in in zip(annotation.lemmas, annotation.content, strict=True) if is_in]


@pytest.mark.slow
@pytest.mark.parametrize("lang", SCRIPTS)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_text_is_read_with_exact_positions(lang: str, data: st.DataObject) -> None:
    text = data.draw(st.text(SCRIPTS[lang], max_size=60) | st.text(max_size=30))
    annotation = read(text, lang)
    end = 0
    for (start, stop), lemma in zip(annotation.spans.tolist(), annotation.lemmas, strict=True):
        assert end <= start < stop <= len(text) and lemma
        end = stop
    assert "".join(text[a:b] for a, b in annotation.sentences.tolist()) == text


@pytest.mark.parametrize(
    ("lang", "text", "words"),
    [
        ("de", "Die Häuser der Stadt, sagte Trump's Sprecher.", ["haus", "stadt", "trump"]),
        ("it", "L'economia dell'Italia", ["economia", "italia"]),
        ("tr", "IŞIKLAR İSTANBUL'da", ["ışık", "istanbul"]),
        ("fi", "show'n päätös", ["show", "päätös"]),
        ("ar", "والوزراء والحكومة", ["وزير", "حكومة"]),
        ("he", 'צה"ל והממשלה', ['צה"ל', "ממשלה"]),
        ("fa", "كتاب‌ها", ["کتاب"]),
        ("hi", "लड़कों की शिक्षा", ["लड़का", "शिक्षा"]),
        ("zh", "股市上涨了", ["股市", "上涨"]),
        ("ja", "株価が上昇した", ["株価", "上昇"]),
        ("ko", "주가가 상승했다", ["주가", "상승"]),
        ("ro", "guvernul si ţara", ["guvern", "țară"]),
        ("xx", "Vlada je", ["vlada", "je"]),
    ],
)
def test_content_words_of_a_language(lang: str, text: str, words: list[str]) -> None:
    assert content(text, lang) == words


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("de", "Am 3. Oktober kam er. Dann ging er."),
        ("el", "Ήρθε ο υπουργός; Ναι, ήρθε."),
        ("hi", "मंत्री आए। सरकार गई।"),
        ("zh", "股市上涨了。政府宣布政策！"),
        ("ar", "هل جاء الوزير؟ نعم جاء"),
    ],
)
def test_sentences_end_by_the_marks_of_the_script(lang: str, text: str) -> None:
    assert len(read(text, lang).sentences) == 2


def test_a_text_is_read_without_the_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("rjieba", "icu4py", "icu4py.breakers"):
        monkeypatch.setitem(sys.modules, name, None)
    find = word_finder(pack_of("zh"))
    assert find is not None and [word[:2] for word in find("股市上涨了")] == [
        (0, 2),
        (2, 4),
        (4, 5),
    ]


def test_languages_with_spaces_need_no_extra() -> None:
    assert word_finder(pack_of("de")) is None and is_installed(pack_of("de"))


def test_a_long_run_is_divided_in_windows() -> None:
    text = "股市上涨" * 3000
    annotation = read(text, "zh")
    assert len(annotation.lemmas) == 6000 and annotation.spans[-1, 1] == len(text)
