"""Memory and speed of reading all languages, one after the other in one process.

    python scripts/bench_languages.py [--data DIR] [--stories N] [--only xx …] [--no-store]

Each language is read from the first set whose name ends in its code. `memory` is the resident
memory after the language, `more` what the language added. By default one store learns all of them,
and `learned` is processor time per million characters. With `--no-store` the stories are only read:
`cold` is the first reading, dictionary included, and `warm` the second.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import itertools
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from segapsith.api.wire import Wire
from segapsith.languages import BUILT_IN
from segapsith.model import Document, Lexicon
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords

OTHERS = {"en": "reuters21578", "fr": "orangesum-fr"}


def documents(folder: Path, lang: str, limit: int) -> list[Document]:
    """Return the first stories of a set."""
    with gzip.open(folder / "docs.jsonl.gz", "rt", encoding="utf-8") as lines:
        items = map(json.loads, itertools.islice(lines, limit))
        return [
            Document(
                uid=f"{lang}-{n}", title=x.get("title") or "", body=x.get("text") or "", lang=lang
            )
            for n, x in enumerate(items)
        ]


def sets(data: Path, only: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield each language that has a set, with the folder of the first one."""
    for lang in only or BUILT_IN:
        names = [data / OTHERS[lang]] if lang in OTHERS else sorted(data.glob(f"*-{lang}"))
        folders = [folder for folder in names if (folder / "docs.jsonl.gz").exists()]
        if folders:
            yield lang, folders[0]


def resident() -> float:
    """Return the resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=os.environ.get("SEGAPSITH_DATA", beside))
    parser.add_argument("--stories", type=int, default=100)
    parser.add_argument("--only", nargs="*", default=[], metavar="xx")
    parser.add_argument("--no-store", action="store_true")
    given = parser.parse_args()

    annotator = SimplemmaWords()
    before, peak = resident(), 0.0
    print(f"{before:.0f} MB before the first language")
    print(
        "lang   characters  memory    more " + ("   cold    warm" if given.no_store else "learned")
    )
    with tempfile.TemporaryDirectory() as folder, Wire(Path(folder) / "all.db") as wire:

        def read(stories: list[Document]) -> None:
            collections.deque(annotator.annotate(stories, Lexicon()), maxlen=0)

        for lang, path in sets(Path(given.data), given.only):
            stories = documents(path, lang, given.stories)
            n_millions = sum(len(story.text) for story in stories) / 1e6
            seconds = []
            for step in (read, read) if given.no_store else (wire.ingest,):
                begin = time.process_time()
                step(stories)
                seconds.append(time.process_time() - begin)
            after = resident()
            times = " ".join(f"{s / max(n_millions, 1e-6):7.2f}" for s in seconds)
            print(
                f"{lang:4} {1e6 * n_millions:12,.0f} {after:7.0f} {after - before:7.0f} {times}",
                flush=True,
            )
            before, peak = after, max(peak, after)
    print(f"{peak:.0f} MB at most; times in seconds per million characters")


if __name__ == "__main__":
    main()
