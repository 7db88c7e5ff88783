#!/usr/bin/env python
"""What each stage of an ingest would cost if it were only its simplest library call.

    scripts/bench limits                       all of Reuters-21578
    scripts/bench limits --limit 6000          fewer stories

Processor time in seconds, one process, the best of several rounds. `scripts/bench ingest --stages`
prints what the stages themselves take; docs/operations/cost.md shows both.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import re
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

ROUNDS = 2
RANK = 150
"""Axes of the word space."""


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of the fastest round."""
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def look_up(texts: Sequence[str]) -> int:
    """Find the words of texts and look each up in a dictionary."""
    words = re.compile(r"\w+").findall
    known: dict[str, int] = {}
    return sum(
        known.setdefault(word, len(known)) >= 0 for text in texts for word in words(text.lower())
    )


def insert(rows: Sequence[tuple[int, str, str]], indexed: bool) -> None:
    """Insert texts into a file of SQLite in transactions of 500, optionally with an index."""
    with tempfile.TemporaryDirectory(prefix="segapsith-bench-") as folder:
        db = sqlite3.connect(Path(folder) / "texts.db", isolation_level=None)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("CREATE TABLE texts (id INTEGER PRIMARY KEY, title TEXT, body TEXT)")
        db.execute("CREATE VIRTUAL TABLE found USING fts5 (title, body, content='texts')")
        for first in range(0, len(rows), 500):
            part = rows[first : first + 500]
            db.execute("BEGIN")
            db.executemany("INSERT INTO texts VALUES (?, ?, ?)", part)
            if indexed:
                db.executemany("INSERT INTO found (rowid, title, body) VALUES (?, ?, ?)", part)
            db.execute("COMMIT")
        db.close()


def decompose(texts: Sequence[str]) -> None:
    """Compute the axes of the words by SciPy, with weights by scikit-learn."""
    from scipy.sparse.linalg import svds
    from sklearn.feature_extraction.text import TfidfVectorizer

    rows = TfidfVectorizer(min_df=3, max_df=0.2, sublinear_tf=True).fit_transform(texts)
    svds(rows, k=min(RANK, len(texts) // 4))


def count(texts: Sequence[str]) -> None:
    """Count the words of texts by scikit-learn."""
    from sklearn.feature_extraction.text import CountVectorizer

    CountVectorizer().fit_transform(texts)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="directory of evaluation data")
    parser.add_argument("--limit", type=int, help="number of stories")
    chosen = parser.parse_args()
    data = chosen.data or Path(
        os.environ.get("SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")
    )
    path = data / "reuters21578" / "docs.jsonl.gz"
    if not path.is_file():
        print(f"there is no archive at {path}; name the data with --data or SEGAPSITH_DATA")
        return 2
    with gzip.open(path) as file:
        lines = list(islice(file, chosen.limit))
    stories = [json.loads(line) for line in lines]
    texts = [f"{story.get('title', '')}\n\n{story.get('text', '')}" for story in stories]
    rows = [(n, s.get("title", ""), s.get("text", "")) for n, s in enumerate(stories)]
    print(f"{len(texts)} stories")
    for name, work in (
        ("reading bytes: json.loads", lambda: [json.loads(line) for line in lines]),
        ("hashes: hashlib.sha256", lambda: [hashlib.sha256(t.encode()).digest() for t in texts]),
        ("words: re.findall and a dictionary", lambda: look_up(texts)),
        ("word space: scipy svds, once", lambda: decompose(texts[:16_384])),
        ("saving: SQLite, texts only", lambda: insert(rows, indexed=False)),
        ("saving: SQLite, texts and full-text index", lambda: insert(rows, indexed=True)),
        ("CountVectorizer, for comparison", lambda: count(texts)),
    ):
        print(f"  {seconds(work):6.2f} s  {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
