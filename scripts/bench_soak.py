#!/usr/bin/env python
"""Many nights in one process: time, memory, size of the store and kappa, night by night.

Stories are made of sentences of real streams. Each takes its sentences from a few stories that are
close together in one stream, so words co-occur as in the stream and no story repeats another. Night
by night the window moves along each stream and the shares of the streams change: this is the drift.
Every night is a real nightly run (inbox, validation, report, backup) in this process.

    scripts/bench soak                                60 nights of 2,000 stories
    scripts/bench soak --nights 10 --stories 300      a small run
    scripts/bench soak --replay 60                    repeat the first 60 with other batches
    scripts/bench soak --until 20                     stop after 20; the next call continues
    scripts/bench soak --nights 100 --busy            with people and readers beside it

With --busy people work on the store before each night: they forget two stories of the night before,
name a domain, and every fifth night merge two domains, which every tenth night is undone. Twenty
stories of the night before arrive again with a corrected text. All the time `segapsith serve` runs on
the store and a reader asks for its pages; every answer must be 200.

Everything is written to --output (default: out/soak): the store with its backups, soak.csv with one
row per night, replay.csv with one row per repeated night, and soak.svg. An interrupted run continues
from the backup of its last complete night; the column `process` numbers the calls.

At the end the backup before the last night is restored and that night is repeated, which must give
the digest of the live store. A replay reads the raw stories into a new store with another batch size,
without validation, reports and backups. The exit code is 1 if a limit is exceeded. The last fifth of
the nights is compared with those from 30 to 50 %: processor time per night at most 1.3 times, memory
after a night at most 1.2 times, peak memory (with the whole network) at most 1.5 times, bytes per
story within a quarter, every digest equal, no alarm of the grave kind.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import itertools
import json
import math
import os
import random
import re
import secrets
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from segapsith.api.wire import Wire
from segapsith.operations import nightly
from segapsith.operations.nightly import NightlyRun, Outcome, Step, run_night
from segapsith.settings import resolve
from segapsith_store import Store
from segapsith_store.digest import digest
from segapsith_store.feed_states import later

DATA = Path(
    os.environ.get("SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
STREAMS = ("reuters21578", "bbc-news", "huffpost", "ag-news-test", "wikinews-fr")
START = "2026-01-01T02:30:00+00:00"
WINDOW = 0.2
"""Share of a stream that a night draws from."""

BAR, FLAT, PEAK, EVEN = 1.3, 1.2, 1.5, 0.25

FORGOTTEN, CORRECTED = 2, 20
"""Stories of the night before that are forgotten, and that come again with another text."""
STEPS = (
    "inbox",
    "merge",
    "split",
    "reassign",
    "topics",
    "sections",
    "validate",
    "report",
    "backup",
)
"""Those of the night whose seconds of processor are written down."""

LOOKED = "SELECT coalesce(max(id), 0) FROM runs WHERE command IN ('ingest', 'merge --auto', 'split --auto')"
"""The run up to which the night before looked for broad domains."""

COLUMNS = (
    "night", "process", "stories", "new", "copies", "seconds", "cpu_seconds",
    *(f"{step}_cpu" for step in STEPS), "peak_bytes", "rest_bytes", "store_bytes", "domains",
    "kappa", "share", "new_domains", "merged", "split", "reassigned", "alarms", "grave", "code",
    "digest",
)  # fmt: skip
REPLAY_COLUMNS = ("night", "seconds", "cpu_seconds", "same")


# -- the streams ---------------------------------------------------------------------------------


def sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+", " ".join(text.split())) if len(part) > 20]


def stream(name: str) -> list[tuple[str, list[str]]]:
    """Return the title and the sentences of each story of a stream, in order."""
    with gzip.open(DATA / name / "docs.jsonl.gz", "rt", encoding="utf-8") as file:
        items = [json.loads(line) for line in file]
    found = [(str(i.get("title") or ""), sentences(str(i.get("text") or ""))) for i in items]
    return [(title, parts) for title, parts in found if parts]


class Streams:
    """An endless wire made of the streams."""

    def __init__(self, nights: int, stories: int) -> None:
        self.streams = {n: stream(n) for n in STREAMS if (DATA / n / "docs.jsonl.gz").is_file()}
        if not self.streams:
            sys.exit(f"there are no streams in {DATA}; set SEGAPSITH_DATA")
        self.nights, self.stories = nights, stories

    def night(self, number: int) -> list[dict[str, str]]:
        """Return the stories of one night, the same for every call."""
        draw = random.Random(number)
        where = number / max(1, self.nights - 1)
        names = list(self.streams)
        shares = [
            math.sqrt(len(self.streams[name])) * (1.2 + math.sin(2 * math.pi * where + place))
            for place, name in enumerate(names)
        ]
        made = []
        for count in range(self.stories):
            (name,) = draw.choices(names, shares)
            made.append(self._story(name, where, draw, f"n{number:03}-{count:05}"))
        return made

    def corrections(self, number: int) -> list[dict[str, str]]:
        """Return stories of the night before with another sentence at their end."""
        if number == 0:
            return []
        before = self.night(number - 1)[FORGOTTEN : FORGOTTEN + CORRECTED]
        return [{**s, "text": f"{s['text']}\n\nCorrected in the morning."} for s in before]

    def _story(self, name: str, where: float, draw: random.Random, uid: str) -> dict[str, str]:
        stories = self.streams[name]
        width = max(8, int(WINDOW * len(stories)))
        first = int(where * (len(stories) - width))
        centre = draw.randrange(first, first + width)
        near = [stories[(centre + draw.randrange(40)) % len(stories)] for _ in range(4)]
        body = [draw.choice(parts) for _, parts in near for _ in range(draw.choice((1, 1, 2)))]
        day = later(START, 24 * 3600 * int(uid[1:4]))
        return {
            "id": uid, "date": day, "title": near[0][0], "text": "\n\n".join(body), "source": name,
        }  # fmt: skip


# -- measuring -----------------------------------------------------------------------------------


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Peak:
    """The peak memory of the process inside a `with` block."""

    def __enter__(self) -> Self:
        self.bytes, self._stop = resident(), threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.05):
            self.bytes = max(self.bytes, resident())

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


def clocked(spent: dict[str, float]) -> tuple[Step, ...]:
    """Return the steps of a night, with their processor times written to `spent`."""

    def timed(step: Step) -> Step:
        def work(night: NightlyRun) -> Outcome:
            began = time.process_time()
            try:
                return step.work(night)
            finally:
                spent[step.name] = round(time.process_time() - began, 3)

        return Step(step.name, work, step.needs)

    return tuple(timed(step) for step in nightly.STEPS)


def people(wire: Wire, source: Streams, number: int) -> None:
    """Do by day what an editor does: forget, name, merge, and think better of it."""
    if number == 0:
        return
    for story in source.night(number - 1)[:FORGOTTEN]:
        wire.forget(story["id"])
    largest = sorted(wire.domains(limit=8), key=lambda domain: domain.id)
    wire.domains.rename(largest[0].id, f"Named before night {number}")
    if number % 5 == 0:
        wire.domains.merge([largest[1].id, largest[2].id], into=largest[1].id)
        if number % 10 == 0:
            wire.runs.undo()


class Reader:
    """`segapsith serve` in a process of its own, and a thread that asks for its pages."""

    PAGES = ("/", "/domains", "/topics", "/sections", "/events", "/search?q=said", "/runs", "/cite")

    def __init__(self, store: Path) -> None:
        self.answers, self.errors, self._stop = 0, list[str](), threading.Event()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = int(free.getsockname()[1])
        self._token = secrets.token_urlsafe(32)
        token_file = store.with_suffix(".token")
        token_file.touch(mode=0o600)
        token_file.write_text(self._token, encoding="ascii")
        command = [sys.executable, "-m", "segapsith", "serve", "--store", str(store)]
        self._server = subprocess.Popen(
            [*command, "--port", str(self._port), "--token-file", str(token_file)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        """Wait until the server accepts connections."""
        for _ in range(6000):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.1)
        sys.exit("`segapsith serve` did not start")

    def _read(self) -> None:
        for page in itertools.cycle(self.PAGES):
            if self._stop.wait(0.2):
                return
            request = urllib.request.Request(
                f"http://127.0.0.1:{self._port}{page}",
                headers={"authorization": f"Bearer {self._token}"},
            )
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    answer.read()
                self.answers += 1
            except OSError as error:
                self.errors.append(f"{page}: {error}")

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._server.terminate()
        self._server.wait()


class Soak:
    """A store that runs through the nights, the figures of each night, and its replay."""

    def __init__(self, folder: Path, source: Streams, *, busy: bool = False) -> None:
        self.folder, self.source, self.busy = folder, source, busy
        self.answers, self.errors = 0, list[str]()
        self.rows = table(folder / "soak.csv", COLUMNS)
        self.again = table(folder / "replay.csv", REPLAY_COLUMNS)
        self.process = 1 + max((row["process"] for row in self.rows), default=0)
        if any(row["stories"] != source.stories for row in self.rows):
            sys.exit(f"{folder} has another soak; name another --output, or take it away")

    def backup(self, night: int) -> Path:
        return self.folder / "wire.backups" / f"wire-{moment(night)[:10]}.db"

    def restore(self, night: int, path: Path) -> None:
        """Restore the store as it was after a night, from its backup."""
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
        shutil.copy(self.backup(night), path)

    def go_on(self, until: int) -> None:
        """Run the nights that are missing; repeat a night that was interrupted."""
        path = self.folder / "wire.db"
        if until <= len(self.rows):
            return
        if self.rows:
            self.restore(self.rows[-1]["night"], path)
        else:
            path.unlink(missing_ok=True)
            Store.writing(path).close()
        reader = Reader(path) if self.busy else None
        try:
            self._nights(path, until)
        finally:
            if reader is not None:
                reader.close()
                self.answers, self.errors = reader.answers, reader.errors

    def _nights(self, path: Path, until: int) -> None:
        for number in range(len(self.rows), until):
            row = self.night(path, number)
            self.rows.append(row)
            append(self.folder / "soak.csv", COLUMNS, row)
            shares = ", ".join(f"{step} {row[step + '_cpu']:.1f}" for step in STEPS)
            print(
                f"night {number:3}: {row['seconds']:6.1f} s, {row['cpu_seconds']:6.1f} of processor"
                f" ({shares}),"
                f" {row['peak_bytes'] / 1e6:6.0f} MB, store {row['store_bytes'] / 1e6:7.1f} MB,"
                f" kappa {row['kappa']}, {row['domains']} domains {row['alarms']}",
                flush=True,
            )

    def night(self, path: Path, number: int) -> dict[str, Any]:
        """Run one night and return its row of the table."""
        inbox = self.folder / "inbox"
        shutil.rmtree(inbox, ignore_errors=True)
        inbox.mkdir()
        stories = self.stories(number)
        lines = "".join(json.dumps(item) + "\n" for item in stories)
        (inbox / f"{number:03}.jsonl").write_text(lines, encoding="utf-8")
        settings = resolve({"inbox": str(inbox), "keep_weekly": 0, "keep_daily": 2})
        began, began_cpu = time.monotonic(), time.process_time()
        spent: dict[str, float] = {}
        with Peak() as peak, Wire(path, settings) as wire:
            if self.busy:
                people(wire, self.source, number)
            night = run_night(NightlyRun(wire, now=lambda: moment(number)), clocked(spent))
            domains = wire.writer.number("SELECT count(*) FROM domains WHERE units > 0")
        result = {record.step: record.result for record in night.steps}
        if night.code not in (0, 76):
            sys.exit(night.line)
        return {
            "night": number,
            "process": self.process,
            "stories": self.source.stories,
            "new": night.figures.new,
            "copies": night.figures.copies,
            "seconds": round(time.monotonic() - began, 2),
            "cpu_seconds": round(time.process_time() - began_cpu, 2),
            **{f"{step}_cpu": spent[step] for step in STEPS},
            "peak_bytes": peak.bytes,
            "rest_bytes": resident(),
            "store_bytes": result["backup"]["bytes"],
            "domains": domains,
            "kappa": "" if night.kappa is None else round(night.kappa, 4),
            "share": round(result["validate"]["share"], 4),
            "new_domains": night.figures.created,
            "merged": result["merge"]["merged"],
            "split": result["split"]["split"],
            "reassigned": result["reassign"]["moved"],
            "alarms": " ".join(alarm.name for alarm in night.alarms),
            "grave": sum(alarm.grave for alarm in night.alarms),
            "code": night.code,
            "digest": result["backup"]["digest"],
        }

    def stories(self, number: int) -> list[dict[str, str]]:
        """Return what arrives in a night."""
        again = self.source.corrections(number) if self.busy else []
        return [*self.source.night(number), *again]

    def replay(self, until: int) -> None:
        """Ingest the raw stories into a new store with other batches, and run only the steps that learn."""
        path, settings = self.folder / "again.db", resolve({"batch_size": 77})
        if not self.again:
            path.unlink(missing_ok=True)
        for row in self.rows[len(self.again) : until]:
            began, began_cpu = time.monotonic(), time.process_time()
            with Wire(path, settings) as wire:
                if self.busy:
                    people(wire, self.source, row["night"])
                looked = wire.writer.number(LOOKED)
                wire.ingest(self.stories(row["night"]))
                wire.domains.merge_similar(since=looked)
                wire.domains.split_broad(after=looked)
                wire.domains.reassign()
                wire.topics(top=1)
                wire.sections(top=1)
                same = wire.read(digest) == row["digest"]
            found = {
                "night": row["night"],
                "seconds": round(time.monotonic() - began, 2),
                "cpu_seconds": round(time.process_time() - began_cpu, 2),
                "same": int(same),
            }
            self.again.append(found)
            append(self.folder / "replay.csv", REPLAY_COLUMNS, found)
            print(f"night {row['night']:3} again: {'the same' if same else 'ANOTHER'}", flush=True)

    def last_night_again(self) -> bool:
        """Return whether the backup before the last night, and this night repeated, give its digest."""
        last = self.rows[-1]
        path = self.folder / "restored.db"
        self.restore(last["night"] - 1, path)
        shutil.rmtree(self.folder / "restored.backups", ignore_errors=True)
        return bool(self.night(path, last["night"])["digest"] == last["digest"])


def moment(number: int) -> str:
    """Return the start of a night."""
    return later(START, 24 * 3600 * number)


def table(path: Path, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows that are written so far, with numbers as numbers."""
    if not path.is_file():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if rows and tuple(rows[0]) != tuple(columns):
        sys.exit(f"{path} has other columns; it is of another release")
    texts = ("alarms", "digest")
    return [
        {name: value if name in texts else number_of(value) for name, value in row.items()}
        for row in rows
    ]


def number_of(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def append(path: Path, columns: Sequence[str], row: dict[str, Any]) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        if new:
            writer.writeheader()
        writer.writerow(row)


# -- the picture ---------------------------------------------------------------------------------

PANELS = (
    ("seconds of processor: a night, and reading in it", ("cpu_seconds", "inbox_cpu"), 1.0),
    ("memory at its peak, and after the night, MB", ("peak_bytes", "rest_bytes"), 1e6),
    ("store, MB", ("store_bytes",), 1e6),
    ("kappa", ("kappa",), 1.0),
)
STYLE = (
    "text{font:12px sans-serif;fill:#222}path{fill:none;stroke:#1565c0;stroke-width:1.6}"
    ".second{stroke-dasharray:4 3}line{stroke:#bbb}"
    "@media (prefers-color-scheme: dark){text{fill:#ddd}path{stroke:#90caf9}line{stroke:#555}}"
)


def picture(rows: Sequence[dict[str, Any]]) -> str:
    """Draw four charts below each other, one point per night; the second line of a chart is dashed."""
    width, height, left = 640, 130, 70
    last = max(1, rows[-1]["night"])
    parts = []
    for place, (title, columns, unit) in enumerate(PANELS):
        top = 20 + place * height
        lines = [
            [(r["night"], float(r[column]) / unit) for r in rows if r[column] != ""]
            for column in columns
        ]
        most = max((value for points in lines for _, value in points), default=1.0) or 1.0
        parts.append(f'<text x="{left}" y="{top - 6}">{title}</text>')
        parts.append(f'<line x1="{left}" y1="{top + 85}" x2="{width - 20}" y2="{top + 85}"/>')
        parts.append(f'<text x="{left - 8}" y="{top + 8}" text-anchor="end">{most:.4g}</text>')
        parts.append(f'<text x="{left - 8}" y="{top + 89}" text-anchor="end">0</text>')
        for points, kind in zip(lines, ("first", "second"), strict=False):
            spots = [
                f"{left + (width - left - 20) * x / last:.1f},{top + 85 * (1 - y / most):.1f}"
                for x, y in points
            ]
            if spots:
                parts.append(f'<path class="{kind}" d="M{" L".join(spots)}"/>')
    foot = 20 + height * len(PANELS)
    parts.append(f'<text x="{left}" y="{foot - 8}">night 0</text>')
    parts.append(f'<text x="{width - 20}" y="{foot - 8}" text-anchor="end">night {last}</text>')
    body = "\n".join(parts)
    size = f'width="{width}" height="{foot}" viewBox="0 0 {width} {foot}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="soak, night by night">'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )


# -- the bars ------------------------------------------------------------------------------------


def mean(rows: Sequence[dict[str, Any]], column: str) -> float:
    return sum(float(row[column]) for row in rows) / len(rows)


def judged(soak: Soak, restored: bool) -> int:
    """Print every limit, and return how many are exceeded."""
    rows = soak.rows
    quarter, tenth = max(1, len(rows) // 4), len(rows) / 10
    warm = rows[int(3 * tenth) : int(5 * tenth)] or rows
    end = rows[int(8 * tenth) :]
    growth = [
        (b["store_bytes"] - a["store_bytes"]) / b["stories"] for a, b in itertools.pairwise(rows)
    ]
    steady = growth[quarter:] or growth or [1.0]
    early, late = steady[: len(steady) // 2] or steady, steady[len(steady) // 2 :]
    per_story = sum(steady) / len(steady)
    uneven = abs(sum(late) / len(late) - sum(early) / len(early)) / per_story
    for step in STEPS:
        name = f"{step}_cpu"
        print(
            f"  {step}: {mean(warm, name):.1f} s after the warm-up, {mean(end, name):.1f} s at the end"
        )
    same = sum(row["same"] for row in soak.again)
    bars = [
        _times("seconds of processor a night", warm, end, "cpu_seconds", 1.0, BAR),
        _times("memory after a night, MB", warm, end, "rest_bytes", 1e6, FLAT),
        _times("memory at its peak, MB", warm, end, "peak_bytes", 1e6, PEAK),
        (
            uneven <= EVEN,
            f"the store grows by {per_story:,.0f} bytes a story (±{100 * uneven:.0f} %)",
        ),
        (same == len(soak.again), f"{same} of {len(soak.again)} replayed digests found again"),
        (not any(row["grave"] for row in rows), "no alarm of the grave kind"),
        (not soak.errors, f"{soak.answers} pages read beside it, {len(soak.errors)} errors"),
        (restored, "the backup of the night before and the last night again: the live digest"),
    ]
    for held, text in bars:
        print(f"  {'ok    ' if held else 'MISSED'}  {text}")
    return sum(not held for held, _ in bars)


def _times(
    what: str,
    warm: Sequence[dict[str, Any]],
    end: Sequence[dict[str, Any]],
    column: str,
    unit: float,
    bar: float,
) -> tuple[bool, str]:
    before, after = mean(warm, column) / unit, mean(end, column) / unit
    told = f"{what}: {before:.1f} after the warm-up, {after:.1f} at the end"
    return after <= bar * before, f"{told} ({after / before:.2f} times, at most {bar})"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--stories", type=int, default=2000)
    parser.add_argument("--output", type=Path, default=Path("out/soak"))
    parser.add_argument("--until", type=int, help="last night of this call (default: all)")
    parser.add_argument("--replay", type=int, default=0, help="number of nights to repeat")
    parser.add_argument("--busy", action="store_true", help="people and readers beside it")
    parser.add_argument("--picture", type=Path, help="further file for the chart")
    options = parser.parse_args()
    until = min(options.nights, options.until or options.nights)
    if until < 2:
        parser.error("a soak has two nights at least")
    options.output.mkdir(parents=True, exist_ok=True)
    soak = Soak(options.output, Streams(options.nights, options.stories), busy=options.busy)
    soak.go_on(until)
    soak.replay(options.replay)
    for path in (options.output / "soak.svg", options.picture):
        if path is not None:
            path.write_text(picture(soak.rows), encoding="utf-8")
    if len(soak.rows) < options.nights:
        print(f"{len(soak.rows)} of {options.nights} nights are done; the same command goes on")
    return int(bool(judged(soak, soak.last_night_again())))


if __name__ == "__main__":
    sys.exit(main())
