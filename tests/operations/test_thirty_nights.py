"""Thirty nights that nobody watches, and what the world does to them; in the end nothing is lost.

Three feeds show the stories of their last nights, so an outage costs nothing as long as it is
shorter than that. Night 12 brings a plugin that fails; other nights servers that are down, slow,
closed or cut short, a full disk, and a kill in the middle.
"""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segapsith.api.wire import Wire
from segapsith.demo import sample
from segapsith.engine.ingest import Engine
from segapsith.model import Document
from segapsith.plugin.guards import GuardedAnnotator, PluginName
from segapsith_store import Store
from segapsith_store.feed_states import later
from segapsith_store.queries import nights

from .conftest import new_house

pytestmark = pytest.mark.slow

ITEMS = sample.lines("en")
START = "2026-03-02T02:30:00+00:00"
PATHS = ("/a", "/b", "/c")
SHOWN = 7
"""Nights whose stories a feed shows."""

WEATHER = {
    3: {"/a": "down"},
    4: {"/a": "down", "/b": "error"},
    5: {"/b": "broken"},
    6: {"/c": "slow"},
    9: {"/a": "closed"},
    14: {"/a": "broken", "/b": "broken", "/c": "broken"},
    18: {"/a": "down", "/b": "down", "/c": "down"},
    19: {"/c": "closed"},
    24: {"/b": "slow", "/c": "error"},
}
FULL_DISK, FAILING_PLUGIN, KILLED, OFF = 8, 12, 16, (21, 22)

CHILD = """
import os, signal, sys
from segapsith.api.wire import Wire
from segapsith.operations.nightly import NightlyRun, run_night
from segapsith.settings import resolve
from tests_fuse import Fuse

path, place, date, statements = sys.argv[1:]
wire = Wire(path, resolve({"lang": "en", "batch_size": 20, "allow_hosts": place}, environment={}))
wire.writer._db.conn = Fuse(wire.writer._db.conn, int(statements))
run_night(NightlyRun(wire, now=lambda: date))
"""

FUSE = """
import os, signal


class Fuse:
    def __init__(self, connection, statements):
        self._connection, self._left = connection, statements

    def _burn(self):
        self._left -= 1
        if self._left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def execute(self, *arguments):
        self._burn()
        return self._connection.execute(*arguments)

    def executemany(self, *arguments):
        self._burn()
        return self._connection.executemany(*arguments)

    def __getattr__(self, name):
        return getattr(self._connection, name)
"""


class Failing:
    """An annotator whose night it is not."""

    def annotate(self, documents: Any, lexicon: Any) -> Iterator[Any]:
        raise RuntimeError("the dictionary is gone")
        yield


def fail(wire: Wire) -> None:
    annotator = GuardedAnnotator(Failing(), PluginName("annotator", "failing", "elsewhere"))
    wire._engine = Engine(wire.writer, replace(wire.factory.learning(), annotator=annotator))


@contextmanager
def full_disk(limit: int) -> Iterator[None]:
    """No file may grow beyond the limit, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def published(night: int, per_night: int) -> dict[str, list[dict[str, str]]]:
    """What each feed shows in a night: its stories of the last few."""
    shown: dict[str, list[dict[str, str]]] = {}
    for place, path in enumerate(PATHS):
        first = max(0, night - SHOWN) * per_night
        mine = [i for n, i in enumerate(ITEMS) if n % len(PATHS) == place]
        shown[path] = mine[first : night * per_night]
    return shown


def killed_night(house: Any, server: Any, statements: int) -> int:
    (house.folder / "tests_fuse.py").write_text(FUSE)
    done = subprocess.run(
        [
            sys.executable, "-c", CHILD, str(house.path), server.place, house.date, str(statements),
        ],
        cwd=house.folder, capture_output=True, check=False,
    )  # fmt: skip
    house.pass_day()
    return done.returncode


def live_through(house: Any, server: Any, n_nights: int, per_night: int) -> dict[int, int]:
    """The exit code of each night."""
    house.settings |= {"allow_hosts": server.place, "http_timeout": 0.4, "inbox": ""}
    house.subscribe(*(server.url(path) for path in PATHS))
    codes = {}
    for night in range(1, n_nights + 1):
        server.feeds = published(night, per_night)
        server.weather = WEATHER.get(night, {})
        if night in OFF:
            house.pass_day()
        elif night == KILLED:
            codes[night] = killed_night(house, server, 45)
        elif night == FULL_DISK:
            with full_disk(48 * 1024):
                codes[night] = house.night().code
        else:
            codes[night] = house.night(prepare=fail if night == FAILING_PLUGIN else None).code
        if server.weather:
            server.held.set()  # slow answers need not be waited for
            server.held = threading.Event()
    return codes


def replayed(house: Any, path: Path) -> str:
    """The digest of a store that was given the same texts in the same order, undisturbed.

    Merging, splitting, adopting and grouping are events of their own: they are done where the run
    log has them.
    """
    again, narrowed = house.open().settings, 0
    with Store.reading(house.path) as store, Wire(path, again) as wire:
        for run, command in list(
            store.rows(
                "SELECT id, command FROM runs WHERE id IN (SELECT run FROM versions UNION"
                " SELECT run FROM lineage UNION SELECT run FROM groupings"
                " UNION SELECT run FROM section_groupings"
                " UNION SELECT ended_by FROM past_assignments) ORDER BY id"
            )
        ):
            if command == "merge --auto":
                assert wire.domains.merge_similar(since=narrowed)["merged"]
            elif command == "split --auto":
                assert wire.domains.split_broad(after=narrowed)["split"]
            elif command == "reassign":
                assert wire.domains.reassign()["moved"]
            elif command == "topics":
                wire.topics()
            elif command == "sections":
                wire.sections()
            else:
                assert command == "update"
                narrowed = wire.writer.number(
                    "SELECT max(id) FROM runs WHERE command IN ('ingest', 'merge --auto', 'split --auto')"
                )
                wire.ingest(_texts(store, run))
        digest: str = wire.status()["digest"]
        return digest


def _texts(store: Store, run: int) -> list[Document]:
    return [
        Document(uid, title, body, date, lang, source)
        for uid, title, body, date, lang, source in store.rows(
            "SELECT d.uid, v.title, v.body, v.date_original, v.lang, v.source FROM versions v"
            " JOIN documents d ON d.id = v.document WHERE v.run = ? ORDER BY v.id",
            [run],
        )
    ]


def check(house: Any, server: Any, n_nights: int, per_night: int, codes: dict[int, int]) -> None:
    wanted = {
        f"{server.url(path)}#{item['id']}"
        for path in PATHS
        for night in range(1, n_nights + 1)
        for item in published(night, per_night)[path]
    }
    assert house.uids() == wanted  # nothing lost; uids are unique, so nothing doubled
    with house.open() as wire:
        verdict = wire.verify()
        assert verdict.sound, verdict.faults
        kept = nights.listed(wire.writer)
    assert replayed(house, house.folder / "undisturbed.db") == verdict.digest
    told = {n.night: n.code for n in kept}
    for night, code in codes.items():
        if night not in (KILLED, FULL_DISK):  # these could not write down how they ended
            assert told[later(START, 24 * 3600 * (night - 1))[:10]] == code
    assert len(kept) == len(codes)
    newest = max((house.folder / "wire.backups").glob("wire-*.db"))
    assert Wire(newest).status()["digest"] == verdict.digest


@pytest.mark.long
def test_thirty_nights(house: Any, server: Any) -> None:
    codes = live_through(house, server, 30, 2)
    check(house, server, 30, 2, codes)
    assert codes.pop(KILLED) == -signal.SIGKILL
    assert codes.pop(FULL_DISK) == 74
    assert codes.pop(FAILING_PLUGIN) == 70
    clear = {night: code for night, code in codes.items() if night not in WEATHER}
    # a feed whose server asked for 40 hours is waited for in silence
    assert set(clear.values()) == {0}
    assert {codes[night] for night in WEATHER if night not in (5, 14)} == {69}


def test_thirteen_nights(house: Any, server: Any) -> None:
    """The first of them: outages, broken XML, a slow server, a full disk, a failing plugin.

    Domains are quiet so soon, and near so easily, that something is merged in so few nights.
    """
    house.settings |= {"merge_after": 6, "merge_similarity": 0.1}
    codes = live_through(house, server, 13, 2)
    check(house, server, 13, 2, codes)
    assert (codes[FULL_DISK], codes[FAILING_PLUGIN]) == (74, 70)
    with Store.reading(house.path) as store:
        assert store.number("SELECT count(*) FROM lineage WHERE kind = 'merged'")
    assert [codes[night] for night in (1, 2, 3, 4, 6, 7, 13)] == [0, 0, 69, 69, 69, 0, 0]


# --- strange clocks --------------------------------------------------------------------------

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


@pytest.fixture(scope="module")
def zone_with_summer_time() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


def digest_after(house: Any, moments: list[str]) -> str:
    """The digest after a night with a delivery at each moment; every night must be good."""
    for number, moment in enumerate(moments):
        house.date = moment
        house.drop(f"{number}.jsonl", ITEMS[12 * number : 12 * (number + 1)])
        night = house.night()
        assert night.code == 0, night.line
        assert (house.folder / "wire.backups" / f"wire-{moment[:10]}.db").is_file()
    with Wire(house.path) as wire:
        verdict = wire.verify()
        assert verdict.sound, verdict.faults
        assert len(nights.listed(wire.writer)) == len(moments)
        return verdict.digest


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, zone_with_summer_time: None) -> str:
    folder = tmp_path_factory.mktemp("plain")
    return digest_after(new_house(folder), PLAIN)


@pytest.mark.parametrize("name", CLOCKS)
def test_a_strange_clock_loses_nothing_and_changes_no_digest(
    house: Any, plain: str, name: str
) -> None:
    assert digest_after(house, CLOCKS[name]) == plain
