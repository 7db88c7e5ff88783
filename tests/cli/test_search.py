"""Documents and domains are found by their words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.demo import sample

Answer = Callable[..., Any]


def test_search_finds_documents_and_domains(answer: Answer) -> None:
    answer("ingest", str(sample.path("fr")))
    found = answer("search", "grève")
    assert found["documents"]
    assert found["domains"]
    assert answer("search", "GREVE")["documents"] == found["documents"]
    assert answer("search", '"; DROP TABLE domains; --')["documents"] == []


def _blair(tmp_path: Path) -> str:
    """Return a wire about a prime minister and a river; no unit word is a whole name."""
    stories = [
        {
            "id": f"pm-{n}",
            "title": f"Cabinet meets on budget {n}",
            "date": f"2026-03-{n:02}",
            "text": "Tony Blair told the cabinet that the budget and taxes need votes in parliament."
            f" The chancellor said taxes and budget votes wait for parliament in round {n}.",
        }
        for n in range(1, 9)
    ] + [
        {
            "id": f"river-{n}",
            "title": f"River rises {n}",
            "date": f"2026-03-{n:02}",
            "text": "The river rose above the embankment and the flood water reached the bridge."
            f" Flood pumps moved water from the river bank for {n} hours.",
        }
        for n in range(1, 5)
    ]
    path = tmp_path / "blair.jsonl"
    path.write_text("\n".join(map(json.dumps, stories)))
    return str(path)


def test_a_phrase_finds_the_domain_of_its_stories_and_each_story_names_its_domain(
    answer: Answer, tmp_path: Path
) -> None:
    answer("ingest", _blair(tmp_path), "--as-units")
    largest = answer("domains")[0]
    found = answer("search", "Tony", "Blair")
    assert found["domains"][0]["id"] == largest["id"]
    assert found["domains"][0]["matches"] >= 5
    assert all(
        d["domains"][0] == {"id": largest["id"], "label": largest["label"]}
        for d in found["documents"]
    )


def test_a_name_given_by_the_user_finds_its_domain_first(answer: Answer, tmp_path: Path) -> None:
    answer("ingest", _blair(tmp_path), "--as-units")
    river = answer("search", "embankment")["domains"][0]["id"]
    answer("domains", "rename", str(river), "Tony Blair at the seaside")
    assert answer("search", "Tony Blair")["domains"][0]["id"] == river
    assert answer("search", "seaside")["domains"][0]["label"] == "Tony Blair at the seaside"


def test_show_lists_stories_before_words(answer: Answer, command: Answer, tmp_path: Path) -> None:
    answer("ingest", _blair(tmp_path), "--as-units")
    number = str(answer("domains")[0]["id"])
    shown = answer("show", number)
    dates = [story["date"] for story in shown["stories"]]
    assert dates == sorted(dates, reverse=True)
    assert sorted(u for s in shown["stories"] for u in s["unit_ids"]) == shown["unit_ids"]
    _, text, _ = command("show", number)
    assert text.index("Cabinet meets on budget 8") < text.index("word\tweight")


def test_explain_takes_a_document_and_says_what_is_unknown(
    answer: Answer, command: Answer, tmp_path: Path
) -> None:
    answer("ingest", _blair(tmp_path), "--as-units")
    explained = answer("explain", "pm-3")
    assert [one["document"] for one in explained["units"]] == ["pm-3"]
    unit = explained["units"][0]["unit"]
    assert answer("explain", str(unit)) == explained["units"][0]
    code, text, _ = command("explain", "pm-3")
    assert code == 0
    assert text.startswith("document pm-3: Cabinet meets on budget 3\n")
    code, _, message = command("explain", "pm-99")
    assert code == 66
    assert "'pm-99'" in message


UNSPACED = {
    "zh": ("中国人民银行宣布下调利率，市场反应积极。", "银行", "利率", "火车"),
    "ja": ("日本銀行は金利を引き下げると発表した。", "銀行", "金利", "列車"),
    "ko": ("한국은행은 금리를 내린다고 발표했다.", "은행", "금리", "열차"),
    "th": ("ธนาคารกลางประกาศลดอัตราดอกเบี้ยเมื่อวันจันทร์", "ธนาคาร", "ดอกเบี้ย", "รถไฟ"),
}


@pytest.mark.parametrize("lang", UNSPACED)
def test_words_are_found_inside_texts_without_spaces(
    lang: str, answer: Answer, tmp_path: Path
) -> None:
    text, first, second, other = UNSPACED[lang]
    path = tmp_path / "wire.jsonl"
    path.write_text(json.dumps({"id": "one", "lang": lang, "text": f"{text} NASA 2026"}))
    answer("ingest", str(path))
    for words in ([first], [second], [first, second], [second, "nasa"]):
        found = answer("search", *words)["documents"]
        assert [hit["id"] for hit in found] == ["one"], words
    assert f"[{first}]" in answer("search", first)["documents"][0]["snippet"]
    assert answer("search", other)["documents"] == []
    assert answer("search", first, other)["documents"] == []
    answer("forget", "one")
    assert answer("search", first)["documents"] == []


def test_a_corrected_text_without_spaces_is_found_by_its_new_words(
    answer: Answer, tmp_path: Path
) -> None:
    path = tmp_path / "wire.jsonl"
    for text in ("中国人民银行宣布下调利率。", "中国人民银行宣布上调税收。"):
        path.write_text(json.dumps({"id": "one", "lang": "zh", "text": text}))
        answer("ingest", str(path))
    assert answer("search", "税收")["documents"]
    assert not answer("search", "利率")["documents"]


def test_other_forms_of_a_word_are_found_in_their_language(answer: Answer) -> None:
    for lang in ("de", "es"):
        answer("ingest", str(sample.path(lang)))
    for word, form in (("Aktie", "Aktien"), ("hipoteca", "hipotecas"), ("Taucher", "Tauchern")):
        hits = {hit["id"] for hit in answer("search", word, "--forms")["documents"]}
        assert {hit["id"] for hit in answer("search", form)["documents"]} <= hits
    assert answer("search", "hipoteca")["documents"] == []
    assert answer("search", "hipoteca", "--forms")["documents"]
    both = answer("search", "banco", "abaratar", "--forms")["documents"]
    assert [hit["title"] for hit in both] == ["Los bancos abaratan las hipotecas variables"]
