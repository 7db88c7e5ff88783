"""The nightly run: step by step, whatever fails; deliveries in order; two nights of a date as one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.errors import StorageError, UsageError
from segapsith.operations import nightly
from segapsith.operations.nightly import STEPS, NightlyRun, Outcome, Step
from segapsith_store import Store
from segapsith_store.queries import nights, subscriptions

pytestmark = pytest.mark.slow

Command = Callable[..., tuple[int, str, str]]
ITEMS = sample.lines("en")


def steps(night: NightlyRun) -> dict[str, str]:
    return {record.step: record.status for record in night.steps}


def codes(night: NightlyRun) -> dict[str, int]:
    return {record.step: record.code for record in night.steps if record.code}


def digest(path: Path) -> str:
    found: str = Wire(path).status()["digest"]
    return found


def test_a_night_does_every_step_and_reports_in_one_line(house: Any, server: Any) -> None:
    server.feeds["/a"] = ITEMS[:6]
    house.settings["allow_hosts"] = server.place
    house.subscribe(server.url("/a"))
    house.drop("2026-03-01.jsonl", ITEMS[10:30])
    night = house.night()
    assert night.code == 0
    assert list(steps(night)) == [step.name for step in STEPS]
    assert set(steps(night).values()) == {"done"}
    assert night.line.count("\n") == 0
    for word in ("2026-03-02", "ok", "1 delivery", "1 feed", "new", "report", "backup"):
        assert word in night.line
    assert (house.folder / "wire.reports" / "report-2026-03-02.html").is_file()
    assert digest(house.folder / "wire.backups" / "wire-2026-03-02.db") == digest(house.path)
    with house.open() as wire:
        (kept,) = nights.listed(wire.writer)
    assert (kept.night, kept.code, kept.line) == ("2026-03-02", 0, night.line)
    assert kept.figures["feeds"] == {server.url("/a"): 6}
    json.dumps(night.as_json(), allow_nan=False)


def test_a_step_that_fails_stops_only_those_that_need_it(house: Any) -> None:
    house.drop("a.jsonl", ITEMS[:10])

    def broken(_: NightlyRun) -> Outcome:
        raise StorageError("no room")

    def strange(_: NightlyRun) -> Outcome:
        raise KeyError("what")

    line = (
        *STEPS[:3],
        Step("broken", broken),
        Step("strange", strange),
        Step("dependent", broken, needs=("broken",)),
        *STEPS[3:],
    )
    night = house.night(line)
    found = steps(night)
    assert (found["broken"], found["strange"], found["dependent"]) == (
        "failed",
        "failed",
        "skipped",
    )
    assert codes(night) == {"broken": 74, "strange": 1}
    assert {found[step.name] for step in STEPS} == {"done"}
    assert night.code == 74
    assert "FAILED (74)" in night.line and "no room" in night.line
    assert Wire(house.path).status()["documents"] > 0


def test_a_busy_store_is_still_reported_and_backed_up(house: Any) -> None:
    house.drop("a.jsonl", ITEMS[:10])
    assert house.night().code == 0
    house.settings["wait"] = 0.0
    with Store.writing(house.path):
        night = house.night()
    assert night.code == 75
    assert steps(night) == {
        "fetch": "done", "open": "failed", "inbox": "skipped", "feeds": "skipped",
        "refine": "skipped", "merge": "skipped", "split": "skipped", "reassign": "skipped",
        "topics": "skipped", "sections": "skipped", "validate": "skipped", "alarms": "skipped", "journal": "skipped",
        "seal": "skipped", "report": "done", "backup": "done",
        "notify": "skipped",
    }  # fmt: skip


def test_a_night_refines_merges_and_groups_as_the_settings_ask(house: Any) -> None:
    house.drop("a.jsonl", ITEMS[:80])
    house.settings |= {"merge_after": 0, "threshold": 0.3, "refine": 1}
    night = house.night()
    assert night.code == 0
    result = {record.step: record.result for record in night.steps}
    assert result["merge"]["merged"] > 0
    merged = result["merge"]["merged"]
    assert f"{merged} domain{'s' * (merged != 1)} merged" in night.line
    assert result["topics"]["topics"] > 0
    assert result["sections"]["sections"] > 0
    with house.open() as wire:
        commands = [run["command"] for run in reversed(wire.runs())]
        assert wire.verify().sound
        assert all(d["topic"] is not None for d in wire.domains())
    assert commands.index("merge --auto") < commands.index("topics")
    assert commands.index("topics") < commands.index("sections") < commands.index("validate")
    assert ("refine" in commands) == bool(result["refine"]["moved"])
    house.settings |= {"merge_similarity": 0.0, "refine": 0}
    again = house.night()
    assert {record.step: record.result for record in again.steps}["merge"] == {}
    with house.open() as wire:  # nothing new: topics were only read
        assert [run["command"] for run in wire.runs()].count("topics") == 1
        assert [run["command"] for run in wire.runs()].count("sections") == 1


def test_a_night_counts_what_arrived_and_not_what_was_moved(house: Any) -> None:
    line = tuple(step for step in STEPS if step.name not in ("validate", "topics"))
    house.settings |= {"threshold": 0.3, "merge_similarity": 0.0}
    house.drop("a.jsonl", ITEMS[:80])
    house.night(line)
    house.settings |= {"merge_similarity": 0.05, "merge_stable_similarity": 0.05, "merge_after": 0}
    house.drop("b.jsonl", ITEMS[80:83])
    house.drop("c.jsonl", ITEMS[83:86])
    night = house.night(line)
    result = {record.step: record.result for record in night.steps}
    deliveries = result["inbox"]["deliveries"]
    assert result["merge"]["merged"] > 5
    units = sum(delivery["domains_joined"] + delivery["domains_new"] for delivery in deliveries)
    new = sum(delivery["new"] for delivery in deliveries)
    assert f"{new} new ({units} units)" in night.line
    page = (house.folder / "wire.reports" / "report-2026-03-03.html").read_text("utf-8")
    since = night.previous_run
    assert f"{units} units of {new} new stories since run {since}; " in page
    assert f"{result['merge']['merged']} domains merged into" in page
    assert result["alarms"]["new_domains"] <= night.figures.created


def test_two_runs_of_a_date_are_one_night_in_the_report(house: Any) -> None:
    line = tuple(step for step in STEPS if step.name not in ("validate", "topics", "merge"))
    house.drop("a.jsonl", ITEMS[:20])
    house.night(line)
    house.drop("b.jsonl", ITEMS[20:30])
    first = house.night(line)
    house.pass_day(-1)
    house.drop("c.jsonl", ITEMS[30:35])
    house.night(line)
    page = (house.folder / "wire.reports" / "report-2026-03-03.html").read_text("utf-8")
    assert f"new stories since run {first.previous_run}; " in page


def test_missed_deliveries_are_caught_up_in_order_each_as_a_run(house: Any, tmp_path: Path) -> None:
    line = tuple(step for step in STEPS if step.name not in ("merge", "topics"))
    days = [ITEMS[start : start + 12] for start in range(0, 60, 12)]
    house.drop("2026-03-01.jsonl", days[0])
    assert house.night(line).missed == 0
    for number in (4, 2, 3):  # written in any order, read in that of their names
        house.drop(f"2026-03-0{number + 1}.jsonl", days[number])
    folder = house.folder / "inbox" / "2026-03-02"
    folder.mkdir()
    (folder / "a.jsonl").write_text("".join(json.dumps(i) + "\n" for i in days[1]))
    house.drop(".2026-03-09.jsonl", ITEMS[60:70])  # being written
    house.drop("2026-03-09.jsonl.part", ITEMS[60:70])
    os.symlink(house.folder / "elsewhere", house.folder / "inbox" / "2026-03-00")
    house.pass_day(4)
    night = house.night(line)
    assert night.missed == 4
    assert "4 nights missed" in night.line
    (delivered,) = (record.result["deliveries"] for record in night.steps if record.step == "inbox")
    assert [d["name"] for d in delivered] == [
        "2026-03-02", "2026-03-03.jsonl", "2026-03-04.jsonl", "2026-03-05.jsonl",
    ]  # fmt: skip
    again = house.night(line)
    assert (
        next(record.result["deliveries"] for record in again.steps if record.step == "inbox") == []
    )
    with Wire(tmp_path / "straight.db", house.open().settings) as wire:
        wire.ingest(i for day in days for i in day)
    assert digest(tmp_path / "straight.db") == digest(house.path)


def test_a_delivery_that_cannot_be_read_is_reported_until_it_is_corrected(house: Any) -> None:
    bad = house.folder / "inbox" / "1.jsonl"
    bad.write_bytes(b"")
    house.drop("2.jsonl", ITEMS[:5])
    for _ in range(2):
        night = house.night()
        assert codes(night) == {"inbox": 65}
        assert "the input is empty" in night.line
    assert house.uids() == {i["id"] for i in ITEMS[:5]}
    house.drop("1.jsonl", ITEMS[5:8])
    assert house.night().code == 0
    assert house.uids() == {i["id"] for i in ITEMS[:8]}


def test_a_missing_inbox_is_reported(house: Any) -> None:
    house.settings["inbox"] = str(house.folder / "nowhere")
    assert codes(house.night()) == {"inbox": 66}


def test_kappa_below_its_band_gives_76_and_other_alarms_only_if_strict(house: Any) -> None:
    def history(wire: Wire) -> None:
        for day in range(1, 11):
            number = nights.begin(wire.writer, f"2026-02-{day:02}", f"2026-02-{day:02}T02:00:00")
            figures = {
                "night": f"2026-02-{day:02}", "new": 100, "copies": 5, "joined": 198,
                "created": 2, "kappa": 0.6, "languages": {"en": 100}, "feeds": {},
            }  # fmt: skip
            nights.end(wire.writer, number, "2026-02-01T03:00:00", 0, "", figures, {})

    def low(night: NightlyRun) -> Outcome:
        night.kappa = 0.3
        return Outcome("kappa 0.300")

    line = tuple(Step("validate", low) if step.name == "validate" else step for step in STEPS)
    night = house.night(line, prepare=history)
    assert [alarm.name for alarm in night.alarms] == ["kappa"]
    assert night.code == 76
    assert "ALARM kappa" in night.line and "segapsith validate --store" in night.line
    house.drop("a.jsonl", ITEMS[:60])
    night = house.night()
    assert [alarm.name for alarm in night.alarms] == ["new-domains"]
    assert night.code == 0
    assert "warning; " in night.line
    house.date = "2026-03-03T09:00:00+00:00"  # the same night again, strictly
    night = house.night(strict=True)
    assert night.code == 76


def test_last_nights_backup_and_one_night_replayed_give_the_live_store(
    house: Any, server: Any, tmp_path: Path
) -> None:
    house.settings["allow_hosts"] = server.place
    server.feeds["/a"] = ITEMS[:8]
    house.subscribe(server.url("/a"))
    house.drop("2026-03-01.jsonl", ITEMS[20:40])
    assert house.night().code == 0
    evening = house.date
    server.feeds["/a"] = ITEMS[4:16]
    house.drop("2026-03-02.jsonl", ITEMS[40:60])
    assert house.night().code == 0
    live = digest(house.path)
    for end in ("", "-wal", "-shm"):
        Path(f"{house.path}{end}").unlink(missing_ok=True)  # the disk is gone
    os.replace(house.folder / "wire.backups" / "wire-2026-03-02.db", house.path)
    house.date = evening
    assert digest(house.path) != live
    assert house.night().code == 0
    assert digest(house.path) == live
    assert Wire(house.path).verify().sound


# -- as the timer sees it ----------------------------------------------------------------------


def test_the_command_is_quiet_unless_there_is_something_to_look_at(
    command: Command, tmp_path: Path, server: Any
) -> None:
    (tmp_path / "in").mkdir()
    lines = "".join(json.dumps(i) + "\n" for i in ITEMS[:10])
    (tmp_path / "in" / "a.jsonl").write_text(lines)
    assert command("update", "--nightly")[0] == 66
    command("feeds", "add", server.url("/a"))
    night = ("update", "--nightly", "--lang", "en", "--inbox", "in", "--allow-host", server.place)
    server.feeds["/a"] = ITEMS[10:20]
    assert command(*night, "--quiet") == (0, "", "")
    server.weather["/a"] = "error"
    code, out, err = command(*night, "--quiet", "--all")
    assert (code, out, len(err.splitlines())) == (69, "", 1)
    assert err.startswith("segapsith 20") and "500" in err
    code, out, _ = command(*night, "--all", "--json")
    found = json.loads(out)
    assert (code, found["code"]) == (69, 69)
    assert [s["step"] for s in found["steps"]] == [step.name for step in STEPS]
    assert command("update", "--strict")[0] == command("update", "--inbox", "in")[0] == 2


def test_a_night_that_was_cut_short_is_known(house: Any) -> None:
    def stopped(_: NightlyRun) -> Outcome:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        house.night((STEPS[1], Step("stopped", stopped)))
    assert "cut short" in house.night().line


def test_feeds_are_asked_by_the_clock_of_the_night(house: Any, server: Any) -> None:
    house.settings["allow_hosts"] = server.place
    server.feeds["/a"] = ITEMS[:3]
    house.subscribe(server.url("/a"))
    light = tuple(step for step in STEPS if step.name in ("fetch", "open", "feeds"))
    house.night(light)
    with house.open() as wire:
        (feed,) = subscriptions.listed(wire.writer)
    assert feed.checked_at == "2026-03-02T02:30:00+00:00"
    house.night(light)
    assert server.asked == ["/a", "/a"]


def test_records_of_older_nights_are_understood(house: Any) -> None:
    """Their steps had other names: `store` recorded `first_run`, `narrow` recorded `up_to`."""

    def older(wire: Wire) -> None:
        wire.ingest(ITEMS[:30])
        steps = [
            {"step": "store", "result": {"after_a_cut": False, "first_run": 0}},
            {"step": "narrow", "result": {"run": None, "up_to": 1}},
        ]
        row = nights.begin(wire.writer, house.date[:10], house.date)
        nights.end(wire.writer, row, house.date, 0, "", {}, {"steps": steps})
        assert list(nights.step_numbers(wire.writer, "up_to")) == [(house.date[:10], 1)]

    checked: list[int] = []

    def split(night: NightlyRun) -> Outcome:
        checked.append(nightly._last_checked_run(night))
        return Outcome()

    steps = tuple(
        Step("split", split, step.needs) if step.name == "split" else step
        for step in STEPS
        if step.name not in ("merge", "validate", "topics", "backup")
    )
    house.drop("a.jsonl", ITEMS[30:40])
    night = house.night(steps, prepare=older)
    assert (night.code, checked, night.previous_run) == (0, [1], 1)
    page = (house.folder / "wire.reports" / "report-2026-03-02.html").read_text("utf-8")
    assert "There is no earlier run to compare with" in page  # both nights of the date


def test_a_night_names_what_is_new_and_can_be_taken_back_as_a_whole(house: Any) -> None:
    house.drop("a.jsonl", ITEMS[:60])
    house.night()
    before = digest(house.path)
    house.drop("b.jsonl", ITEMS[60:])
    night = house.night()
    named = night.as_json()["new"] + night.as_json()["rising"]
    assert named
    assert all(one["headline"] and one["words"] and one["units"] for one in named)
    first = night.as_json()["new"][0]
    assert f"new: “{first['headline'][:80]}” ({', '.join(first['words'][:3])};" in night.line
    with house.open() as wire:
        done = wire.runs.undo_night()
    assert len(done.runs) >= 2
    assert list(done.runs) == sorted(done.runs, reverse=True)
    assert digest(house.path) == before


def test_a_night_is_not_undone_under_a_later_run(house: Any) -> None:
    house.drop("a.jsonl", ITEMS[:30])
    house.night()
    with house.open() as wire:
        wire.ingest([{"id": "later", "text": "The river rose over the bridge in the night. " * 4}])
        with pytest.raises(UsageError, match="came after the night"):
            wire.runs.undo_night()
        wire.runs.undo()
        assert wire.runs.undo_night().documents
        with pytest.raises(UsageError, match="no night to undo"):
            wire.runs.undo_night()
