"""Names by their capitals and position."""

import pytest

from segapsith.lexicon.proper_names import names


def found(text, lang="en"):
    return [name.name for name in names(text, lang)]


def test_names_lie_where_they_say():
    text = "On Monday the mayor of Port Albers, Anna de Witt, met O'Hara's men."
    assert [text[n.start : n.end] for n in names(text, "en")] == [
        "Port Albers", "Anna de Witt", "O'Hara",
    ]  # fmt: skip


def test_the_beginning_of_a_sentence_is_not_trusted_alone():
    assert found("Heavy rain fell. Growers waited.") == []
    assert found("Vasseur left. The judge heard Vasseur again.") == ["vasseur", "vasseur"]
    assert found("Anna Brook left.") == ["anna brook"]
    assert found('He said: "Rain will fall on Lestrac."') == ["lestrac"]


def test_a_headline_in_capitals_says_nothing_by_them():
    text = "Storm Hits Coast As Albers Waits\n\nThe storm reached Albers at night."
    assert found(text) == ["albers", "albers"]


def test_a_surname_is_the_full_name_where_there_is_one():
    text = "Police met Luc Vasseur. Then Vasseur left with Jo Brook and Ann Brook; Brook drove."
    assert found(text) == ["luc vasseur", "luc vasseur", "jo brook", "ann brook", "brook"]


def test_french_names():
    text = (
        "Une vingtaine d'enquêteurs ont fouillé lundi le domicile de M. Luc Vasseur, sur les"
        " hauteurs de Lestrac. L'avocate Claire d'Aubrac a rencontré l'ONU à Port-Albers."
    )
    assert found(text, "fr") == ["luc vasseur", "lestrac", "claire d aubrac", "onu", "port-albers"]


@pytest.mark.parametrize("text", ["", "…?!", "\n\n", "a b c", "A", "WORD " * 500, "'", "d'", "É"])
@pytest.mark.parametrize("lang", ["en", "fr", "de"])
def test_odd_texts(text, lang):
    for name in names(text, lang):
        assert 0 <= name.start < name.end <= len(text)
