"""The compact model of languages: the same scores as py3langid itself."""

from __future__ import annotations

import copy

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from segapsith.demo import sample
from segapsith.intake.language_model import LanguageModel

LANGUAGES = ("en", "fr", "de", "sr", "zh")

TEXTS = (
    "",
    "12:30",
    "Bundesbank",
    "THE RIVER ROSE IN THE NIGHT",
    "La rivière a débordé dans la nuit et inondé le vieux port.",
    "Cafe\u0301 au lait",
    "Ријека је ноћу набујала и поплавила стару градску луку.",
    "Rijeka je noću nabujala i poplavila staru gradsku luku.",
    "河水在夜间上涨，淹没了该市的旧港口。",
    "half of a pair \ud83d alone",
)


@pytest.fixture(scope="module")
def model() -> LanguageModel:
    return LanguageModel.load(LANGUAGES)


@pytest.fixture(scope="module")
def library() -> LanguageIdentifier:
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    identifier.set_languages(list(LANGUAGES))
    return identifier


def test_scores_are_those_of_the_library(model: LanguageModel, library: LanguageIdentifier) -> None:
    for text in (*TEXTS, *(story["text"][:500] for story in sample.lines("de"))):
        assert model.scores(text) == pytest.approx(dict(library.rank(text)), rel=1e-5)
        assert model.best(text)[0] == library.classify(text)[0]


def test_fewer_languages_have_the_scores_of_the_library(
    model: LanguageModel, library: LanguageIdentifier
) -> None:
    fewer = copy.copy(library)
    fewer.set_languages(["fr", "sr"])
    for text in TEXTS:
        assert model.among(("sr", "fr")).best(text) == pytest.approx(fewer.classify(text))


def test_a_text_without_known_bytes_has_the_first_language(model: LanguageModel) -> None:
    assert len(set(model.scores("").values())) == 1
    assert model.best("")[0] == model.labels[0]


def test_an_unknown_language_is_named() -> None:
    with pytest.raises(ValueError, match="unknown language codes: xx, yy"):
        LanguageModel.load(["en", "yy", "xx"])
