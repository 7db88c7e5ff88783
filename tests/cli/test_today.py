"""What is new, rising and falling, as people and programs read it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segapsith.cli.today import MAX_COLUMNS, MAX_LINES, MAX_SECTIONS, lines_of
from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]


def _domains(n: int) -> list[dict[str, Any]]:
    return [{"id": i, "headline": "Storm reaches the coast " * 9, "units": i} for i in range(n)]


counts = st.integers(0, 12)


@given(st.lists(st.tuples(counts, counts, counts), max_size=30))
def test_the_text_has_at_most_40_lines_of_100_columns(sizes: list[tuple[int, int, int]]) -> None:
    sections = [
        {"id": n, "label": "storm, coast, flood " * 9, "units": 1 + n,
         "active": _domains(5), "topics": [], **{kind: _domains(size) for kind, size in zip(("new", "rising", "falling"), own, strict=True)}}
        for n, own in enumerate(sizes)
    ]  # fmt: skip
    today = {
        "since": 0, "at": None, "units": 99, "sections": sections,
        "counts": {"new": 1, "rising": 2, "falling": 3},
    }  # fmt: skip
    lines = lines_of(today)
    assert len(lines) <= MAX_LINES
    assert max(map(len, lines)) <= MAX_COLUMNS
    for section in sections[:MAX_SECTIONS]:
        if section["falling"]:
            assert any(line.startswith("  falling") for line in lines)


def test_the_line_of_a_section_names_its_rising_topics() -> None:
    topics = [
        {"label": "flood, river", "rising": True},
        {"label": "storm", "rising": True},
        {"label": "harbour", "rising": False},
    ]
    section = {"id": 1, "label": "weather", "units": 5, "topics": topics}
    section |= {kind: [] for kind in ("new", "rising", "falling", "active")}
    today = {
        "since": 3, "at": None, "units": 10, "sections": [section],
        "counts": {"new": 0, "rising": 0, "falling": 0},
    }  # fmt: skip
    assert lines_of(today)[1] == "weather · 50 % · rising: flood, river; storm"


@pytest.fixture
def stored(command: Command, tmp_path: Path) -> str:
    for n, stories in enumerate((sample.lines("en")[:60], sample.lines("en")[60:110])):
        file = tmp_path / f"{n}.jsonl"
        file.write_text("".join(json.dumps(story) + "\n" for story in stories), "utf-8")
        assert command("ingest", str(file), "--store", "w.db", "--quiet")[0] == 0
    return "w.db"


@pytest.mark.slow
def test_today_names_what_changed_by_section(command: Command, stored: str) -> None:
    assert command("sections", "--store", stored, "--quiet")[0] == 0
    code, out, _ = command("today", "--store", stored, "--json")
    today = json.loads(out)
    assert code == 0
    assert today["since"] == 1
    assert today["sections"]
    for section in today["sections"]:
        assert section["label"]
        for kind in ("new", "rising", "falling", "active"):
            assert all(domain["id"] and domain["headline"] for domain in section[kind])
    labels = [section["label"] for section in today["sections"]]
    assert len(set(labels)) == len(labels)
    code, text, _ = command("today", "--store", stored)
    assert code == 0 and text.startswith("since run 1")
    assert 1 < len(text.splitlines()) <= MAX_LINES


@pytest.mark.slow
def test_everything_is_new_since_the_beginning_and_in_a_store_of_one_ingest(
    command: Command, stored: str
) -> None:
    code, out, _ = command("today", "--since", "0", "--store", stored, "--json")
    today = json.loads(out)
    assert code == 0
    assert today["counts"]["rising"] == today["counts"]["falling"] == 0
    assert today["counts"]["new"] > 3
    sizes = [domain["units"] for domain in today["sections"][0]["new"]]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.slow
def test_a_date_counts_the_stories_since_that_day(command: Command, stored: str) -> None:
    code, out, _ = command("today", "--since", "2026-03-06", "--store", stored, "--json")
    today = json.loads(out)
    assert code == 0 and today["since"] == "2026-03-06"
    assert 0 < today["units"] < 130
    assert command("today", "--since", "someday", "--store", stored)[0] == 2
    assert command("today", "--since", "99", "--store", stored)[0] == 2
