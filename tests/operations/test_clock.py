"""Nights by unusual clocks: changes of summer time, ends of years, clocks set back, two a day."""

from __future__ import annotations

import time
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith_store.queries import nights

from .conftest import House

pytestmark = pytest.mark.slow

PLAIN = ["2026-03-02T02:30:00+00:00", "2026-03-03T02:30:00+00:00", "2026-03-04T02:30:00+00:00"]
CLOCKS = {
    "spring": ["2026-03-28T01:30:00+00:00", "2026-03-29T01:30:00+00:00", "2026-03-30T00:30:00+00:00"],
    "autumn, the hour twice": [
        "2026-10-25T00:30:00+00:00", "2026-10-25T01:30:00+00:00", "2026-10-26T01:30:00+00:00",
    ],
    "end of year": [
        "2026-12-31T23:59:59+00:00", "2027-01-01T00:00:01+00:00", "2027-01-02T02:30:00+00:00",
    ],
    "leap day": ["2028-02-28T02:30:00+00:00", "2028-02-29T02:30:00+00:00", "2028-03-01T02:30:00+00:00"],
    "set back an hour": [
        "2026-03-02T02:30:00+00:00", "2026-03-03T02:30:00+00:00", "2026-03-03T01:30:00+00:00",
    ],
    "set back a month": [
        "2026-03-02T02:30:00+00:00", "2026-02-02T02:30:00+00:00", "2026-02-03T02:30:00+00:00",
    ],
    "wrong for a night": [
        "2026-03-02T02:30:00+00:00", "2038-01-19T03:14:08+00:00", "2026-03-04T02:30:00+00:00",
    ],
    "two on one day": [
        "2026-03-02T02:30:00+00:00", "2026-03-02T14:30:00+00:00", "2026-03-03T02:30:00+00:00",
    ],
}  # fmt: skip


@pytest.fixture(autouse=True)
def zone_with_summer_time(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def digest_after(house: Any, moments: list[str]) -> str:
    """The digest after a night with a delivery at each moment; every night must be good."""
    for number, moment in enumerate(moments):
        house.date = moment
        house.drop(f"{number}.jsonl", sample.lines("en")[12 * number : 12 * (number + 1)])
        night = house.night()
        assert night.code == 0, night.line
        assert (house.folder / "wire.backups" / f"wire-{moment[:10]}.db").is_file()
    with Wire(house.path) as wire:
        verdict = wire.verify()
        assert verdict.sound, verdict.faults
        assert len(nights.listed(wire.writer)) == len(moments)
        return verdict.digest


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("plain")
    (folder / "inbox").mkdir()
    return digest_after(House(folder, {"lang": "en", "batch_size": 20}), PLAIN)


@pytest.mark.parametrize("name", CLOCKS)
def test_a_strange_clock_loses_nothing_and_changes_no_digest(
    house: Any, plain: str, name: str
) -> None:
    assert digest_after(house, CLOCKS[name]) == plain
