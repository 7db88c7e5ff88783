#!/usr/bin/env python
"""Speed and memory of an ingest, and whether it always gives the same digest.

Every ingest is the real command line in a process of its own. The limits: the last thousand documents
take at most twice as long as the first, the peak of memory is below 1.5 GB, a second delivery brings
nothing new, and neither other batches nor kills change the digest.

    scripts/bench ingest                       everything, on all of Reuters-21578
    scripts/bench ingest --limit 1500          the same on 1,500 documents
    scripts/bench ingest --only speed          speed, batches, kills, ratios, or several
    scripts/bench ingest --only ratios --before ../old    beside another tree of this project
    scripts/bench ingest --stages              where the processor time goes, by stage

`ratios` measures processor time: of the whole command over scikit-learn's CountVectorizer on the same
texts (at most 16), peak memory (at most 400 MB) and bytes of the store beside the text (at most 3,000
a story). With `--before TREE` the old code runs in the same rounds: wall time with `--workers auto`
is at most a third of its wall time, and processor time on `orangesum-fr` at most half.

The exit code is 1 if a limit is exceeded.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import itertools
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PARTS = ("speed", "batches", "kills", "ratios")
SLOWDOWN = 2.0
PEAK = 1.5e9
OVER_COUNTING = 16.0
RATIO_PEAK = 400e6
STORY_BYTES = 3000
WALL_SHARE = 0.33
FRENCH_SHARE = 0.5
STRETCH = 1000
"""Documents over which the speed at the beginning and at the end is taken."""

KILO = 1024 if sys.platform != "darwin" else 1  # of ru_maxrss
PROGRAM = [sys.executable, "-m", "segapsith"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One finished ingest."""

    summary: dict[str, Any]
    seconds: float
    peak: int
    marks: list[tuple[float, int]]
    """(seconds since the start, documents committed) whenever that was seen to change."""

    @property
    def start_up(self) -> float:
        """Seconds until the first commit."""
        return self.marks[0][0] if self.marks else 0.0


class Bars:
    """Prints each measurement with its limit, and counts the limits that are exceeded."""

    def __init__(self) -> None:
        self.missed = 0

    def check(self, held: bool, text: str) -> None:
        self.missed += not held
        print(f"  {'ok    ' if held else 'MISSED'}  {text}", flush=True)


def environment() -> dict[str, str]:
    """Return our environment without settings of the program, so that the defaults are measured."""
    return {k: v for k, v in os.environ.items() if not k.startswith("SEGAPSITH_")}


def start(sources: list[Path], store: Path) -> subprocess.Popen[bytes]:
    command = [*PROGRAM, "ingest", *map(str, sources), "--store", str(store), "--json"]
    return subprocess.Popen(
        command,
        cwd=store.parent,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def ingest(sources: list[Path], store: Path, *, watch: bool = False) -> Outcome:
    """Run one ingest to its end, optionally with the times of its commits."""
    began = time.monotonic()
    process = start(sources, store)
    marks: list[tuple[float, int]] = []
    while watch and process.poll() is None:
        committed = documents(store)
        if committed and (not marks or committed > marks[-1][1]):
            marks.append((time.monotonic() - began, committed))
        time.sleep(0.02)
    out, err = process.communicate()
    seconds = time.monotonic() - began
    if process.returncode:
        sys.exit(f"ingest failed with {process.returncode}: {err.decode(errors='replace')}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * KILO
    return Outcome(json.loads(out), seconds, peak, marks)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one command took."""

    processor: float
    wall: float
    peak: int


def cost(tree: Path, source: Path, store: Path, *options: str) -> Cost:
    """Return what an ingest of a tree of this project takes, its workers included."""
    store.unlink(missing_ok=True)
    command = [str(tree / ".venv" / "bin" / "python"), "-m", "segapsith", "ingest", str(source)]
    began = time.monotonic()
    process = subprocess.Popen(
        [*command, "--store", str(store), *options],
        cwd=tree,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, code, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        sys.exit(f"ingest in {tree} failed with {process.returncode}")
    processor = used.ru_utime + used.ru_stime
    return Cost(processor, time.monotonic() - began, used.ru_maxrss * KILO)


def texts(items: list[bytes]) -> list[str]:
    stories = [json.loads(item) for item in items]
    return [f"{story.get('title', '')}\n\n{story.get('text', '')}" for story in stories]


def counting(items: list[bytes]) -> float:
    """Return the processor seconds in which scikit-learn counts the words of the texts."""
    from sklearn.feature_extraction.text import CountVectorizer

    read = texts(items)
    began = time.process_time()
    CountVectorizer().fit_transform(read)
    return time.process_time() - began


def ratios(
    items: list[bytes], folder: Path, data: Path, rounds: int, before: Path | None, bars: Bars
) -> None:
    """Report the best round of each command, as ratios."""
    here = Path(__file__).resolve().parents[1]
    (source,) = written(folder / "ratios", [items])
    store = folder / "ratios.db"
    ours, counted = [], []
    for _ in range(rounds):
        counted.append(counting(items))
        ours.append(cost(here, source, store))
    best, base = min(taken.processor for taken in ours), min(counted)
    bars.check(
        best <= OVER_COUNTING * base,
        f"processor time {best:.1f} s, CountVectorizer {base:.2f} s: ratio {best / base:.1f}"
        f" (at most {OVER_COUNTING:g})",
    )
    peak = min(taken.peak for taken in ours)
    bars.check(peak <= RATIO_PEAK, f"peak of memory {peak / 1e6:.0f} MB (at most 400)")
    size = sum(len(text.encode()) for text in texts(items))
    beside = (store.stat().st_size - size) / len(items)
    bars.check(
        beside <= STORY_BYTES,
        f"{beside:.0f} bytes a story on disk beside its text (at most {STORY_BYTES})",
    )
    spread = min((cost(here, source, store, "--workers", "auto") for _ in range(rounds)), key=_wall)
    alone = min(ours, key=_wall)
    print(f"  --workers auto: wall {spread.wall:.1f} s, one process {alone.wall:.1f} s")
    if before is None:
        return
    old = min((cost(before, source, store) for _ in range(rounds)), key=_wall)
    bars.check(
        spread.wall <= WALL_SHARE * old.wall,
        f"wall time with --workers auto {spread.wall:.1f} s, old code {old.wall:.1f} s:"
        f" {spread.wall / old.wall:.2f} (at most {WALL_SHARE:g})",
    )
    print(f"  processor time {best:.1f} s, old code {old.processor:.1f} s")
    french = data.parents[1] / "orangesum-fr" / "docs.jsonl.gz"
    if french.is_file():
        (source,) = written(folder / "french", [lines(french, len(items))])
        new = min(cost(here, source, store).processor for _ in range(rounds))
        was = min(cost(before, source, store).processor for _ in range(rounds))
        bars.check(
            new <= FRENCH_SHARE * was,
            f"orangesum-fr: processor time {new:.1f} s, old code {was:.1f} s: {new / was:.2f}"
            f" (at most {FRENCH_SHARE:g})",
        )


def _wall(taken: Cost) -> float:
    return taken.wall


def documents(store: Path) -> int:
    """Return the number of committed documents; 0 while there is no store."""
    with contextlib.suppress(sqlite3.Error):
        db = sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=1)
        with contextlib.closing(db):
            return int(db.execute("SELECT count(*) FROM documents").fetchone()[0])
    return 0


def ask(command: str, store: Path) -> dict[str, Any]:
    answer = subprocess.run(
        [*PROGRAM, command, "--store", str(store), "--json"],
        env=environment(),
        capture_output=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def digest(store: Path) -> str:
    return str(ask("status", store)["digest"])


def lines(data: Path, limit: int | None) -> list[bytes]:
    with gzip.open(data) as file:
        return [line for line, _ in zip(file, range(limit or sys.maxsize), strict=False)]


def written(folder: Path, parts: list[list[bytes]]) -> Iterator[Path]:
    """Write each part as a file of JSON lines."""
    folder.mkdir()
    for number, part in enumerate(parts):
        path = folder / f"{number:04}.jsonl"
        path.write_bytes(b"".join(part))
        yield path


def cut(items: list[bytes], n: int) -> list[list[bytes]]:
    """Return the items in `n` parts of nearly equal length."""
    edges = [round(i * len(items) / n) for i in range(n + 1)]
    return [items[a:b] for a, b in itertools.pairwise(edges) if b > a]


def per_thousand(marks: list[tuple[float, int]], from_end: bool) -> float:
    """Return the seconds per thousand documents over the first or the last part of the commits.

    Time starts at the first commit, so that the start of the program does not count.
    """
    (t0, n0), (t1, n1) = marks[0], marks[-1]
    stretch = min(STRETCH, max((n1 - n0) // 3, 1))
    if from_end:
        t0, n0 = max((t, n) for t, n in marks if n <= n1 - stretch)
    else:
        t1, n1 = min((t, n) for t, n in marks if n >= n0 + stretch)
    return 1000 * (t1 - t0) / (n1 - n0)


def speed(whole: Path, store: Path, first: Outcome, bars: Bars) -> None:
    """Report the first ingest, and a second one of the same documents."""
    read = first.summary["read"]
    print(
        f"  {read} documents, {first.summary['units']} units, {first.summary['domains_new']}"
        f" domains in {first.seconds:.1f} s: {read / first.seconds:.0f} documents/s"
        f" ({store.stat().st_size / 1e6:.0f} MB of store)"
    )
    if len(first.marks) >= 4:
        early, late = (per_thousand(first.marks, end) for end in (False, True))
        bars.check(
            late <= SLOWDOWN * early,
            f"seconds per thousand documents: {early:.2f} at the beginning, {late:.2f} at the end,"
            f" ratio {late / early:.2f} (at most {SLOWDOWN:g})",
        )
    else:
        print("  too few commits to compare the beginning with the end")
    bars.check(first.peak <= PEAK, f"peak of memory {first.peak / 1e6:.0f} MB (at most 1500)")
    before = digest(store)
    again = ingest([whole], store)
    bars.check(
        again.summary["new"] == 0 and digest(store) == before,
        f"again: {again.summary['new']} new, the digest is"
        f" {'equal' if digest(store) == before else 'another'} ({again.seconds:.1f} s)",
    )
    sound = ask("verify", store)["sound"]
    bars.check(sound, f"verify: {'sound' if sound else 'faults'}")


def batches(items: list[bytes], folder: Path, wanted: str, counts: list[int], bars: Bars) -> None:
    for n in counts:
        store = folder / f"batches-{n}.db"
        began = time.monotonic()
        for path in written(folder / f"batches-{n}", cut(items, n)):
            ingest([path], store)
        equal = digest(store) == wanted
        took = time.monotonic() - began
        bars.check(
            equal, f"{n} deliveries: digest {'equal' if equal else 'differs'} ({took:.0f} s)"
        )


def kills(
    whole: Path, folder: Path, wanted: str, first: Outcome, n: int, seed: int, bars: Bars
) -> None:
    """Kill an ingest `n` times at random moments, resume it, and check the result."""
    chance = random.Random(seed)
    store = folder / "kills.db"
    landed = progressed = unsound = 0
    longest = first.start_up + 2 * (first.seconds - first.start_up) / n
    for _ in range(n):
        before = documents(store)
        process = start([whole], store)
        time.sleep(chance.uniform(0.1, longest))
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            landed += 1
        process.communicate()
        progressed += documents(store) > before
        if documents(store):
            unsound += not ask("verify", store)["sound"]
    ingest([whole], store)
    equal = digest(store) == wanted
    bars.check(
        equal and not unsound,
        f"{landed} of {n} kills landed, {progressed} after progress, {unsound} left a fault;"
        f" resumed digest {'equal' if equal else 'differs'} (seed {seed})",
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data", type=Path, help="a .jsonl.gz of documents, or the directory of evaluation data"
    )
    parser.add_argument("--limit", type=int, help="number of documents to read")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 7, 100])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments of the kills")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of the ratios")
    parser.add_argument("--before", type=Path, help="another tree, with its .venv, for the ratios")
    parser.add_argument("--stages", action="store_true", help="only a profile by stage")
    chosen = parser.parse_args()
    data = chosen.data or Path(
        os.environ.get("SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    )
    if data.is_dir():
        data = data / "reuters21578" / "docs.jsonl.gz"
    if not data.is_file():
        print(f"there is no archive at {data}; name one with --data or SEGAPSITH_DATA")
        return 2
    bars = Bars()
    items = lines(data, chosen.limit)
    with tempfile.TemporaryDirectory(prefix="segapsith-bench-") as name:
        folder = Path(name)
        (whole,) = written(folder / "whole", [items])
        store = folder / "whole.db"
        if chosen.stages:
            command = [sys.executable, str(Path(__file__).with_name("stages.py"))]
            command += ["ingest", str(whole), "--store", str(store)]
            return subprocess.run(command, env=environment(), check=False).returncode
        if "ratios" in chosen.only:
            print(f"ratios: {len(items)} documents, the best of {chosen.rounds} rounds")
            ratios(items, folder, data, chosen.rounds, chosen.before, bars)
        if chosen.only != ["ratios"]:
            first = ingest([whole], store, watch=True)
            wanted = digest(store)
        if "speed" in chosen.only:
            print(f"speed: {len(items)} documents")
            speed(whole, store, first, bars)
        if "batches" in chosen.only:
            print("batches: the archive in several deliveries")
            batches(items, folder, wanted, chosen.batches, bars)
        if "kills" in chosen.only:
            print("kills: kill -9 at random moments, then the same command again")
            kills(whole, folder, wanted, first, chosen.kills, chosen.seed, bars)
    print(f"{bars.missed} limits exceeded" if bars.missed else "no limit is exceeded")
    return int(bars.missed > 0)


if __name__ == "__main__":
    sys.exit(main())
