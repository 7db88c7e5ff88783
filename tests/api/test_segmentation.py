"""`segment`, and inferred words on their way from a segmenter into the store and out of it."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from segapsith import Annotation, Document, Network, Unit
from segapsith.api.segmentation import segmentation
from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.engine.ingest import Engine
from segapsith.engine.network_state import used_by
from segapsith.errors import SettingError
from segapsith.plugin.registry import load_plugins
from segapsith.settings import resolve
from segapsith.tokens import Tokens
from segapsith_store.queries import documents, networks, stream

Run = Callable[..., tuple[int, str, str]]

TEXT = (
    "The river rose over the bridge. The flood took the dam and the bridge. Rain fed the river. "
    "The dam broke and the valley saw the flood. The rain and the river filled the valley. "
    "The bank sold its shares. The broker bought bonds and shares. Investors left the bank. "
    "The dividend of the bank fell. Brokers and investors sold bonds for a small dividend. "
) * 3


@pytest.mark.slow
def test_units_cover_the_text_and_the_curve_belongs_to_it(command: Run, tmp_path: Path) -> None:
    (tmp_path / "story.txt").write_text(TEXT, encoding="utf-8")
    for name in ("cohesion", "paragraphs", "none", "segcohlex", "lcp"):
        code, out, _ = command("segment", "story.txt", "--segmenter", name, "--json")
        found = json.loads(out)
        assert code == 0
        assert found["units"][0]["start"] == 0 and found["units"][-1]["end"] == len(TEXT)
        assert len(found["curve"]) == len(found["curve_places"])
        assert bool(found["curve"]) == (name == "cohesion")  # the others need a network, or none
        assert all({"cohesion", "kept", "words", "inferred"} <= set(u) for u in found["units"])


def test_the_text_output_shows_units_and_words(command: Run, tmp_path: Path) -> None:
    (tmp_path / "story.txt").write_text(TEXT, encoding="utf-8")
    code, out, _ = command("segment", "story.txt", "--segmenter", "cohesion", "--lang", "en")
    assert code == 0 and "unit 1: characters 0-" in out and "words: " in out
    bars, ruler = out.splitlines()[:2]
    assert len(bars) == len(ruler) == 72
    assert ruler.count("│") == out.count("unit ") - 1


@pytest.mark.slow
def test_the_picture_is_sound_xml_whatever_the_text_says(command: Run, tmp_path: Path) -> None:
    (tmp_path / "a&b<.txt").write_text("R&D <b>flood</b> river\x07s. " * 30, encoding="utf-8")
    code, _, _ = command(
        "segment", "a&b<.txt", "--segmenter", "cohesion", "--svg", "out.svg", "--quiet"
    )
    root = ET.fromstring((tmp_path / "out.svg").read_text("utf-8"))
    assert code == 0 and root.tag.endswith("svg")
    assert any("a&b<.txt" in (node.text or "") for node in root.iter())


@pytest.mark.slow
def test_what_cannot_be_read_is_named(command: Run, tmp_path: Path) -> None:
    assert command("segment", "nothing.txt")[0] == 66
    assert command("segment", str(tmp_path))[0] == 65
    (tmp_path / "t.txt").write_text("")
    assert json.loads(command("segment", "t.txt", "--json")[1])["units"] == []
    assert command("segment", "t.txt")[:2] == (0, "no units: the text has no words\n")
    assert command("segment", "t.txt", "--store", "nowhere.db")[0] == 78
    assert command("segment", "t.txt", "--segmenter", "cohesion", "--set", "keepp=1")[0] == 78


def test_the_network_of_the_store_is_used(command: Run, open_wire: Callable[..., Wire]) -> None:
    wire = open_wire(segmenter="segcohlex", lang="en")
    wire.network.build(
        {"id": str(i), "text": part, "lang": "en"}
        for i, part in enumerate([TEXT[:230], TEXT[230:450]] * 12)
    )
    wire.close()
    for name in ("segcohlex", "lcp"):
        found = segmentation(TEXT, "en", name, store=wire.path)
        assert len(found.curve) == sum(sum(u.words.values()) for u in found.units)
        assert all(u.cohesion > 0 for u in found.units)
        assert not found.in_the_dark


@pytest.mark.slow
def test_a_segmenter_without_the_network_that_it_needs_says_so(
    command: Run, tmp_path: Path
) -> None:
    (tmp_path / "t.txt").write_text(TEXT)
    for name in ("segcohlex", "lcp"):
        code, _, talk = command("segment", "t.txt", "--segmenter", name)
        assert (code, "network build" in talk) == (0, True)
        assert command("segment", "t.txt", "--segmenter", name, "--quiet")[2] == ""
    assert "network" not in command("segment", "t.txt")[2]


# -- inferred words in the store -----------------------------------------------------------


class Pointing:
    """One unit a text; infers two words, one of which the text may have."""

    uses: frozenset[str] = frozenset()

    def segment_all(self, tokens: Tokens, network: Network) -> list[list[Unit]]:
        return [self.segment(annotation) for annotation in tokens.annotations]

    def segment(self, annotation: Annotation) -> list[Unit]:
        n, text = len(annotation.lemmas), annotation.document.text
        guess = {"harbour": 0.25, "storm": 0.5, "": 1.0, "nought": 0.0}
        return [Unit(0, len(text), 0, n, inferred=guess)] if n else []


@pytest.fixture(params=["units", "tokens"])
def wire(request: Any, open_wire: Callable[..., Wire]) -> Iterator[Wire]:
    opened = open_wire(lang="en", count=request.param)
    opened._engine = Engine(opened.writer, replace(opened.factory.learning(), segmenter=Pointing()))
    yield opened


STORIES = [
    {"id": "a", "text": "The storm broke the harbour wall and the ship sank."},
    {"id": "b", "text": "The ship left for the island while the wind blew."},
    {"id": "c", "text": "A ship with wind and sail passed the island."},
]


def test_inferred_words_count_for_domains_and_not_for_clusterings(wire: Wire) -> None:
    wire.ingest(STORIES)
    first, second, _ = wire.read(lambda store: list(documents.iterate_units(store)))
    assert first["inferred"] == {}
    assert second["inferred"] == {"harbour": 0.25, "storm": 0.5}
    assert not set(second["words"]) & set(second["inferred"])
    learned = wire.read(stream.learned_units)
    row = learned.counts[[1]].toarray()[0]
    said = {learned.words[i] for i in np.flatnonzero(row)}
    assert said == set(second["words"])
    assert "storm" in wire.domains.show(second["domain"])["inferred"]
    assert wire.verify().sound


def test_inferred_words_are_taken_back_exactly(wire: Wire) -> None:
    wire.ingest(STORIES[:1])
    before = wire.read(lambda store: [d.sums for d in store.domains() if d.sums.n_units])
    wire.ingest(STORIES[1:])
    wire.forget("b")
    assert wire.verify().sound
    wire.forget("c")
    after = wire.read(lambda store: [d.sums for d in store.domains() if d.sums.n_units])
    assert [s.words.tolist() for s in after] == [s.words.tolist() for s in before]
    assert [s.weights.tolist() for s in after] == [s.weights.tolist() for s in before]
    assert wire.verify().sound


def test_undoing_a_night_takes_its_inferred_words_back(wire: Wire) -> None:
    wire.ingest(STORIES[:1])
    before = wire.status()["digest"]
    run = wire.ingest(STORIES[1:]).run
    assert wire.status()["digest"] != before
    wire.runs.undo(run)
    assert wire.verify().sound
    assert wire.status()["digest"] == before


def test_what_an_inferred_word_does_is_explained(wire: Wire) -> None:
    wire.ingest(STORIES)
    unit = wire.read(lambda store: list(documents.iterate_units(store)))[1]
    found = wire.explain(unit["unit"])
    said = {w["word"]: (w["inferred"], w["count"]) for w in found["words"]}
    assert (said["storm"], said["harbour"]) == ((True, 0), (True, 0))
    assert {word for word, (guessed, _) in said.items() if not guessed} <= set(unit["words"])
    heavy = wire.engine.state.domains.profile(found["domain"]["id"])[0]
    assert found["ratios"]["unit_occurrences"] <= 1.0
    assert len(heavy) >= len(said)


def test_what_an_inferred_word_counts_for_belongs_to_the_store(
    open_wire: Callable[..., Wire],
) -> None:
    wire = open_wire(lang="en")
    wire.ingest(STORIES)
    learning = wire.factory.learning()
    twice = replace(learning, placement=replace(learning.placement, inferred_occurrence=2))
    with pytest.raises(SettingError, match="inferred_occurrence=2 does not fit this store"):
        Engine(wire.writer, twice).ingest([])
        Engine(wire.writer, twice).forget("a")


def test_the_paper_preset_cuts_as_published_unless_another_segmenter_is_chosen() -> None:
    paper = resolve({"preset": "paper"}, environment={})
    assert paper.reading.segmenter == "segcohlex"
    assert paper.plugins["segmenter.cut_at"] == "cohesion"
    assert paper.origins["set.segmenter.cut_at"] == "preset paper"
    other = resolve({"preset": "paper", "segmenter": "paragraphs"}, environment={})
    assert other.plugins == {}
    mine = resolve({"preset": "paper"}, {"segmenter.cut_at": "likeness"}, environment={})
    assert mine.plugins["segmenter.cut_at"] == "likeness"


# -- the bundled sample --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("lang", sample.WHOLE)
def test_a_store_knows_where_the_articles_of_its_stream_turn(
    open_wire: Callable[..., Wire], lang: str
) -> None:
    wire = open_wire(segmenter="cohesion", lang=lang)
    wire.ingest(sample.lines(lang))
    marks: dict[str, list[tuple[int, str]]] = {}
    for uid, start, _, subject in sample.gold_of_paragraphs(lang):
        marks.setdefault(uid, []).append((start, subject))
    cohesion = load_plugins(only_own=True).make("segmenter", "cohesion")
    lexicon = wire.read(networks.read_lexicon)
    network = wire.read(lambda kept: networks.read_network(kept, lang, uses=used_by(cohesion)))
    right = wanted = found = whole = n_whole = 0
    items = {
        i["id"]: Document(i["id"], i["title"], i["text"], lang=lang) for i in sample.lines(lang)
    }
    for annotation in wire.factory.learning().annotator.annotate(items.values(), lexicon):
        subjects = marks[annotation.document.uid]
        turns = {b[0] for a, b in pairwise(subjects) if a[1] != b[1]}
        cuts = {unit.start for unit in cohesion.segment(annotation, network)} - {0}
        if turns:
            right, wanted, found = right + len(turns & cuts), wanted + len(turns), found + len(cuts)
        else:
            n_whole, whole = n_whole + 1, whole + (not cuts)
    assert 2 * right / (wanted + found) >= 0.8
    assert whole / n_whole >= 0.95


@pytest.mark.slow
def test_the_units_that_an_ingest_of_the_sample_stores_end_where_the_subject_turns(
    tmp_path: Path,
) -> None:
    with Wire(tmp_path / "s.db", resolve({}, environment={})) as wire:
        for lang in sample.WHOLE:
            wire.ingest(sample.lines(lang))
        rows = wire.read(lambda store: list(documents.iterate_assignments(store)))
    begins: dict[str, set[int]] = {}
    for row in rows:
        begins.setdefault(row["document"], set()).add(row["start"])
    for lang in sample.WHOLE:
        paragraphs: dict[str, list[tuple[int, str]]] = {}
        for uid, start, _, subject in sample.gold_of_paragraphs(lang):
            paragraphs.setdefault(uid, []).append((start, subject))
        right = wanted = found = 0
        whole = []
        for uid, marks in paragraphs.items():
            turns = {b[0] for a, b in pairwise(marks) if a[1] != b[1]}
            cuts = begins[uid] - {min(begins[uid])} if uid in begins else set()
            if turns:
                right, wanted, found = right + len(turns & cuts), wanted + 1, found + len(cuts)
            elif uid in begins:
                whole.append(not cuts)
        assert 2 * right / (wanted + found) >= 0.8
        assert np.mean(whole) >= 0.98
