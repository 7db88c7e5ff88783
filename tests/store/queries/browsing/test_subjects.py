"""IPTC codes are counted for domains and propose names for sections."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from segapsith.api.wire import Wire
from segapsith_store.queries.documents import iterate_documents

OpenWire = Callable[..., Wire]
Command = Callable[..., tuple[int, str, str]]

SPORT = "The striker scored twice and the team won the match in the cup final number"
FLOOD = "The river rose after heavy rain and the flood reached the town below the dam number"


def coded(wire: Wire, flood_code: str = "medtop:17000000") -> None:
    """Two subjects of five stories each, four of them with a code, and one without."""
    stories: list[dict[str, Any]] = []
    for number in range(5):
        for text, code in ((SPORT, "subj:15054000"), (FLOOD, flood_code)):
            story: dict[str, Any] = {
                "id": f"{code}-{number}", "text": f"{text} {number}.", "lang": "en",
            }  # fmt: skip
            if number:
                story["subjects"] = [code, "a word"]
            stories.append(story)
    wire.ingest(stories)
    wire.sections(k=2)


def test_a_domain_counts_the_topics_of_its_stories(open_wire: OpenWire) -> None:
    wire = open_wire(segmenter="none", duplicate_window=0)
    coded(wire)
    largest = wire.domains()[0]
    (topic,) = wire.domains.show(largest.id).media_topics
    assert (topic.name in ("sport", "weather"), topic.stories >= 1) == (True, True)


def test_sections_get_proposals_from_their_stories(open_wire: OpenWire) -> None:
    wire = open_wire(segmenter="none", duplicate_window=0)
    coded(wire)
    proposals = {p.name: p for p in wire.sections.propose()}
    assert set(proposals) == {"sport", "weather"}
    assert (proposals["sport"].share, proposals["sport"].stories) == (1.0, 4)
    assert proposals["sport"].code == "15000000"


def test_a_name_is_proposed_to_one_section_only(open_wire: OpenWire) -> None:
    wire = open_wire(segmenter="none", duplicate_window=0)
    coded(wire, flood_code="medtop:15000000")
    assert sorted(p.name for p in wire.sections.propose()) == ["", "sport"]


def test_exported_documents_have_the_names(open_wire: OpenWire) -> None:
    wire = open_wire()
    subjects = ["medtop:17000000 x", "weather"]
    wire.ingest([{"id": "a", "text": "Il pleut.", "lang": "fr", "subjects": subjects}])
    (document,) = wire.read(lambda store: list(iterate_documents(store)))
    assert document.media_topics == ["météo"]
    assert document.metadata["subjects"] == subjects


def test_the_command_shows_how_to_accept_a_proposal(command: Command) -> None:
    with Wire("segapsith.db") as wire:
        coded(wire)
    code, out, err = command("sections", "--name", "iptc")
    assert code == 0, err
    assert "proposed" in out
    accepting = [line for line in out.splitlines() if line.startswith("accept: segapsith")]
    code, out, err = command(*shlex.split(accepting[0])[2:])
    assert code == 0, err
    assert "sport" in out or "weather" in out
