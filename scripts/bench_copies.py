"""Quality and speed of near-duplicate detection: a table by kind, and the rate beside the annotator's.

    python scripts/bench_copies.py [--data DIR] [--each N] [--rounds N]

The labelled set is the one of `tests/intake/test_near_duplicates.py`: copies of real stories, made by
cutting, editing and interleaving, and similar stories that are no copies. The rate is measured on the
same documents in one run: annotation with `simplemma` (warm), and detection of the copies of one
window. The best round counts, because other work can only slow a round down. The last lines fill a
window of 100,000 stories and measure in it.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from segapsith.intake.fingerprints import signature
from segapsith.intake.near_duplicates import WINDOW, Window
from segapsith.model import Document, Lexicon
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords

ROOT = Path(__file__).parents[1]
CORPORA = {"en": "reuters21578", "fr": "orangesum-fr"}


def _tests() -> ModuleType:
    """Return the tests of near-duplicates, which make the labelled set."""
    spec = importlib.util.spec_from_file_location(
        "labelled_set", ROOT / "tests" / "intake" / "test_near_duplicates.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of some work."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def stream(texts: Sequence[str], window: Window, first: int = 1) -> int:
    """Look for every text, add it if it is new, and return the number of copies."""
    copies = 0
    for number, text in enumerate(texts, first):
        mark = signature(text)
        if window.find(mark) is None:
            window.add(number, number, mark)
        else:
            copies += 1
    return copies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("SEGAPSITH_DATA", str(ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--each", type=int, default=500, help="number of probes of each kind")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    tests = _tests()
    every: list[str] = []
    for lang, corpus in CORPORA.items():
        if not (args.data / corpus / "docs.jsonl.gz").exists():
            print(f"{lang}: {args.data / corpus} is not there; give --data DIR")
            continue
        stories = tests.read_stories(args.data, corpus)
        earlier, probes = tests.labelled(stories, args.each)
        result = tests.judged(earlier, probes)
        print(f"{lang}: {corpus}, {len(earlier)} earlier stories, {len(probes)} probes")
        for kind in [*tests.COPIES, *(k for k in result if k not in tests.COPIES)]:
            found = result[kind]
            copied = kind in tests.COPIES
            share = tests.recall(found)
            print(
                f"  {'copy ' if copied else 'other'} {kind:<28} {found.total():5}"
                f"  {'recall' if copied else 'kept apart'} {share:.3f}  matched wrongly {found['wrong']}"
            )
        print(f"  precision {tests.precision(result):.4f}")
        texts = [story.text for story in stories]
        every += texts
        wire = [Document(str(n), body=text, lang=lang) for n, text in enumerate(texts)]
        annotator = SimplemmaWords(lang=lang)
        n_words = sum(len(a.lemmas) for a in annotator.annotate(wire, Lexicon()))
        times = [
            (
                seconds(lambda a=annotator, w=wire: sum(1 for _ in a.annotate(w, Lexicon()))),
                seconds(lambda t=texts: stream(t, Window())),
            )
            for _ in range(args.rounds)
        ]
        annotating, finding = (min(column) for column in zip(*times, strict=True))
        print(
            f"  annotating {n_words / annotating:,.0f} words/s, copies {n_words / finding:,.0f}"
            f" words/s ({finding / len(texts) * 1e6:.0f} µs a document):"
            f" copies take {finding / annotating:.2f} of the annotator's time"
        )
    if every:
        full_window(every)


def full_window(texts: Sequence[str]) -> None:
    """Fill a window with 100,000 stories, the wire and shuffled halves of it, and measure."""
    chance = random.Random(0)
    stories = list(texts)
    while len(stories) < WINDOW + 10_000:
        one, two = (chance.choice(texts).split(" ") for _ in range(2))
        stories.append(" ".join([*one[: len(one) // 3], *two[len(two) // 2 :]]))
    window = Window()
    stream(stories[:WINDOW], window)
    chance.shuffle(stories)
    late = stories[-10_000:]
    taken = seconds(lambda: stream(late, window, WINDOW + 1))
    n_words = sum(len(text.split()) for text in late)
    print(
        f"window: {len(window):,} stories, {window.nbytes / 1e6:.0f} MB;"
        f" {n_words / taken:,.0f} words/s, {taken / len(late) * 1e6:.0f} µs a document"
    )


if __name__ == "__main__":
    main()
