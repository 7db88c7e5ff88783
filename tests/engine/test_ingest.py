"""The line from documents to domains: once each, exactly, however it is cut."""

from __future__ import annotations

import gc
import itertools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from segapsith.api.wire import KeyedItems, Wire
from segapsith.demo import sample
from segapsith.engine.ingest import BAGS, batches
from segapsith.engine.runs import collector_paused
from segapsith.errors import MissingInputError, PluginError, SettingError, UsageError
from segapsith.model import Document, EndOfBatch, FeedState, Item, Positioned, document_of
from segapsith.plugin import guards
from segapsith.plugin.registry import load_plugins
from segapsith.settings import SETTINGS, resolve
from segapsith_store.queries.documents import iterate_assignments, iterate_documents

OpenWire = Callable[..., Wire]

STORY = (
    "The harbour master of Port Albers closed the northern quay on Monday after divers found a"
    " crack in the sea wall that runs for forty metres below the water line.\n\n"
    "Engineers sent by the regional council will measure the damage with sonar before any ship is"
    " allowed to moor there again, and fishermen were told to land their catch at Sarnac instead.\n\n"
    "Insurance surveyors estimate that repairs could last until autumn because the stone has to be"
    " cut in a quarry abroad and brought in by barge when the weather is calm enough."
)
BRIEF = STORY.partition("\n\n")[0]

TEXTS = [
    STORY,
    BRIEF,
    STORY.replace("Monday", "Tuesday").replace("fishermen", "trawlers"),
    f"CORRECTED: quay closed\n\n{STORY.replace('forty', 'fifty').replace('Sarnac', 'Brassanne')}",
    "The river rose and the flood reached the town below the dam.",
    "The flood left the town; the river is falling below the dam.",
    "Union drivers strike again and the trains stop at the station.",
    "The strike of the drivers ends; trains run, the union says.",
    "The bank raised interest rates because inflation stays high.",
    "Inflation fell, so the central bank may cut interest rates.",
    "The jury found the accused guilty of murder after a long trial.",
    "Trial opens: the accused denies the murder before the jury.",
    "Une crue de la rivière inonde la ville et le barrage menace.",
    "Le syndicat annonce une grève des conducteurs de train.",
]

documents = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from("abcdefgh"), "text": st.sampled_from(TEXTS)},
        optional={"source": st.sampled_from(["north", "south"])},
    ),
    max_size=30,
)


def memory(**chosen: Any) -> Wire:
    return Wire(":memory:", resolve(chosen, {"min_words": 3}, environment={}))


def digest(wire: Wire) -> str:
    return str(wire.status()["digest"])


def check_sound(wire: Wire) -> None:
    verdict = wire.verify()
    assert verdict.sound, verdict.faults


def cut(items: list[Any], cuts: list[int]) -> Iterator[list[Any]]:
    edges = sorted({0, *(c % (len(items) + 1) for c in cuts), len(items)})
    for first, last in itertools.pairwise(edges):
        yield items[first:last]


@pytest.mark.slow
@given(documents, st.lists(st.integers(0, 40), max_size=5), st.integers(1, 7))
@settings(deadline=None, max_examples=25)
def test_cutting_the_stream_does_not_matter(
    items: list[dict[str, str]], cuts: list[int], batch_size: int
) -> None:
    with memory() as whole, memory(batch_size=batch_size) as parts:
        whole.ingest(items)
        for part in cut(items, cuts):
            parts.ingest(part)
        assert digest(whole) == digest(parts)
        check_sound(parts)


def position(url: str, place: str) -> FeedState:
    return FeedState(url, "2026-03-02T00:00:00+00:00", etag=place)


def test_a_position_is_stored_with_the_batch_that_has_its_item() -> None:
    documents = [Document(str(number), body="Flood.") for number in range(6)]
    north = [Positioned(one, position("redis://north", one.uid)) for one in documents]
    south = [Positioned(one, position("redis://south", one.uid)) for one in documents]
    items: list[Item] = [*north[:5], EndOfBatch(), EndOfBatch(), north[5], *south[:1], documents[0]]
    items += [position("https://x.example", "v")]
    cuts = [
        ([item.uid for item in batch if isinstance(item, Document)], state and state.etag)
        for batch, state in batches(items, 3)
    ]
    assert cuts == [
        (["0", "1", "2"], "2"), (["3", "4"], "4"), (["5"], "5"), (["0"], "0"), (["0"], "v"),
    ]  # fmt: skip


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(items=documents, ends=st.lists(st.integers(0, 30), max_size=6))
def test_where_a_batch_ends_in_between_does_not_matter(
    items: list[dict[str, str]], ends: list[int]
) -> None:
    whole, followed = memory(), memory()
    whole.ingest(items)
    stream: list[Item] = [document_of(item) for item in items]
    for end in sorted(ends, reverse=True):
        stream.insert(end, EndOfBatch())
    followed.ingest(KeyedItems("", stream))
    assert digest(followed) == digest(whole)


def test_a_copy_follows_the_earliest_story_that_has_its_text_now() -> None:
    items = [
        {"id": uid, "text": TEXTS[text]} for uid, text in (("b", 5), ("a", 6), ("b", 6), ("c", 6))
    ]
    with memory() as whole, memory(batch_size=1) as parts:
        whole.ingest(items)
        parts.ingest(items)
        assert digest(whole) == digest(parts)


@pytest.mark.slow
@given(documents, documents)
@settings(deadline=None, max_examples=25)
def test_again_and_overlapping_changes_nothing(
    first: list[dict[str, str]], second: list[dict[str, str]]
) -> None:
    with memory() as wire:
        wire.ingest(first)
        wire.ingest(second)
        before = digest(wire)
        for again in (first, second, first[::2]):
            summary = wire.ingest(again)
            assert (summary.new, summary.corrected) == (0, 0)
            assert summary.duplicate == summary.read == len(again)
        assert digest(wire) == before


@pytest.mark.slow
@given(documents, documents, st.integers(1, 7))
@settings(deadline=None, max_examples=25)
def test_undo_brings_back_what_was(
    first: list[dict[str, str]], second: list[dict[str, str]], batch_size: int
) -> None:
    with memory(batch_size=batch_size) as wire:
        wire.ingest(first)
        before = digest(wire)
        wire.ingest(second)
        wire.runs.undo()
        assert digest(wire) == before
        check_sound(wire)


@pytest.mark.slow
@given(documents, st.lists(st.sampled_from("abcdefgh"), max_size=6))
@settings(deadline=None, max_examples=25)
def test_forgetting_leaves_a_sound_store(items: list[dict[str, str]], gone: list[str]) -> None:
    with memory() as wire:
        wire.ingest(items)
        known = {item["id"] for item in items}
        for uid in gone:
            if uid not in known:
                with pytest.raises(MissingInputError):
                    wire.forget(uid)
                continue
            wire.forget(uid)
            known.discard(uid)
            check_sound(wire)
        found = {row["id"] for row in wire.read(lambda store: list(iterate_documents(store)))}
        assert found == known


def test_a_correction_replaces_its_predecessor(open_wire: OpenWire) -> None:
    wire = open_wire(segmenter="none")
    wire.ingest([{"id": "1", "text": TEXTS[4]}, {"id": "2", "text": TEXTS[8]}])
    summary = wire.ingest([{"id": "1", "text": TEXTS[6]}])
    assert (summary.new, summary.corrected) == (0, 1)
    words = {w["word"] for d in wire.domains(top=None) for w in d["words"]}
    assert "strike" in words
    assert "river" not in words
    assert wire.status()["documents"] == 2
    check_sound(wire)
    assert wire.ingest([{"id": "1", "text": TEXTS[4]}]).duplicate == 1  # an old text is no news


def test_a_brief_of_a_story_counts_once(open_wire: OpenWire) -> None:
    wire = open_wire()
    summary = wire.ingest([{"id": "1", "text": STORY}, {"id": "2", "text": BRIEF}])
    assert (summary.new, summary.duplicate) == (1, 1)
    rows = wire.read(lambda store: list(iterate_assignments(store)))
    assert len({r["domain"] for r in rows if r["document"] == "2"}) == 1


def test_a_fuller_copy_takes_the_place_of_its_brief(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest([{"id": "1", "text": BRIEF}, {"id": "2", "text": BRIEF}])
    before = digest(wire)
    summary = wire.ingest([{"id": "3", "text": STORY}])
    assert (summary.new, summary.duplicate) == (0, 1)
    assert wire.status()["documents"] == 1
    words = {w["word"] for d in wire.domains(top=None) for w in d["words"]}
    assert "quarry" in words
    check_sound(wire)
    wire.runs.undo()
    assert digest(wire) == before
    wire.ingest([{"id": "3", "text": STORY}])
    assert wire.forget("3")["successor"] == "1"
    check_sound(wire)


def test_a_correction_under_another_id_replaces_what_it_corrects(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest([{"id": "1", "title": "Quay closed", "text": STORY}])
    summary = wire.ingest(
        [
            {
                "id": "2",
                "title": "CORRECTED: Quay closed",
                "text": STORY.replace("forty metres", "50 metres").replace("Sarnac", "Brassanne"),
            }
        ]
    )
    assert (summary.new, summary.corrected) == (0, 1)
    assert wire.status()["documents"] == 1
    words = {w["word"] for d in wire.domains(top=None) for w in d["words"]}
    assert "sarnac" not in words
    assert "brassanne" in words
    check_sound(wire)


def test_a_withdrawn_story_is_not_learned_from(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest([{"id": "1", "title": "Quay closed", "text": STORY}, {"id": "2", "text": TEXTS[8]}])
    before = digest(wire)
    summary = wire.ingest(
        [
            {"id": "3", "title": "WITHDRAWN: Quay closed", "text": STORY},
            {"id": "2", "title": "KILL: rates", "text": "Do not use the story on interest rates."},
        ]
    )
    assert (summary.new, summary.corrected, summary.units_kept) == (0, 2, 0)
    assert wire.domains() == []
    check_sound(wire)
    wire.runs.undo()
    assert digest(wire) == before


def test_without_a_window_only_equal_texts_are_copies(open_wire: OpenWire) -> None:
    wire = open_wire(duplicate_window=0)
    items = [{"id": "1", "text": STORY}, {"id": "2", "text": BRIEF}, {"id": "3", "text": STORY}]
    summary = wire.ingest(items)
    assert (summary.new, summary.duplicate) == (2, 1)


def test_the_same_text_under_another_id_counts_once(open_wire: OpenWire) -> None:
    wire = open_wire(segmenter="none")
    wire.ingest([{"id": "1", "text": TEXTS[4], "source": "north"}])
    summary = wire.ingest([{"id": "2", "text": TEXTS[4] + "\n", "source": "south"}])
    assert (summary.new, summary.duplicate) == (0, 1)
    assert wire.status()["documents"] == 1
    assert wire.domains()[0]["units"] == 1
    rows = wire.read(lambda store: list(iterate_assignments(store)))
    assert [(r["document"], r["domain"]) for r in rows] == [("1", 1), ("2", 1)]


def test_the_earliest_copy_takes_the_place_of_a_forgotten_story(open_wire: OpenWire) -> None:
    wire = open_wire(segmenter="none")
    wire.ingest([{"id": uid, "text": TEXTS[4]} for uid in "abc"])
    result = wire.forget("a")
    assert result["successor"] == "b"
    rows = wire.read(lambda store: list(iterate_assignments(store)))
    assert [(r["document"], r["domain"]) for r in rows] == [("b", 1), ("c", 1)]
    assert wire.status()["documents"] == 1
    check_sound(wire)


def test_a_forgotten_text_is_not_in_the_file(open_wire: OpenWire, tmp_path: Any) -> None:
    wire = open_wire()
    wire.ingest([{"id": "1", "text": "Zanzibarland declared xylophonists secret."}])
    wire.forget("1")
    wire.close()
    content = b"".join(path.read_bytes() for path in tmp_path.glob("wire.db*"))
    assert b"declared xylophonists" not in content


def test_what_is_forgotten_cannot_come_back(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest([{"id": "1", "text": TEXTS[4]}, {"id": "2", "text": TEXTS[6]}])
    wire.forget("1")
    with pytest.raises(UsageError, match="cannot come back"):
        wire.runs.undo()
    wire.runs.undo(1)
    assert wire.status()["documents"] == 0
    check_sound(wire)


def test_undo_is_last_in_first_out(open_wire: OpenWire) -> None:
    wire = open_wire()
    for number, text in enumerate(TEXTS[4:7]):
        wire.ingest([{"id": str(number), "text": text}])
    with pytest.raises(UsageError, match="run 3 comes first"):
        wire.runs.undo(1)
    assert [wire.runs.undo()["run"] for _ in range(3)] == [3, 2, 1]
    with pytest.raises(UsageError, match="no run to undo"):
        wire.runs.undo()


def test_numbers_are_never_used_again(open_wire: OpenWire) -> None:
    wire = open_wire(segmenter="none")
    wire.ingest([{"id": "1", "text": TEXTS[4]}])
    wire.runs.undo()
    wire.ingest([{"id": "1", "text": TEXTS[4]}])
    assert [d["id"] for d in wire.domains()] == [2]
    assert wire.read(lambda store: store.number("SELECT min(id) FROM units")) == 2


def test_languages_never_mix(open_wire: OpenWire) -> None:
    wire = open_wire(segmenter="none")
    words = "Action nation station protection transport"
    wire.ingest(
        [
            {"id": "1", "text": words, "lang": "en"},
            {"id": "2", "text": words + " important", "lang": "fr"},
        ]
    )
    assert sorted(d["lang"] for d in wire.domains()) == ["en", "fr"]


def test_labels_never_enter_learning(open_wire: OpenWire) -> None:
    items = sample.lines("en")[:60]
    plain, labelled = open_wire("plain.db"), open_wire("labelled.db")
    plain.ingest(items)
    labelled.ingest([{**item, "labels": ["x"], "topic": "y"} for item in items])
    rows = [w.read(lambda store: list(iterate_assignments(store))) for w in (plain, labelled)]
    assert rows[0] == rows[1]


@pytest.mark.slow
def test_a_dry_run_changes_nothing_and_tells_the_same(open_wire: OpenWire) -> None:
    wire = open_wire()
    wire.ingest(sample.lines("en")[:50])
    before = digest(wire)
    told = wire.ingest(sample.lines("en"), dry_run=True)
    assert digest(wire) == before
    done = wire.ingest(sample.lines("en"))
    for name in ("read", "new", "duplicate", "corrected", "units", "domains_new"):
        assert getattr(told, name) == getattr(done, name)


def test_bad_items_are_named_and_the_rest_goes_on(open_wire: OpenWire) -> None:
    wire = open_wire()
    summary = wire.ingest(
        [
            {"id": "1", "text": TEXTS[4]},
            {"id": "2", "text": "   "},
            {"id": "3", "text": ["a", "list"]},
            "not a document",  # type: ignore[list-item]  # wrong on purpose
            {"id": "x" * 2000, "text": TEXTS[5]},
            {"id": "4", "text": TEXTS[6]},
        ]
    )
    assert (summary.new, summary.rejected) == (2, 4)
    names = wire.read(lambda store: [name for (name,) in store.rows("SELECT name FROM rejects")])
    assert names[:3] == ["2", "3", "'not a document'"]


def test_strange_texts_are_taken(open_wire: OpenWire) -> None:
    wire = open_wire()
    texts = ["word", "\x00\ud800 odd", "😀 emoji only 😀", "a" * 5000, "12 34", "e\u0301te\u0301"]
    summary = wire.ingest([{"text": text} for text in texts])
    assert summary.new == len(texts)
    check_sound(wire)


def test_ready_units_are_learned(open_wire: OpenWire) -> None:
    wire = open_wire()
    summary = wire.learn(
        [
            {"id": "1", "words": {"river": 2, "flood": 1}},
            {"id": "2", "words": {"flood": 3, "river": 1}},
            {"id": "3", "words": {"strike": 1}},
            {"id": "4", "words": {"strike": 0}},
            {"id": "5", "text": "no words"},
        ]
    )
    assert (summary.new, summary.rejected, summary.domains_new) == (3, 2, 2)
    check_sound(wire)


class _Breaks:
    """An annotator that works until it does not."""

    def __init__(self, inner: Any, after: int) -> None:
        self.inner, self.after = inner, after

    def annotate(self, documents: Any, lexicon: Any) -> Iterator[Any]:
        for annotation in self.inner.annotate(documents, lexicon):
            self.after -= 1
            if self.after < 0:
                raise PluginError("annotator 'breaks': out of luck")
            yield annotation


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 1, 12, 25, 44])
def test_a_failing_plugin_loses_only_its_batch_and_the_same_input_goes_on(
    open_wire: OpenWire, after: int
) -> None:
    class Delivered:
        key = "the sample"

        def items(self) -> Any:
            from segapsith.model import document_of

            return map(document_of, sample.lines("en")[:45])

    whole = open_wire("whole.db", batch_size=10)
    expected = whole.ingest(Delivered())
    broken = open_wire("broken.db", batch_size=10)
    learning = broken.engine.components
    object.__setattr__(learning, "annotator", _Breaks(learning.annotator, after))
    with pytest.raises(PluginError):
        broken.ingest(Delivered())
    check_sound(broken)
    broken.close()
    resumed = open_wire("broken.db", batch_size=10)
    summary = resumed.ingest(Delivered())
    assert digest(resumed) == digest(whole)
    assert summary.run == 1
    for name in ("read", "new", "duplicate", "corrected", "units", "domains_joined", "domains_new"):
        assert getattr(summary, name) == getattr(expected, name)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_presets_learn_soundly_and_differently(open_wire: OpenWire, preset: str) -> None:
    wire = open_wire(f"{preset}.db", preset=preset)
    wire.ingest(sample.lines("en"))
    check_sound(wire)
    other = open_wire("other.db", preset="paper" if preset == "default" else "default")
    other.ingest(sample.lines("en"))
    assert digest(wire) != digest(other)


def test_occurrences_may_be_tokens_and_then_stay_tokens(open_wire: OpenWire) -> None:
    wire = open_wire(count="tokens")
    wire.ingest(sample.lines("en")[:60])
    check_sound(wire)
    wire.close()
    with pytest.raises(SettingError, match="does not fit this store"):
        open_wire(count="units").ingest(sample.lines("en"))


def test_the_paper_preset_shows_its_own_weights(open_wire: OpenWire) -> None:
    wire = open_wire(preset="paper")
    wire.ingest(sample.lines("en")[:60])
    shown = wire.domains(top=1, limit=1)[0]
    index = wire.engine.state.domains
    _, weights, _ = index.weights(shown["id"])
    assert shown["words"][0]["weight"] == pytest.approx(float(weights[0]), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("placement", ["cosine", "gvsm-cov"])
def test_any_similarity_places_and_resumes(open_wire: OpenWire, placement: str) -> None:
    items = sample.lines("en")[:90]
    whole = open_wire("whole.db", placement=placement)
    whole.ingest(items)
    parts = open_wire("parts.db", placement=placement)
    parts.ingest(items[:37])
    parts.close()
    again = open_wire("parts.db", placement=placement)
    again.ingest(items[37:])
    assert digest(again) == digest(whole)
    check_sound(whole)


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "fr"])
def test_the_sample_is_learned_better_than_by_a_plain_single_pass(
    open_wire: OpenWire, lang: str
) -> None:
    from segapsith.demo import agreement, baseline

    wire = open_wire()
    wire.ingest(sample.lines(lang))
    plain = baseline(wire, lang)["f1"]
    assert plain < 0.8
    assert agreement(wire, lang)["f1"] > plain


@pytest.mark.slow
@given(documents)
@settings(deadline=None, max_examples=5, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_depends_on_the_order_of_dictionaries(items: list[dict[str, str]]) -> None:
    with memory() as one, memory() as other:
        one.ingest(items)
        other.ingest([dict(reversed(item.items())) for item in items])
        assert digest(one) == digest(other)


def test_the_settings_say_how_many_ready_units_count_as_one_item() -> None:
    assert f"{BAGS} pre-segmented units count as one" in SETTINGS["batch_size"].about


ROOT = Path(__file__).parents[2]
FOLDERS = tuple(f"{ROOT / folder}{os.sep}" for folder in ("segapsith", "plugins", "store"))


@pytest.mark.parametrize("ending", ["", " Señor Müller’s café – «naïve»."], ids=["ascii", "latin"])
def test_a_warm_story_passes_few_modules(open_wire: OpenWire, ending: str) -> None:
    """Someone who follows one story through the program has to open these files, and no more."""
    wire = open_wire()
    stories = [{**story, "text": story["text"] + ending} for story in sample.lines("en")]
    wire.ingest(stories[:20])
    wire.ingest(stories[20:21])
    entered: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(FOLDERS):
            entered.add(str(Path(frame.f_code.co_filename).relative_to(ROOT)))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        wire.ingest(stories[21:22])
    finally:
        sys.setprofile(before)
    assert len(entered) <= 30, sorted(entered)


def test_the_library_leaves_the_garbage_collector_on(open_wire: OpenWire) -> None:
    collecting: list[bool] = []

    def stories() -> Iterator[Any]:
        for story in sample.lines("en")[:8]:
            collecting.append(gc.isenabled())
            yield story

    open_wire().ingest(stories())
    assert collecting == [True] * 8
    with collector_paused() as collect:
        assert not gc.isenabled()
        collect()
    assert gc.isenabled()


def test_the_library_leaves_the_alarm_signal_to_its_host(
    open_wire: OpenWire, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("the alarm signal belongs to the program")

    monkeypatch.setattr(guards, "time_limit", refused)
    assert open_wire().ingest(sample.lines("en")[:2]).new == 2
    limited = Wire(":memory:", resolve({}, environment={}), load_plugins(time_limits=True))
    with pytest.raises(AssertionError, match="alarm signal"):
        limited.ingest(sample.lines("en")[:2])
