"""News are what arrived; merges, splits and moves are told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import segapsith
from segapsith.api.wire import Wire
from segapsith.cli import domains
from segapsith.cli.output import Output
from segapsith_store.queries import news

OpenWire = Callable[..., Wire]
Command = Callable[..., tuple[int, str, str]]


def bags(name: str, words: str, size: int, day: str | None = "2026-03-01") -> list[dict[str, Any]]:
    dated = {} if day is None else {"date": day}
    one, two = words.split()
    return [
        {"id": f"{name}{i}", **dated, "words": {one: ord(name[0]), two: 1 + i}} for i in range(size)
    ]  # fmt: skip


def by_word(wire: Wire) -> dict[str, int]:
    """Domains by the word that all of their units have."""
    return {w["word"]: d["id"] for d in wire.domains() for w in d["words"]}


def changes(wire: Wire, run: int) -> dict[str, Any]:
    found: dict[str, Any] = wire.read(lambda store: news.read_news(store, run))
    return found


@pytest.fixture
def wire(open_wire: OpenWire) -> Wire:
    """Three domains of one run."""
    wire = open_wire(duplicate_window=0)
    wire.learn([*bags("r", "river flood", 30), *bags("s", "strike union", 20),
                *bags("b", "bank loan", 10)])  # fmt: skip
    return wire


def test_a_merge_is_no_news(wire: Wire) -> None:
    run = wire.runs()[0]["id"]
    known = by_word(wire)
    wire.learn(bags("n", "river flood", 6, "2026-03-02"))
    wire.domains.merge([known["strike"], known["bank"]])
    found = changes(wire, run)
    assert (found["units_since"], found["stories_since"], found["units_before"]) == (6, 6, 60)
    assert [d["id"] for d in found["growing"]] == [known["river"]]
    assert (found["growing"][0]["before"], found["growing"][0]["after"]) == (30, 6)
    assert found["new"] == []
    (merge,) = found["rearranged"]["merges"]
    assert (merge["sources"], merge["units"]) == ([known["bank"]], 10)
    assert found["rearranged"]["moved"] == 0


def test_only_a_merge_means_nothing_arrived(wire: Wire) -> None:
    run = wire.runs()[0]["id"]
    known = by_word(wire)
    wire.domains.merge([known["strike"], known["bank"]])
    found = changes(wire, run)
    assert found["units_since"] == 0
    assert not (found["new"] or found["growing"] or found["fading"])
    wire.runs.undo()
    assert changes(wire, run)["rearranged"]["n_merges"] == 0


def test_the_parts_of_a_split_are_not_new(wire: Wire) -> None:
    known = by_word(wire)
    wire.domains.merge([known["strike"], known["bank"]])
    run = wire.runs()[0]["id"]
    done = wire.domains.split(known["strike"])
    found = changes(wire, run)
    assert found["counts"] == {"new": 0, "growing": 0, "fading": 0}
    (split,) = found["rearranged"]["splits"]
    assert [part["id"] for part in split["parts"]] == [part["id"] for part in done["parts"]]


def test_what_stories_founded_since_is_new(wire: Wire) -> None:
    run = wire.runs()[0]["id"]
    wire.learn(bags("w", "wheat harvest", 4, "2026-03-02"))
    found = changes(wire, run)
    assert [(d["id"], d["after"]) for d in found["new"]] == [(by_word(wire)["wheat"], 4)]
    assert wire.read(lambda store: news.count_new_domains(store, run)) == 1


def test_one_unit_is_no_growth(wire: Wire) -> None:
    run = wire.runs()[0]["id"]
    wire.learn(bags("n", "bank loan", 1, "2026-03-02"))
    assert changes(wire, run)["growing"] == []


def test_a_correction_is_not_a_new_story(wire: Wire) -> None:
    run = wire.runs()[0]["id"]
    wire.learn([{"id": "b0", "date": "2026-03-01", "words": {"bank": 5, "loan": 1}}])
    found = changes(wire, run)
    assert (found["units_since"], found["rearranged"]["corrected"]) == (0, 1)


# -- the list ------------------------------------------------------------------------------------


def test_since_a_run_lists_what_took_stories_after_it(wire: Wire) -> None:
    run = wire.runs()[0]["id"]
    known = by_word(wire)
    wire.learn(bags("old", "river flood", 2, "1987-10-19"))
    wire.domains.merge([known["strike"], known["bank"]])
    listed = wire.domains(since=run)
    assert [(d["id"], d["units_since"]) for d in listed] == [(known["river"], 2)]
    assert len(wire.domains(since=str(run))) == 1
    assert len(wire.domains(since=0)) == len(wire.domains())


def test_since_a_date_counts_undated_stories_when_they_were_read(wire: Wire) -> None:
    known = by_word(wire)
    wire.learn(bags("u", "river flood", 2, None))
    (run,) = (r["started_at"][:10] for r in wire.runs()[:1])
    assert [(d["id"], d["units_since"]) for d in wire.domains(since=run)] == [(known["river"], 2)]


def test_undated_units_are_counted_apart(wire: Wire) -> None:
    wire.learn([*bags("u", "river flood", 2, None), *bags("x", "wheat harvest", 3, None)])
    known = by_word(wire)
    listed = {d["id"]: d for d in wire.domains()}
    assert listed[known["river"]]["undated"] == 2
    assert wire.domains.show(known["river"])["undated"] == 2
    assert listed[known["wheat"]]["trend"]["state"] == "undated"
    assert wire.status()["undated"] == 5


# -- stable --------------------------------------------------------------------------------------


def test_status_counts_stable_domains_by_the_setting(wire: Wire, open_wire: OpenWire) -> None:
    assert wire.status()["stable_domains"] == 2
    assert open_wire(stable=25).status()["stable_domains"] == 1
    assert open_wire(stable=10).status()["stable_domains"] == 3
    page = open_wire(stable=25).report()
    assert "(at least 25 units)</span></dt><dd>1</dd>" in page


# -- what is printed -----------------------------------------------------------------------------


def test_the_report_tells_arrivals_and_rearrangements_apart(wire: Wire) -> None:
    run = wire.runs()[0]["id"]
    known = by_word(wire)
    wire.learn(bags("n", "river flood", 6, "2026-03-02"))
    wire.domains.merge([known["strike"], known["bank"]])
    page = wire.report(since=run)
    assert f"6 units of 6 new stories since run {run}; 60 units before" in page
    assert "1 domain merged into 1 other" in page
    assert "36 units" not in page.split('id="map"')[0].split('id="changes"')[1]


def test_a_gap_is_named_on_the_page_and_in_the_terminal(
    command: Command, open_wire: OpenWire
) -> None:
    with open_wire(duplicate_window=0) as wire:
        wire.learn(bags("o", "river flood", 12, "1987-10-19"))
        wire.learn([*bags("n", "strike union", 12), *bags("u", "strike union", 2, None)])
        strike = by_word(wire)["strike"]
        page = wire.report()
    assert page.count("38 years without stories //") == 2
    assert "2 undated" in page
    _, out, _ = command("show", str(strike), "--store", "wire.db")
    assert "(new, 2 undated)" in out
    _, out, _ = command("domains", "--store", "wire.db")
    assert "┊" not in out and "new, 2 undated" in out


def test_the_list_on_a_terminal_has_bars_on_one_axis(
    open_wire: OpenWire, capsys: pytest.CaptureFixture[str]
) -> None:
    wire = open_wire(duplicate_window=0)
    wire.learn([*bags("o", "river flood", 12, "1987-10-19"), *bags("n", "strike union", 9)])
    domains._list(wire.domains(days=True), Output(), since=False, with_days=True)
    head, river, strike, axis = capsys.readouterr().out.splitlines()
    assert "days" in head
    assert "\t█┊ \tquiet" in river and "\t ┊█\tnew" in strike
    assert axis == "days: 1987-10-19, 38 years without stories, 2026-03-01 (marked ┊)"


FLOOD = "The river flood closed roads and the mayor asked for sandbags along the embankment. "
FILM = "The film festival gave its award to the actress and the director of the comedy. "


def ingest_stories(wire: Wire, first: int, n: int, text: str, title: str, day: str) -> None:
    wire.ingest(
        [
            {"id": f"{k}", "title": f"{title} {k}", "text": text * 4, "date": f"2026-03-{day}"}
            for k in range(first, first + n)
        ]
    )


def test_a_subject_that_begins_is_new_and_one_that_stops_is_falling() -> None:
    with segapsith.open(":memory:", lang="en", duplicate_window=0) as wire:
        ingest_stories(wire, 0, 12, FILM, "Festival gives film award to actress", "01")
        everything = wire.today()
        assert everything.since == 0
        assert [d.units for s in everything.sections for d in s.new] == [12]
        ingest_stories(wire, 20, 9, FLOOD, "River flood closes roads near town", "02")
        ingest_stories(wire, 40, 9, FLOOD, "Mayor inspects flood on the embankment", "03")
        for since in (1, "2026-03-02"):
            (section,) = wire.today(since).sections
            assert section.id is None and section.label
            assert [(d.units, d.before) for d in section.new] == [(18, 0)]
            assert [(d.units, d.before) for d in section.falling] == [(0, 12)]
            assert section.new[0].headline == section.new[0].label
        (section,) = wire.today("2026-03-03").sections
        assert [(d.units, d.before) for d in section.rising] == [(9, 9)]
        assert section.rising[0].headline.startswith("Mayor inspects flood")  # of that day
        assert section.rising[0].label.startswith("River flood closes")


def test_domains_are_in_their_sections_with_rising_topics_first() -> None:
    with segapsith.open(":memory:", lang="en", duplicate_window=0) as wire:
        ingest_stories(wire, 0, 12, FILM, "Festival gives film award to actress", "01")
        ingest_stories(wire, 20, 9, FLOOD, "River flood closes roads near town", "02")
        wire.sections()
        today = wire.today("2026-03-02")
        labels = {section.id: section.label for section in wire.sections(regroup=False)}
        assert {s.id: s.label for s in today.sections if s.id}.items() <= labels.items()
        assert all(t.units for s in today.sections for t in s.topics)


def test_an_empty_store_has_nothing_new() -> None:
    with segapsith.open(":memory:") as wire:
        today = wire.today()
        assert today.sections == [] and today.units == 0
