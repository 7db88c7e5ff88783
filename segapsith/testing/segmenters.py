"""What every segmenter promises."""

from __future__ import annotations

import math

from segapsith.model import Annotation, Network, Unit
from segapsith.plugin.contracts import NETWORK_PARTS, network_parts
from segapsith.testing.examples import example_annotation
from segapsith.testing.kit import Check, Factory, bounded, check_settings, of_kind

__all__ = ["segmenter_checks"]


def _covering(factory: Factory, annotation: Annotation) -> list[Unit]:
    """The units, if they follow the text and lose no token."""
    result = factory().segment(annotation, Network())
    assert hasattr(result, "__iter__"), (
        f"segment returned {type(result).__name__}; an iterator of units is wanted"
    )
    units: list[Unit] = list(result)
    token, character = 0, 0
    n_tokens, length = len(annotation.lemmas), len(annotation.document.text)
    assert len(units) <= max(1, n_tokens), f"{len(units)} units for {n_tokens} tokens are too many"
    for unit in units:
        assert isinstance(unit, Unit), f"segment gave {type(unit).__name__}; a Unit is wanted"
        assert unit.first == token, f"a unit begins at token {unit.first}; {token} is wanted"
        assert unit.last >= unit.first, f"a unit ends at token {unit.last}, before it begins"
        assert character <= unit.start <= unit.end <= length, (
            f"unit {unit.start}-{unit.end} should lie in {character}-{length}, after the one before"
        )
        assert math.isfinite(unit.cohesion), f"cohesion is {unit.cohesion}; a number is wanted"
        assert all(0 <= w < math.inf for w in unit.inferred.values()), (
            "inferred words should have finite weights >= 0"
        )
        spans = annotation.spans[unit.first : unit.last]
        assert not len(spans) or (unit.start <= spans[0, 0] and spans[-1, 1] <= unit.end), (
            f"unit {unit.start}-{unit.end} does not hold its tokens {unit.first}-{unit.last}"
        )
        token, character = unit.last, unit.end
    assert token == n_tokens, f"the units cover {token} of {n_tokens} tokens"
    return units


_PARAGRAPHS = "\n\n".join(
    f"Paragraph {number} speaks of {subject} again and again, and of nothing but {subject}. "
    * (1 + number % 3)
    for number, subject in enumerate(["rivers", "markets", "football", "elections"] * 2)
)


@bounded
def check_it_is_a_segmenter(factory: Factory) -> None:
    """It has the method, and uses nothing that a network has not."""
    of_kind("segmenter", factory)
    used = network_parts(factory())
    assert used <= NETWORK_PARTS, f"uses {sorted(used)} should be some of {sorted(NETWORK_PARTS)}"


@bounded
def check_units_cover_the_text(factory: Factory) -> None:
    """Units follow each other, hold their tokens and lose none."""
    _covering(factory, example_annotation(_PARAGRAPHS))
    _covering(factory, example_annotation(_PARAGRAPHS, title="A title"))


@bounded
def check_units_of_little_text(factory: Factory) -> None:
    """One word, no word, no text."""
    for text in ("Flood", "", "…?!", "\n\n\n", "a\n\nb"):
        _covering(factory, example_annotation(text))
    _covering(factory, example_annotation("", title="Only a title"))


@bounded
def check_units_of_a_long_text(factory: Factory) -> None:
    """Twenty thousand words, in one paragraph and in many."""
    _covering(factory, example_annotation("one two three four five. " * 4_000))
    _covering(factory, example_annotation(f"{_PARAGRAPHS}\n\n" * 60))


@bounded
def check_same_text_same_units(factory: Factory) -> None:
    """The same text is cut in the same way."""
    first, second = (_covering(factory, example_annotation(_PARAGRAPHS)) for _ in range(2))
    assert first == second, "the same text was cut in two ways"


segmenter_checks: tuple[Check, ...] = (
    check_it_is_a_segmenter,
    check_settings,
    check_units_cover_the_text,
    check_units_of_little_text,
    check_units_of_a_long_text,
    check_same_text_same_units,
)
