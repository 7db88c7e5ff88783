#!/usr/bin/env python
"""How long commands take to start and answer, and what they load.

Every command is the real command line in a process of its own, the best of several rounds. The
limits: 0.25 s for commands that only read a store, 0.7 s for an ingest of one story and for
`classify`, 1 s for an ingest of 100 short stories, all warm. With `--first`, also the first ingest
after an installation, which compiles every kernel that it uses: 12 s.

    scripts/bench start                        a store of 20,000 stories of Reuters-21578
    scripts/bench start --store wire.db        a store of your own
    scripts/bench start --limit 2000           fewer stories
    scripts/bench start --first                with an empty cache of compiled kernels

Wall time counts, so run it on a machine that does nothing else. The exit code is 1 if a limit is
exceeded.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

PROGRAM = [sys.executable, "-m", "segapsith"]

READING = (
    "status", "domains", "show 1", "search oil", "today", "sections --kept", "events --limit 40",
    "runs",
)  # fmt: skip
"""Commands that only read a store."""

READ_SECONDS, LEARN_SECONDS, HUNDRED_SECONDS, FIRST_SECONDS = 0.25, 0.7, 1.0, 12.0

SENTENCE = "Oil prices rose after ministers agreed to cut output."


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds that a command took, by the clock and by the processor."""

    wall: float
    processor: float


def run(arguments: list[str], environment: dict[str, str] | None = None) -> Taken:
    """Run one command; end the program if it fails."""
    given = {k: v for k, v in os.environ.items() if not k.startswith("SEGAPSITH_")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    answer = subprocess.run(
        [*PROGRAM, *arguments], check=False, env=given | (environment or {}), capture_output=True
    )
    wall = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if answer.returncode:
        sys.exit(f"{' '.join(arguments)}: {answer.stderr.decode(errors='replace')}")
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Taken(wall, spent)


def report(name: str, taken: Taken, limit: float) -> bool:
    """Print what a command took; return whether that is more than allowed."""
    exceeded = taken.wall > limit
    print(
        f"  {'MISSED' if exceeded else 'ok    '}  {name:<28} {taken.wall:6.2f} s"
        f" (processor {taken.processor:.2f} s, at most {limit:g} s)",
        flush=True,
    )
    return exceeded


def best(rounds: int, arguments: list[str]) -> Taken:
    """Return the fastest of several rounds."""
    return min((run(arguments) for _ in range(rounds)), key=lambda taken: taken.wall)


def stories(folder: Path, n_stories: int) -> Path:
    """Write short stories as JSON lines, and return the path."""
    path = folder / f"{n_stories}.jsonl"
    lines = (
        json.dumps({"id": f"s{n}", "title": f"Story {n}", "text": f"{SENTENCE} Report {n}."})
        for n in range(n_stories)
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def learning(folder: Path, store: Path, rounds: int) -> int:
    """Measure commands that read texts; return how many limits are exceeded."""
    one, hundred = stories(folder, 1), stories(folder, 100)
    missed = 0
    for name, source, limit in (
        ("ingest of 1 story", one, LEARN_SECONDS),
        ("ingest of 100 stories", hundred, HUNDRED_SECONDS),
    ):
        taken = []
        for n in range(rounds + 1):  # the first round fills the cache of compiled kernels
            fresh = folder / f"{source.stem}-{n}.db"
            taken.append(run(["ingest", str(source), "--lang", "en", "--store", str(fresh)]))
        missed += report(name, min(taken[1:], key=lambda t: t.wall), limit)
    classify = ["classify", SENTENCE, "--store", str(store)]
    run(classify)
    return missed + report("classify", best(rounds, classify), LEARN_SECONDS)


def first(folder: Path) -> bool:
    """Measure an ingest with an empty cache; return whether it takes longer than allowed."""
    cache = folder / "kernels"
    command = ["ingest", str(stories(folder, 100)), "--lang", "en"]
    cold = run([*command, "--store", str(folder / "cold.db")], {"NUMBA_CACHE_DIR": str(cache)})
    warm = run([*command, "--store", str(folder / "warm.db")], {"NUMBA_CACHE_DIR": str(cache)})
    shutil.rmtree(cache, ignore_errors=True)
    compiling = Taken(cold.wall - warm.wall, cold.processor - warm.processor)
    return report("compiling, first ingest", compiling, FIRST_SECONDS)


def made_store(data: Path, folder: Path, limit: int) -> Path:
    """Ingest stories of Reuters-21578, group them, and return the path of the store."""
    source, store = folder / "stories.jsonl", folder / "stories.db"
    with gzip.open(data / "reuters21578" / "docs.jsonl.gz") as lines:
        source.write_bytes(b"".join(islice(lines, limit)))
    run(["ingest", str(source), "--store", str(store)])
    run(["sections", "--store", str(store)])
    return store


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="directory of evaluation data")
    parser.add_argument("--store", type=Path, help="a store to read (default: made from the data)")
    parser.add_argument("--limit", type=int, default=20_000, help="stories of that store")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each command")
    parser.add_argument("--first", action="store_true", help="also the first ingest of all")
    chosen = parser.parse_args()
    data = chosen.data or Path(
        os.environ.get("SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    )
    if chosen.store is None and not data.is_dir():
        print(f"there is no data at {data}; name it with --data, or a store with --store")
        return 2
    missed = 0
    with tempfile.TemporaryDirectory(prefix="segapsith-bench-") as name:
        folder = Path(name)
        store = chosen.store or made_store(data, folder, chosen.limit)
        for command in READING:
            arguments = [*command.split(), "--store", str(store)]
            missed += report(command, best(chosen.rounds, arguments), READ_SECONDS)
        missed += learning(folder, store, chosen.rounds)
        if chosen.first:
            missed += first(folder)
    print(f"{missed} limits exceeded" if missed else "no limit is exceeded")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
