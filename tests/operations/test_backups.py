"""Backups and reports: dated files rotate, copies are checked, and other files stay."""

from __future__ import annotations

import datetime
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from segapsith.demo import sample
from segapsith.errors import StoreCreationError
from segapsith.operations import backups
from segapsith.operations.backups import DatedFiles
from segapsith.operations.nightly import STEPS, NightlyRun
from segapsith_store import Store

ITEMS = sample.lines("en")


def codes(night: NightlyRun) -> dict[str, int]:
    return {record.step: record.code for record in night.steps if record.code}


@pytest.mark.slow
def test_reports_and_backups_rotate_and_other_files_stay(house: Any) -> None:
    house.settings |= {"keep_reports": 3, "keep_daily": 2, "keep_weekly": 2}
    for name in ("wire.backups", "wire.reports"):
        (house.folder / name).mkdir()
    others = [
        house.folder / "wire.backups" / name
        for name in ("wire-2026-99-99.db", "other-2020-01-01.db", "wire-2020-01-01.db.keep")
    ]
    for path in others:
        path.write_text("mine")
    light = tuple(step for step in STEPS if step.name in ("open", "report", "backup"))
    for _ in range(12):  # from Monday 2 March to Friday 13 March
        assert house.night(light).code == 0
    kept = sorted(p.name for p in (house.folder / "wire.backups").iterdir())
    days = ("08", "12", "13")
    mine = [path.name for path in others]
    assert kept == sorted([*(f"wire-2026-03-{day}.db" for day in days), *mine])
    assert sorted(p.name for p in (house.folder / "wire.reports").iterdir()) == [
        f"report-2026-03-{day}.html" for day in (11, 12, 13)
    ]


def test_weeks_lose_no_backup_on_the_way() -> None:
    """Over a year: always the last 7 days, and the last of each of the last 4 weeks."""
    present: set[str] = set()
    for day in range(365):
        today = datetime.date(2026, 1, 1) + datetime.timedelta(days=day)
        present = backups.retained({*present, today.isoformat()}, 7, 4)
        for back in range(min(7, day + 1)):
            assert (today - datetime.timedelta(days=back)).isoformat() in present
        if day > 40:
            sundays = [
                today - datetime.timedelta(days=today.isoweekday() + 7 * n) for n in range(3)
            ]
            assert {sunday.isoformat() for sunday in sundays} <= present
            assert len(present) <= 7 + 4


def test_a_backup_that_differs_or_does_not_fit_is_not_kept(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.drop("a.jsonl", ITEMS[:10])
    assert house.night().code == 0
    before = sorted(p.name for p in (house.folder / "wire.backups").iterdir())
    copy = Store.backup

    def spoiled(self: Store, target: Any) -> None:
        copy(self, target)
        with sqlite3.connect(target) as connection:
            connection.execute("UPDATE versions SET title = 'x'")
        connection.close()

    with monkeypatch.context() as patch:
        patch.setattr(Store, "backup", spoiled)
        night = house.night()
    assert codes(night) == {"backup": 74}
    assert "differs from the store" in night.line
    with monkeypatch.context() as patch:
        usage = type("Usage", (), {"free": 10})()
        patch.setattr(backups.shutil, "disk_usage", lambda _: usage)
        assert codes(house.night()) == {"backup": 74}
    assert sorted(p.name for p in (house.folder / "wire.backups").iterdir()) == before


def test_a_file_in_place_of_the_folder_of_reports_is_reported(house: Any) -> None:
    house.settings["reports"] = str(house.folder / "file")
    (house.folder / "file").write_text("x")
    assert codes(house.night()) == {"report": StoreCreationError.exit_code}


def test_a_text_replaces_the_file_of_its_date_and_leaves_no_other(tmp_path: Path) -> None:
    files = DatedFiles(tmp_path / "reports", "report", ".html")
    for text in ("first", "second"):
        path = files.write("2026-03-02", text)
    assert path.read_text() == "second"
    assert list(files.folder.iterdir()) == [path] == list(files.by_date().values())
