"""Checks of labellers."""

from __future__ import annotations

from segapsith.model import Subject
from segapsith.testing.kit import Check, Factory, bounded, check_settings, of_kind

__all__ = ["example_subject", "labeller_checks"]


def example_subject(kind: str = "domain", lang: str = "en", previous: str = "") -> Subject:
    """Return a subject with words and headlines."""
    words = {"storm": 0.6, "North Sea": 0.4, "coast": 0.35, "flood": 0.2, "wind": 0.1}
    headlines = ["Storm floods villages on North Sea coast", "Coast cleans up after the storm"]
    return Subject(kind, lang, words, headlines, previous)


def _labelled(factory: Factory, subject: Subject) -> str:
    label = factory().label(subject)
    assert isinstance(label, str), f"label returned {type(label).__name__}; a text is wanted"
    assert not label or label.isprintable(), f"label returned {label!r}; one line is wanted"
    return label


@bounded
def check_it_is_a_labeller(factory: Factory) -> None:
    """It has the method."""
    of_kind("labeller", factory)


@bounded
def check_same_subject_same_label(factory: Factory) -> None:
    """Twice the same subject is twice the same label, and it is not empty."""
    plugin = factory()
    for kind in ("domain", "topic", "section", "event"):
        first = _labelled(factory, example_subject(kind))
        assert first.strip(), f"label returned nothing for a {kind} with words and headlines"
        plugin.label(example_subject(kind, "fr"))
        assert plugin.label(example_subject(kind)) == first, "the same subject got another label"


@bounded
def check_small_subjects(factory: Factory) -> None:
    """No headlines, no words, neither; unusual characters."""
    whole = example_subject()
    assert _labelled(factory, Subject("domain", "en", whole.words, [])).strip(), (
        "label returned nothing for a domain with words"
    )
    _labelled(factory, Subject("domain", "en", {}, whole.headlines))
    _labelled(factory, Subject("topic", "", {}, []))
    _labelled(factory, Subject("event", "zh", {"台风": 1.0}, ["台风登陆南部海岸造成多人受伤"]))


@bounded
def check_label_changes_nothing(factory: Factory) -> None:
    """The subject belongs to the caller."""
    words, headlines = dict(example_subject().words), list(example_subject().headlines)
    _labelled(factory, Subject("domain", "en", words, headlines, "storm, coast"))
    assert words == example_subject().words, "label changed the words of its subject"
    assert headlines == example_subject().headlines, "label changed the headlines of its subject"


labeller_checks: tuple[Check, ...] = (
    check_it_is_a_labeller,
    check_settings,
    check_same_subject_same_label,
    check_small_subjects,
    check_label_changes_nothing,
)
