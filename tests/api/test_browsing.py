"""What pages ask of a store agrees with the other calls, and follows its runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

import segapsith
from segapsith.api.browsing import kept
from segapsith.api.browsing.metrics import metrics_text, write_metrics
from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import MissingInputError, QueryTimeoutError, UsageError
from segapsith_store.queries import nights
from segapsith_store.queries.browsing.story_search import StoryQuery


@pytest.fixture
def wire(open_wire: Callable[..., Wire]) -> Wire:
    wire = open_wire(lang="en")
    wire.ingest(sample.lines("en")[:80])
    wire.topics(limit=0)
    return wire


def test_a_domain_is_the_one_that_show_returns(wire: Wire) -> None:
    for listed in wire.domains(limit=3):
        page, shown = wire.browse.domain(listed.id), wire.domains.show(listed.id)
        assert page.words == shown.words and page.days == shown.days
        assert page.trend == shown.trend and page.topic == shown.topic
        assert page.near == shown.near and page.history == shown.history


def test_an_earlier_domain_has_the_words_of_then(wire: Wire) -> None:
    largest = wire.domains(limit=2)
    wire.domains.merge([one.id for one in largest])
    for before in largest:
        page = wire.browse.domain(before.id, as_of=1)
        assert page.lifetime.units == before.units
        assert page.words[:10] == before.words[:10]
    with pytest.raises(MissingInputError, match="merged into"):
        wire.browse.domain(max(one.id for one in largest))


def test_columns_follow_every_run(wire: Wire) -> None:
    before = len(wire.browse.activity().units)
    assert wire.browse.activity() is wire.browse.activity()
    wire.ingest(sample.lines("en")[80:100])
    assert len(wire.browse.activity().units) > before
    wire.runs.undo()
    assert len(wire.browse.activity().units) == before


def test_columns_of_the_state_that_is_shown_stay_while_a_newer_one_is_read(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = wire.browse.activity()
    wire.browse.show(shown.state)
    newer = kept.StoreState(shown.state.run + 1, "running", 5)
    state = newer
    monkeypatch.setattr(kept, "read_state", lambda store: state)
    first = wire.browse.activity()
    assert first is not shown and wire.browse.activity() is first
    state = shown.state
    assert wire.browse.activity() is shown
    wire.browse.show(newer)
    state = newer
    assert wire.browse.activity() is first
    state = shown.state
    assert wire.browse.activity() is not shown, "it was discarded"


def test_forgotten_and_undone_stories_are_not_counted(wire: Wire) -> None:
    query = StoryQuery(lang="en")
    before = wire.browse.search(query).total
    wire.ingest(sample.lines("en")[80:90])
    assert wire.browse.search(query).total == before + 10
    wire.runs.undo()
    assert wire.browse.search(query).total == before
    wire.forget(wire.browse.search(query).stories[0].id)
    assert wire.browse.search(query).total == before - 1


def test_topics_are_those_of_the_list(wire: Wire) -> None:
    listed = wire.topics(regroup=False, top=12)
    assert list(wire.browse.topics(1000)) == listed and wire.browse.n_topics() == len(listed)
    assert wire.browse.topic(listed[-1].id) == listed[-1]
    assert wire.browse.topic_of(listed[0].domains[0]) == listed[0].id
    with pytest.raises(MissingInputError, match="no topic"):
        wire.browse.topic(10**6)


def test_a_timeline_adds_up_to_the_units(wire: Wire) -> None:
    largest = wire.domains(limit=2)
    series = wire.browse.timeline(domains=[one.id for one in largest], by="month")
    for one, domain in zip(series.series, largest, strict=True):
        assert sum(one.units) == domain.units - domain.undated
    assert wire.browse.timeline().series
    assert wire.browse.timeline(since="2100-01-01").starts == []
    with pytest.raises(MissingInputError, match="no domain"):
        wire.browse.timeline(domains=[10**6])


def test_a_word_has_the_domains_with_it(wire: Wire) -> None:
    domain = wire.domains(limit=1)[0]
    page = wire.browse.word("en", domain.words[0].word)
    assert domain.id in [one.id for one in page.domains] and page.word.documents > 0
    with pytest.raises(MissingInputError, match="no story has"):
        wire.browse.word("en", "xyzzy")


def test_a_search_may_be_limited_to_domains_and_to_new_documents(wire: Wire) -> None:
    domain = wire.domains.show(wire.domains(limit=1)[0].id)
    hits = wire.browse.search(StoryQuery(), domains=[domain.id], limit=100)
    assert {hit.id for hit in hits.stories} == set(domain.document_ids)
    newest = wire.browse.newest_document()
    assert wire.browse.search(StoryQuery(), after=newest).total == 0
    assert wire.browse.search(StoryQuery(), after=newest - 1).total == 1


def test_domains_with_words_are_those_of_the_search(wire: Wire) -> None:
    words = [word.word for word in wire.domains(limit=1)[0].words[:3]]
    for query in (*words, " ".join(words[:2]), "nowhere"):
        expected = wire.search(query, 50, documents=False).domains
        assert wire.browse.domains_with(query, 50) == list(expected)


def test_the_preview_of_a_merge_is_what_a_merge_gives(wire: Wire) -> None:
    first, second = (one.id for one in wire.domains(limit=2))
    preview = wire.browse.merge_preview([first, second])
    merged = wire.domains.merge([first, second])
    assert preview.words == wire.domains.show(merged.domain).words[:20]
    with pytest.raises(MissingInputError, match="no domain"):
        wire.browse.merge_preview([first, 10**6])


def test_the_preview_of_a_split_is_what_a_split_gives(wire: Wire) -> None:
    largest = wire.domains(limit=1)[0].id
    preview = wire.domains.split_preview(largest, parts=2)
    parts = wire.domains.split(largest, parts=2).parts
    assert [len(part.units) for part in preview] == [part.units for part in parts]
    assert [wire.domains.show(part.id).words[:12] for part in parts] == [p.words for p in preview]


def test_a_unit_is_moved_and_back(wire: Wire) -> None:
    before = wire.status().digest
    first, second = wire.domains(limit=2)
    unit = wire.domains.show(first.id).unit_ids[0]
    moved = wire.domains.move(unit, second.id)
    assert moved.source == first.id and wire.explain(unit).domain.id == second.id
    assert not wire.verify().faults
    wire.runs.undo()
    assert wire.status().digest == before


def test_a_query_that_takes_too_long_is_stopped(wire: Wire) -> None:
    wire.close()
    reader = Wire(wire.path)
    reader.read_seconds = 0.0
    with pytest.raises(QueryTimeoutError, match="too long"):
        reader.read(lambda store: store.number(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000000)"
            " SELECT count(*) FROM n"
        ))  # fmt: skip


# -- tables ---------------------------------------------------------------------------------

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}
UNITS = [
    {"id": f"{word}{n}", "date": "2026-03-01", "words": {word: 2, other: n}}
    for n in (1, 2, 3)
    for word, other in (("river", "flood"), ("party", "vote"))
]


@pytest.mark.parametrize("library", KINDS)
@pytest.mark.parametrize(
    "what",
    ["domains", "units", "stories", "topics", "sections", "events", "days", "validations"],
)
def test_every_subject_is_a_table_of_the_chosen_library(what: str, library: str) -> None:
    with segapsith.open(":memory:", duplicate_window=0) as wire:
        wire.learn(UNITS)
        table = wire.frame(what, library)
        assert isinstance(table, KINDS[library])
        n_rows = {"domains": 2, "units": 6, "stories": 6, "events": 2, "days": 2}.get(what)
        assert n_rows is None or (table.num_rows if library == "pyarrow" else len(table)) == n_rows


def test_pandas_comes_first_and_others_follow_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with segapsith.open(":memory:", duplicate_window=0) as wire:
        wire.learn(UNITS)
        assert list(wire.frame("days")["units"]) == [3, 3]
        monkeypatch.setitem(sys.modules, "pandas", None)
        assert isinstance(wire.frame("domains"), pl.DataFrame)
        with pytest.raises(UsageError, match=r"pip install segapsith\[frames\]"):
            wire.frame("domains", "pandas")


def test_a_wrong_name_is_named() -> None:
    with segapsith.open(":memory:", duplicate_window=0) as wire:
        with pytest.raises(UsageError, match="'cats'"):
            wire.frame("cats")
        with pytest.raises(UsageError, match="'excel'"):
            wire.frame("domains", "excel")


def _figures(text: str) -> dict[tuple[str, str], float]:
    return {
        (sample.name.removeprefix("segapsith_"), ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_without_a_night_have_the_counts(wire: Wire) -> None:
    figures = _figures(wire.read(lambda store: metrics_text(store, stable=15)))
    assert figures["documents", ""] == wire.status().documents
    assert figures["build_info", segapsith.__version__] == 1
    assert not any(name.startswith("night_") for name, _ in figures)


def test_metrics_escape_labels_and_leave_out_what_a_night_did_not_reach(wire: Wire) -> None:
    number = nights.begin(wire.writer, "2026-03-02", "2026-03-02T02:30:00+00:00")
    begun = _figures(wire.read(lambda store: metrics_text(store, stable=15)))
    assert begun["night_started_timestamp_seconds", ""] == 1772418600
    assert ("night_exit_code", "") not in begun
    step = {"step": 'a "b"\n\\', "seconds": 1.5, "code": 69}
    figures = {"new": 3, "kappa": None, "languages": {"en": 3}}
    nights.end(
        wire.writer, number, "2026-03-02T02:31:00+00:00", 69, "", figures,
        {"steps": [step], "alarms": []},
    )  # fmt: skip
    ended = _figures(wire.read(lambda store: metrics_text(store, stable=15)))
    assert ended["night_step_seconds", step["step"]] == 1.5
    assert ended["night_step_failed", step["step"]] == 1
    assert ended["night_exit_code", ""] == 69 and ended["night_new", ""] == 3
    assert ended["night_language_stories", "en"] == 3
    assert ("night_kappa", "") not in ended


def test_a_metrics_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "segapsith.prom"
    write_metrics("a 1\n", path)
    write_metrics("a 2\n", path)
    assert path.read_text() == "a 2\n" and [p.name for p in tmp_path.iterdir()] == [path.name]
    with pytest.raises(OSError):
        write_metrics("a 1\n", tmp_path / "missing" / "a.prom")


def test_a_wire_a_domain_and_a_validation_are_tables_in_a_notebook(
    wire: Wire, open_wire: Callable[..., Wire]
) -> None:
    assert f"<td>{wire.status().documents:,}</td>" in wire._repr_html_()
    largest = wire.domains(limit=1)[0]
    wire.domains.rename(largest.id, "<b>storm</b>")
    shown = wire.domains(limit=1)[0]._repr_html_()
    assert "&lt;b&gt;storm" in shown and "<b>" not in shown and largest.words[0].word in shown
    validation = wire.validate(min_units=2, stability=0)
    assert f"Validation of run {validation.run}" in validation._repr_html_()
    assert "error" in Wire("no/such.db")._repr_html_()
