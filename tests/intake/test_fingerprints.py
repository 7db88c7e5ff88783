"""Signatures of texts, and what two of them decide."""

from __future__ import annotations

import random
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith.intake.fingerprints import (
    COPY,
    MAX_FIGURES,
    MAX_RUNS,
    N_KEYS,
    Rules,
    Signature,
    decide,
    keys,
    signature,
)


def test_an_empty_text_has_a_signature_and_repeats_nothing() -> None:
    nothing = signature("")
    assert (len(nothing.runs), nothing.n_runs, nothing.n_figures) == (0, 0, 0)
    assert decide(nothing, nothing) is None


@given(st.text(max_size=300))
def test_any_text_has_a_signature_that_survives_writing(text: str) -> None:
    mark = signature(text)
    again = Signature.of(bytes(mark))
    assert bytes(again) == bytes(mark)
    assert (np.diff(mark.runs.astype(np.int64)) > 0).all()


@pytest.mark.slow
def test_a_signature_is_the_same_in_another_process() -> None:
    code = (
        "from segapsith.intake.fingerprints import signature; "
        "print(bytes(signature('Le juge a saisi 925 000 euros, 5,93 % du total.')).hex())"
    )
    process = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    here = bytes(signature("Le juge a saisi 925 000 euros, 5,93 % du total.")).hex()
    assert process.stdout.strip() == here


def test_layout_letters_and_the_way_figures_are_written_do_not_matter() -> None:
    one = signature("Le juge a saisi 925 000 euros, soit 5,93 % de 1,200 tonnes.")
    two = signature("LE JUGE A SAISI 925\u202f000 euros\n soit 5.93 % de 1200 tonnes")
    assert bytes(one) == bytes(two)
    assert one.n_figures == 3


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("1,750", "1750", True),
        ("925 000", "925000", True),
        ("5,93", "5.93", True),
        ("593", "5.93", False),
        ("2-1", "2-2", False),
        ("21", "2-1", False),
        ("1987 250", "1987250", False),  # a year and a number
        ("8-3/4", "8-1/4", False),
        ("1.200.000", "1,200,000", True),
    ],
)
def test_figures_are_compared_exactly(left: str, right: str, same: bool) -> None:
    assert (bytes(signature(left)) == bytes(signature(right))) is same


def test_a_signature_has_a_bounded_size() -> None:
    text = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26 % 26)} {n}" for n in range(2000))
    mark = signature(text)
    assert (len(mark.runs), len(mark.figures), len(mark.places)) == (
        MAX_RUNS,
        MAX_FIGURES,
        MAX_FIGURES,
    )
    assert mark.n_figures == 2000
    assert keys(mark) == mark.runs[:N_KEYS].tolist()


# -- the verdict, beside exact sets ----------------------------------------------------------


def runs_of(text: str) -> set[tuple[str, ...]]:
    """The runs of a text, slow and obvious; no figures but whole ones."""
    words = re.findall(r"\d+|[^\W\d_]+", text.lower())
    return set(zip(words, words[1:], words[2:], strict=False))


words = st.lists(st.sampled_from("abcdefgh"), max_size=80).map(" ".join)


@given(words, words)
def test_short_texts_are_compared_exactly(left: str, right: str) -> None:
    a, b = runs_of(left), runs_of(right)
    verdict = decide(signature(left), signature(right))
    shared = len(a & b)
    if verdict is not None:
        assert verdict.new_in_old == pytest.approx(shared / len(a))
        assert verdict.old_in_new == pytest.approx(shared / len(b))
    n = min(len(a), len(b))
    if shared < COPY.min_runs:
        assert verdict is None
        return
    both, either = sorted((shared / len(a), shared / len(b)))
    need = min(COPY.copy + COPY.short_text_margin / n, 1.0)
    assert (verdict is not None) == (both >= need or either >= max(COPY.brief, need))


def test_long_texts_are_estimated_closely() -> None:
    chance = random.Random(1)
    errors = []
    for _ in range(60):
        old = [f"w{chance.choice('abcdefghij')}{chr(97 + chance.randrange(26))}{chr(97 + chance.randrange(26))}" for _ in range(1200)]  # fmt: skip
        new = old[: chance.randrange(700, 1200)]
        one, two = " ".join(new), " ".join(old)
        verdict = decide(signature(one), signature(two))
        a, b = runs_of(one), runs_of(two)
        assert verdict is not None
        assert verdict.new_in_old == 1.0
        errors.append(verdict.old_in_new - len(a & b) / len(b))
    assert np.sqrt(np.mean(np.square(errors))) < 0.05


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("net profit of {a} mln and a loss of {b} mln", ("1.2", "3.4"), False),
        ("net profit of {a} mln and a net profit of {b} mln", ("1.2", "3.4"), True),
        ("net profit of {a} mln and a loss of {b} mln", ("1.2", "1.2"), True),
    ],
)
def test_figures_that_change_places_make_another_story(
    left: str, right: tuple[str, str], same: bool
) -> None:
    before = "The group told its bankers in the harbour town on Friday that it had made a "
    after = ", and its chairman will now travel north to meet the unions of the shipyards there."
    old = signature(before + left.format(a=right[0], b=right[1]) + after)
    new = signature(before + left.format(a=right[1], b=right[0]) + after)
    assert (decide(new, old, Rules(copy=0.3)) is not None) is same
    assert decide(new, old, Rules(copy=0.3, figures=0.0)) is not None
