#!/usr/bin/env python
"""Many nights in one go: time, memory, size of the store and kappa, night by night.

Stories are made of sentences of the real streams: each takes its sentences from a few stories that
are near each other in one stream, so the words keep their company while no story repeats another.
Night by night the window moves along each stream and the shares of the streams change: that is the
drift. Every night is the real one (inbox, validation, report, backup) in this one process.

    scripts/bench soak                                60 nights of 2,000 stories
    scripts/bench soak --nights 10 --stories 300      the same in small
    scripts/bench soak --replay                       and again with other batches, digest by digest

Writes soak.csv and soak.svg into --output (default: out/). The exit code is 1 if a bar is missed:
the last quarter of the nights is compared with the one after the warm-up (the second). Reading (in
seconds of processor) and memory at its peak at most 1.5 times, bytes a story the same within a quarter, every digest found
again.
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
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from segapsith.api import Wire
from segapsith.nightly import LINE, Night, Outcome, Step, run_night
from segapsith.settings import resolve
from segapsith_store import Store
from segapsith_store.subscriptions import later

DATA = Path(
    os.environ.get("SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
)
STREAMS = ("reuters21578", "bbc-news", "huffpost", "ag-news-test", "wikinews-fr")
START = "2026-01-01T02:30:00+00:00"
WINDOW = 0.2
"""Share of a stream that a night draws from."""

BAR, EVEN = 1.5, 0.25
COLUMNS = (
    "night", "stories", "new", "copies", "seconds", "cpu_seconds", "ingest_cpu", "validate_cpu",
    "peak_bytes", "rest_bytes", "store_bytes", "kappa", "new_domains", "alarms", "code", "digest",
)  # fmt: skip


# -- the streams ---------------------------------------------------------------------------------


def sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+", " ".join(text.split())) if len(part) > 20]


def stream(name: str) -> list[tuple[str, list[str]]]:
    """The stories of a stream in its order: title and sentences."""
    with gzip.open(DATA / name / "docs.jsonl.gz", "rt", encoding="utf-8") as file:
        items = [json.loads(line) for line in file]
    found = [(str(i.get("title") or ""), sentences(str(i.get("text") or ""))) for i in items]
    return [(title, parts) for title, parts in found if parts]


class Streams:
    """A wire that never ends."""

    def __init__(self, nights: int, stories: int) -> None:
        self.streams = {n: stream(n) for n in STREAMS if (DATA / n / "docs.jsonl.gz").is_file()}
        if not self.streams:
            sys.exit(f"there are no streams in {DATA}; set SEGAPSITH_DATA")
        self.nights, self.stories = nights, stories

    def night(self, number: int) -> list[dict[str, str]]:
        """The stories of one night; the same whenever it is asked for."""
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
    """The most memory that was seen while it watched."""

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
    """The night's steps; each writes down its seconds of processor, which other programs do not."""

    def timed(step: Step) -> Step:
        def work(night: Night) -> Outcome:
            began = time.process_time()
            try:
                return step.work(night)
            finally:
                spent[step.name] = round(time.process_time() - began, 3)

        return Step(step.name, work, step.needs)

    return tuple(timed(step) for step in LINE)


def live(folder: Path, source: Streams, number: int, chosen: dict[str, Any]) -> dict[str, Any]:
    """One night; a row of the table."""
    inbox = folder / "inbox"
    shutil.rmtree(inbox, ignore_errors=True)
    inbox.mkdir()
    lines = "".join(json.dumps(item) + "\n" for item in source.night(number))
    (inbox / f"{number:03}.jsonl").write_text(lines, encoding="utf-8")
    settings = resolve({**chosen, "inbox": str(inbox), "keep_weekly": 0, "keep_daily": 2})
    now = later(START, 24 * 3600 * number)
    began, began_cpu = time.monotonic(), time.process_time()
    spent: dict[str, float] = {}
    with Peak() as peak, Wire(folder / "wire.db", settings) as wire:
        night = run_night(Night(wire, now=lambda: now), clocked(spent))
    result = {ended.step: ended.result for ended in night.ended}
    if night.code not in (0, 76):
        sys.exit(night.line)
    return {
        "night": number,
        "stories": source.stories,
        "new": night.figures.new,
        "copies": night.figures.copies,
        "seconds": round(time.monotonic() - began, 2),
        "cpu_seconds": round(time.process_time() - began_cpu, 2),
        "ingest_cpu": spent["inbox"],
        "validate_cpu": spent["validate"],
        "peak_bytes": peak.bytes,
        "rest_bytes": resident(),
        "store_bytes": result["backup"]["bytes"],
        "kappa": "" if night.kappa is None else round(night.kappa, 4),
        "new_domains": night.figures.created,
        "alarms": " ".join(alarm.name for alarm in night.alarms),
        "code": night.code,
        "digest": result["backup"]["digest"],
    }


def replayed(folder: Path, source: Streams, rows: Sequence[dict[str, Any]]) -> int:
    """The same stories with other batches and without nights; how many digests are the same."""
    same = 0
    settings = resolve({"batch_size": 77})
    for row in rows:
        with Wire(folder / "again.db", settings) as wire:
            wire.ingest(source.night(row["night"]))
            same += wire.status()["digest"] == row["digest"]
    return same


# -- the picture ---------------------------------------------------------------------------------

PANELS = (
    ("cpu_seconds", "seconds of processor a night", 1.0),
    ("peak_bytes", "memory at its peak, MB", 1e6),
    ("store_bytes", "store, MB", 1e6),
    ("kappa", "kappa", 1.0),
)
STYLE = (
    "text{font:12px sans-serif;fill:#222}path{fill:none;stroke:#1565c0;stroke-width:1.6}"
    "line{stroke:#bbb}@media (prefers-color-scheme: dark){text{fill:#ddd}"
    "path{stroke:#90caf9}line{stroke:#555}}"
)


def picture(rows: Sequence[dict[str, Any]]) -> str:
    """Four panels, one below the other, a point a night."""
    width, height, left = 640, 130, 70
    parts = []
    for place, (column, title, unit) in enumerate(PANELS):
        top = 20 + place * height
        points = [(r["night"], float(r[column]) / unit) for r in rows if r[column] != ""]
        most = max((value for _, value in points), default=1.0) or 1.0
        last = max(1, rows[-1]["night"])
        spots = [
            f"{left + (width - left - 20) * x / last:.1f},{top + 85 * (1 - y / most):.1f}"
            for x, y in points
        ]
        parts.append(f'<text x="{left}" y="{top - 6}">{title}</text>')
        parts.append(f'<line x1="{left}" y1="{top + 85}" x2="{width - 20}" y2="{top + 85}"/>')
        parts.append(f'<text x="{left - 8}" y="{top + 8}" text-anchor="end">{most:.4g}</text>')
        parts.append(f'<text x="{left - 8}" y="{top + 89}" text-anchor="end">0</text>')
        parts.append(f'<path d="M{" L".join(spots)}"/>' if spots else "")
    body = "\n".join(part for part in parts if part)
    size = f'width="{width}" height="{20 + height * len(PANELS)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="soak, night by night">'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )


# -- the bars ------------------------------------------------------------------------------------


def mean(rows: Sequence[dict[str, Any]], column: str) -> float:
    return sum(float(row[column]) for row in rows) / len(rows)


def judged(rows: Sequence[dict[str, Any]], same: int | None) -> int:
    """Prints every bar; how many were missed."""
    quarter = max(1, len(rows) // 4)
    warm, end = rows[quarter : 2 * quarter] or rows, rows[-quarter:]
    growth = [
        (b["store_bytes"] - a["store_bytes"]) / b["stories"] for a, b in itertools.pairwise(rows)
    ]
    steady = growth[quarter:] or growth
    early, late = steady[: len(steady) // 2] or steady, steady[len(steady) // 2 :] or steady
    per_story = sum(steady) / max(1, len(steady))
    uneven = abs(sum(late) / len(late) - sum(early) / len(early)) / per_story
    bars = [
        (
            mean(end, "ingest_cpu") <= BAR * mean(warm, "ingest_cpu"),
            (
                f"reading a night: {mean(warm, 'ingest_cpu'):.1f} s of processor after the warm-up,"
                f" {mean(end, 'ingest_cpu'):.1f} s at the end"
            ),
        ),
        (
            mean(end, "peak_bytes") <= BAR * mean(warm, "peak_bytes"),
            (
                f"memory at its peak: {mean(warm, 'peak_bytes') / 1e6:.0f} MB after the warm-up,"
                f" {mean(end, 'peak_bytes') / 1e6:.0f} MB at the end"
            ),
        ),
        (
            uneven <= EVEN,
            f"the store grows by {per_story:,.0f} bytes a story (±{100 * uneven:.0f} %)",
        ),
    ]
    if same is not None:
        bars.append((same == len(rows), f"{same} of {len(rows)} digests found again"))
    print(
        f"whole nights: {mean(warm, 'cpu_seconds'):.1f} s of processor after the warm-up,"
        f" {mean(end, 'cpu_seconds'):.1f} s at the end (validation, report and backup grow with the store)"
    )
    for held, text in bars:
        print(f"  {'ok    ' if held else 'MISSED'}  {text}")
    return sum(not held for held, _ in bars)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--stories", type=int, default=2000)
    parser.add_argument("--output", type=Path, default=Path("out"))
    parser.add_argument("--replay", action="store_true", help="find every digest again")
    options = parser.parse_args()
    source = Streams(options.nights, options.stories)
    options.output.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="segapsith-soak-") as name:
        folder = Path(name)
        Store.writing(folder / "wire.db").close()
        for number in range(options.nights):
            row = live(folder, source, number, {})
            rows.append(row)
            with (options.output / "soak.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(rows)
            print(
                f"night {number:3}: {row['seconds']:6.1f} s ({row['ingest_cpu']:.1f} reading),"
                f" {row['peak_bytes'] / 1e6:6.0f} MB, store {row['store_bytes'] / 1e6:7.1f} MB,"
                f" kappa {row['kappa']}, {row['new_domains']} new domains {row['alarms']}",
                flush=True,
            )
        same = replayed(folder, source, rows) if options.replay else None
    (options.output / "soak.svg").write_text(picture(rows), encoding="utf-8")
    print(f"{options.output / 'soak.csv'} and {options.output / 'soak.svg'} are written")
    return int(bool(judged(rows, same)))


if __name__ == "__main__":
    sys.exit(main())
