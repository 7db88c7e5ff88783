"""Wire text of both kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from segapsith import Document, Reject
from segapsith.testing import source_checks
from segapsith_plugins.sources.anpa import WireText

Items = Callable[[Any, bytes], list[Document | Reject]]


@pytest.mark.parametrize("check", source_checks, ids=lambda check: check.__name__)
def test_it_keeps_the_contract(check: Callable[..., None]) -> None:
    check(WireText)


@pytest.mark.parametrize(
    "name",
    [
        "anpa/anpa_english.txt",
        "anpa/broken_cut.txt",
        "anpa/iptc_french.txt",
        "anpa/plain_frames.txt",
        "anpa/telex.txt",
    ],
)
def test_its_samples_are_claimed(
    name: str, sample: Callable[[str], bytes], claimed: Callable[[bytes], str]
) -> None:
    assert claimed(sample(name)) == "anpa"


@pytest.mark.slow
def test_broken_input_never_raises_and_ends(withstands: Callable[[Any, str], None]) -> None:
    withstands(WireText, "anpa")


def test_french_messages_with_their_frames(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = items(WireText, sample("anpa/iptc_french.txt"))
    assert isinstance(first, Document) and isinstance(second, Document)
    assert first.title == "Le budget voté à une voix près"
    assert first.body == (
        "PARIS, 2 mars 2026 (AGX) - Le budget a été adopté lundi à une voix près, après une nuit de"
        " débats.\n\nLe texte revient jeudi devant le Sénat."
    )
    assert (first.uid, first.lang, first.source) == ("agx:fra0123:2026-03-02", "fr", "AGX")
    assert first.date == "2026-03-02T10:15:00+00:00"
    expected = {"urgency": "4", "section": "pol", "dateline": "PARIS, 2 mars 2026 (AGX)"}
    assert expected.items() <= first.metadata.items()
    assert second.metadata["status"] == "corrected"


def test_american_messages(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = items(WireText, sample("anpa/anpa_english.txt"))
    assert isinstance(first, Document) and isinstance(second, Document)
    assert first.title == "Storm cuts power to thousands"
    assert first.body.endswith("Crews worked through the night, the grid operator said.")
    assert first.date == "2026-03-02T06:15:00+00:00"
    assert first.metadata["byline"] == "By RITA SOUSA EXN Writer"
    assert first.metadata["status"] == "updated"
    assert second.metadata["status"] == "killed"


def test_messages_that_lost_their_control_characters(
    items: Items, sample: Callable[[str], bytes]
) -> None:
    first, second = items(WireText, sample("anpa/plain_frames.txt"))
    assert isinstance(first, Document) and isinstance(second, Document)
    assert first.title == "Tunnel opens after ten years of work"
    assert first.body.endswith("\n\nTrains ran on time.")
    assert second.title == "Snow closes a pass"


def test_telex_frames(items: Items, sample: Callable[[str], bytes]) -> None:
    first, second = items(WireText, sample("anpa/telex.txt"))
    assert isinstance(first, Document) and isinstance(second, Document)
    assert (first.title, second.title) == ("RACING: Fields for Thursday", "FOOTBALL: Result")
    assert first.body == "The fields for Thursday are out. Rain is expected."
