"""The command `events`, and events in `show`, `export` and the report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.demo import sample

Answer = Callable[..., Any]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def learned(answer: Answer) -> Answer:
    answer("ingest", str(sample.path("en")))
    return answer


def test_events_are_listed_with_their_days_and_headlines(
    learned: Answer, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    events = learned("events", "--min-stories", "2", "--limit", "5")
    assert 0 < len(events) <= 5
    for event in events:
        assert event.keys() >= {"id", "domain", "label", "first", "last", "units", "closed"}
        assert event["stories"] >= 2
        assert event["label"]
    code, out, _ = command("events", "--min-stories", "2", "--limit", "5")
    assert code == 0
    assert all(str(event["id"]) in out for event in events)


def test_a_wrong_date_and_a_missing_domain_are_refused(learned: Answer, command: Command) -> None:
    assert command("events", "--since", "soon")[0] == 2
    code, _, err = command("events", "--domain", "9999")
    assert (code, "there is no domain 9999" in err) == (66, True)


def test_every_exported_unit_names_an_event_that_is_exported(
    learned: Answer, tmp_path: Path
) -> None:
    for what in ("events", "assignments"):
        learned("export", "--what", what, "--output", str(tmp_path / what))
    rows = {
        what: [json.loads(line) for line in (tmp_path / what).read_text("utf-8").splitlines()]
        for what in ("events", "assignments")
    }
    assert {row["event"] for row in rows["assignments"] if row["domain"] is not None} == {
        event["id"] for event in rows["events"]
    }
    assert rows["events"] == learned("events")


def test_show_and_the_report_have_events(learned: Answer, tmp_path: Path) -> None:
    (event, *_) = learned("events", "--min-stories", "2")
    assert event in learned("show", str(event["domain"]))["events"]
    learned("report", "--output", str(tmp_path / "report.html"))
    page = (tmp_path / "report.html").read_text("utf-8")
    assert '<section id="events"' in page
    assert page.count("<td>open</td>") + page.count("<td>closed</td>") > 0
