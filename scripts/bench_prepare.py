#!/usr/bin/env python
"""How much processor time `prepare` takes, and how much it saves at ingest.

Each step is the real command line in a process of its own: the archive is ingested, prepared, and
ingested from its shards. The digests must be equal. Time is that of the processor, so other work on
the machine matters little.

    scripts/bench prepare                            4,000 stories of Reuters-21578
    scripts/bench prepare --stories 20000            more of them
    scripts/bench prepare --annotator spacy          with another annotator
    scripts/bench prepare --archive FILE --rounds 3  another archive, the best of three rounds

The exit code is 1 if the digests differ or nothing was saved.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

PROGRAM = [sys.executable, "-m", "segapsith"]


def processor_seconds(*arguments: str) -> float:
    """Run one command and return its processor time; end the program if it fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = subprocess.run([*PROGRAM, *arguments], check=False, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if answer.returncode:
        sys.exit(f"{' '.join(arguments)}: {answer.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def digest_of(store: str) -> str:
    answer = subprocess.run(
        [*PROGRAM, "status", "--json", "--store", store], check=True, capture_output=True, text=True
    )
    return str(json.loads(answer.stdout)["digest"])


def one_round(names: list[str], folder: Path, others: list[str]) -> tuple[float, float, float]:
    """Return the seconds of ingest, prepare, and ingest of the shards."""
    raw, shards, ready = (str(folder / name) for name in ("raw.db", "shards", "ready.db"))
    seconds = (
        processor_seconds("ingest", *names, "--store", raw, *others),
        processor_seconds("prepare", *names, "--output", shards, *others),
        processor_seconds("ingest", shards, "--store", ready, *others),
    )
    if digest_of(raw) != digest_of(ready):
        sys.exit("the digests differ")
    return seconds


def archive(given: str | None, n_stories: int, folder: Path) -> Iterator[str]:
    """Yield the archive: the given one, or the first stories of Reuters-21578."""
    if given is not None:
        yield given
        return
    data = os.environ.get("SEGAPSITH_DATA")
    if not data:
        sys.exit("set SEGAPSITH_DATA to the folder of the evaluation data, or give --archive FILE")
    path = folder / "archive.jsonl"
    with gzip.open(Path(data, "reuters21578", "docs.jsonl.gz")) as lines, path.open("wb") as out:
        out.writelines(islice(lines, n_stories))
    yield str(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--archive", help="a file or a directory (default: Reuters-21578)")
    parser.add_argument("--stories", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--annotator", default="simplemma")
    given = parser.parse_args()
    others = ["--annotator", given.annotator, "--quiet"]
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        names = list(archive(given.archive, given.stories, root))
        start = processor_seconds("--version")  # compiled files are warm after this
        rounds = []
        for number in range(given.rounds):
            folder = root / str(number)
            folder.mkdir()
            rounds.append(one_round(names, folder, others))
        sizes = [path.stat().st_size for path in Path(temporary, "0", "shards").iterdir()]
        raw, prepared, ready = (min(column) for column in zip(*rounds, strict=True))
        print(f"annotator {given.annotator}, start of the program {start:.2f} s each")
        print(f"ingest of the archive    {raw:8.2f} s")
        print(f"prepare                  {prepared:8.2f} s, {sum(sizes) / 1e6:.1f} MB of shards")
        print(f"ingest of the shards     {ready:8.2f} s: {1 - ready / raw:.0%} saved")
    return 0 if ready < raw else 1


if __name__ == "__main__":
    sys.exit(main())
