"""Languages: what is guessed, what is kept apart, and what stays as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.intake.documents import language_of
from segapsith.intake.language import KNOWN
from segapsith.model import Document

GERMAN = (
    "Der Fluss stieg in der Nacht und überschwemmte den alten Hafen der Stadt. Die Feuerwehr brachte"
    " mehr als zweihundert Menschen aus ihren Häusern, wie der Bürgermeister am Morgen mitteilte."
)
SPANISH = (
    "El río creció durante la noche e inundó el viejo puerto de la ciudad. Los bomberos sacaron de sus"
    " casas a más de doscientas personas, informó el alcalde por la mañana."
)
CROATIAN = (
    "Rijeka je noću nabujala i poplavila staru gradsku luku. Vatrogasci su iz kuća izveli više od"
    " dvjesto ljudi, izjavio je ujutro gradonačelnik, koji je proglasio izvanredno stanje."
)
ALBANIAN = (
    "Lumi u rrit gjatë natës dhe përmbyti portin e vjetër të qytetit. Zjarrfikësit nxorën nga"
    " shtëpitë më shumë se dyqind njerëz, tha kryetari i bashkisë në mëngjes."
)
CHINESE = "河水在夜间上涨，淹没了该市的旧港口。市长早上表示，消防队员将两百多人从家中救出。"
ENGLISH = (
    "The river rose in the night and flooded the old harbour of the town. Firemen brought more than"
    " two hundred people out of their houses, the mayor said in the morning."
)
FRENCH = (
    "La rivière a débordé dans la nuit et inondé le vieux port de la ville. Les pompiers ont évacué"
    " plus de deux cents personnes, a déclaré le maire dans la matinée."
)


@pytest.mark.parametrize(
    ("text", "lang"),
    [(GERMAN, "de"), (SPANISH, "es"), (CHINESE, "zh"), (ENGLISH, "en"), (FRENCH, "fr")],
)
def test_a_long_text_has_its_own_language(text: str, lang: str) -> None:
    assert language_of("auto")(Document(body=text)) == lang


@pytest.mark.parametrize(
    "text",
    [
        "Dilenschneider Advises Sbarro in Chapter 11",
        "SANTOS COFFEE SPOTS APR 7 CRUZADOS PER 60 KG ESTILO SANTOS 1.883,33 SANTOS RIADO 1.783,33",
        "GREASE MONKEY HOLDING CORP <GMHC> YEAR NOV 30 Shr nil vs nil Net 130,998 vs 30,732",
        "Bundesbank",
        "12:30",
        "",
    ],
)
def test_short_and_ambiguous_texts_are_taken_as_known(text: str) -> None:
    assert language_of("auto")(Document(body=text)) in KNOWN


@pytest.mark.parametrize("lang", KNOWN)
def test_every_story_of_the_sample_has_its_language(lang: str) -> None:
    guess = language_of("auto")
    stories = [Document(title=s.get("title", ""), body=s["text"]) for s in sample.lines(lang)]
    assert {guess(story) for story in stories} == {lang}


@pytest.mark.parametrize(
    ("name", "languages", "least"),
    [
        ("reuters21578", {"en", "fr"}, 1.0),
        ("bbc-news", {"en"}, 1.0),
        ("orangesum-fr", {"fr"}, 1.0),
        ("10kgnad-de", {"de"}, 0.99),
        ("fakenewscorpus-true-es", {"es"}, 0.99),
        ("articoli-it", {"it"}, 0.95),
        ("sogouc-zh", {"zh"}, 0.97),
        ("lenta-titles-ru", {"ru"}, 0.95),
    ],
)
def test_stories_of_real_corpora_have_their_language(
    data: Path, name: str, languages: set[str], least: float
) -> None:
    from segapsith_reproduce.data_sets import lines

    guess = language_of("auto")
    stories = lines(data, name)[:500]
    right = sum(
        guess(Document(title=s.get("title") or "", body=s.get("text") or "")) in languages
        for s in stories
    )
    assert right >= least * len(stories)


def stories_of(path: Path) -> str:
    texts = {"hr": CROATIAN, "sq": ALBANIAN, "en": ENGLISH}
    lines = [
        {
            "id": f"{lang}{number}",
            "title": "",
            "text": text.replace("200", str(number)) + f" {word}",
        }
        for lang, text in texts.items()
        for number, word in enumerate(["Elbe", "Arno"][: 1 if lang == "sq" else 2])
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_stories_in_other_languages_are_kept_apart_counted_and_warned_of(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    path = stories_of(tmp_path / "a.jsonl")
    code, out, err = command("ingest", path, "--json")
    counts = json.loads(out)
    assert code == 0
    assert err.count("without a dictionary") == 1
    n_croatian = counts["languages"]["hr"]
    assert counts["other_languages"] == n_croatian + 1
    assert f"in languages without a dictionary (hr {n_croatian}, sq 1) were kept apart" in err
    domains = json.loads(command("domains", "--json", "--min-units", "1")[1])
    assert {d["lang"] for d in domains} == {"hr", "sq", "en"}
    assert "dictionary" not in command("ingest", path)[2]  # known already
    assert command("verify")[0] == 0


def test_no_warning_without_other_languages(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"id": "a", "text": ENGLISH}) + "\n", encoding="utf-8")
    assert command("ingest", str(path))[::2] == (0, "")


def test_stop_words_of_a_language_without_a_pack_are_learned_from_the_stream() -> None:
    subjects = ["rijeka poplava most", "vlada porez zakon", "utakmica gol trener"]
    words = [f"{a}{b}{c}" for a in "bdgkl" for b in "aeiou" for c in "mnrst"]

    def stories(first: int, last: int) -> list[Document]:
        return [
            Document(
                str(n),
                body=f"{subjects[n % 3]} je i {words[n % 125]} je {words[n * 7 % 125]}{n % 9} se",
                lang="hr",
            )
            for n in range(first, last)
        ]

    with Wire(":memory:") as wire:
        wire.ingest(stories(0, 600))
        late = [unit for unit in wire.stream_units() if unit.document > 500]
        names = wire.writer.words()
        common = {number for number, _, word, *_ in names if word in ("je", "se")}
        assert common and late
        assert not any(common & set(unit.words.tolist()) for unit in late)
        assert any(unit.words.size >= 3 for unit in late)
