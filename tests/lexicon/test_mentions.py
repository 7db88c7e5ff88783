"""Names, numbers and dates that do not depend on the language of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith.languages import BUILT_IN
from segapsith.lexicon.mentions import mentions


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "LINDMOOR, March 4 - Police told Lena Brandt that 1,200 crowns were gone."),
        ("de", "Am 4. März sagte die Polizei Lena Brandt in Lindmoor, 1.200 Kronen seien fort."),
        ("es", "El 4 de marzo la policía dijo a Lena Brandt en Lindmoor que faltaban 1.200."),
        (
            "fr",
            "Le 4 mars, la police a dit à Lena Brandt à Lindmoor que 1 200 couronnes manquaient.",
        ),
        ("zh", "3月4日，警方在Lindmoor告诉Lena Brandt，1,200克朗不见了。"),
    ],
)
def test_languages_agree_on_what_is_mentioned(lang: str, text: str) -> None:
    found = mentions(text, lang, 2026)
    assert {"lena", "brandt"} <= found.names
    assert found.numbers == {"1200"}
    assert found.days == {"2026-03-04"}


@pytest.mark.parametrize(
    ("written", "plain"),
    [("4,1", "4.1"), ("4.1", "4.1"), ("212,000", "212000"), ("14 000", "14000"), ("5,25", "5.25"),
     ("1.234,5", "1234.5"), ("٤٥٦", "456"), ("1'500", "1500")],
)  # fmt: skip
def test_a_number_is_the_same_however_it_is_written(written: str, plain: str) -> None:
    assert mentions(f"sie nannte {written} heute", "de").numbers == {plain}


def test_small_numbers_and_times_say_nothing() -> None:
    assert not mentions("At 14:30 three of 7 left.", "en").numbers


def test_a_date_without_a_year_needs_one() -> None:
    assert mentions("On March 4 it rained.", "en").days == frozenset()
    assert mentions("On March 4, 2025 it rained.", "en", 2026).days == {"2025-03-04"}
    assert mentions("On February 30 it rained.", "en", 2026).days == frozenset()


def test_accents_and_case_do_not_count() -> None:
    assert mentions("La policía detuvo ayer en Málaga a José.", "es").names == {"malaga", "jose"}


@given(st.text(max_size=200), st.sampled_from(BUILT_IN))
def test_any_text_is_accepted(text: str, lang: str) -> None:
    found = mentions(text, lang, 2026)
    assert all(len(name) >= 1 for name in found.names)
    assert all(number.replace(".", "").isdigit() for number in found.numbers)
