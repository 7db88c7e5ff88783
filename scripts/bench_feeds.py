"""Share of a corpus of wire files that is read completely, and the effect of damaged files.

    python scripts/bench_feeds.py [--files N] [--mutants N] [--seed N] [--show N] [FILE…]

The corpus is the one of `tests/promises/wire_corpus.py`: well-formed files of every format, each with
its expected stories. Then mutants of the files are read. No mutant may crash a reader, take longer
than a few seconds, or be ignored without a message. With FILE arguments, these are read instead and
the result of each is printed. The exit code is 1 if less than 99 % are read completely, or if a
mutant did harm.
"""

from __future__ import annotations

import argparse
import importlib.util
import random
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from segapsith.io.inputs import Inputs
from segapsith.model import Document, Reject
from segapsith.plugin.contracts import Source
from segapsith.plugin.registry import load_plugins

ROOT = Path(__file__).parents[1]
SLOW = 5.0
"""Seconds that a small damaged file may take."""

Read = tuple[list[Document], list[str]]
"""The documents, and what was refused, in words."""


def wire_corpus() -> ModuleType:
    """Return the module that makes the corpus, which the tests share."""
    spec = importlib.util.spec_from_file_location(
        "wire_corpus", ROOT / "tests" / "promises" / "wire_corpus.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def sources() -> dict[str, Source]:
    """Return every installed source."""
    registry = load_plugins()
    return {name: registry.make("source", name) for name in registry.names("source")}


def read(path: Path, known: dict[str, Source]) -> Read:
    """Read a file as `ingest` does."""
    inputs = Inputs([str(path)], known)
    documents: list[Document] = []
    refused: list[str] = []
    for item in inputs.items():
        if isinstance(item, Document):
            documents.append(item)
        elif isinstance(item, Reject):
            refused.append(f"{item.name}: {item.reason}")
    return documents, refused + [str(failure) for failure in inputs.failures]


def whole(args: argparse.Namespace, path: Path, known: dict[str, Source]) -> bool:
    """Print a table of the well-formed files by kind."""
    made = wire_corpus()
    read_whole: Counter[str] = Counter()
    n_files: Counter[str] = Counter()
    n_shown = 0
    for one in made.corpus(args.seed, args.files):
        kind = one.name.rpartition("-")[0]
        n_files[kind] += 1
        path.write_bytes(one.data)
        documents, refused = read(path, known)
        wrong = made.missing(one, [(d.title, d.body) for d in documents]) + refused
        read_whole[kind] += not wrong
        if wrong and n_shown < args.show:
            n_shown += 1
            print(f"   {one.name} {', '.join(one.habits)}", *wrong[:3], sep="\n      ")
    print("kind          files  whole")
    for kind, n in n_files.items():
        print(f"{kind:12} {n:6}  {read_whole[kind] / n:6.2%}")
    share = read_whole.total() / max(n_files.total(), 1)
    print(f"{'all':12} {n_files.total():6}  {share:6.2%}")
    return share >= 0.99


def damaged(args: argparse.Namespace, path: Path, known: dict[str, Source]) -> bool:
    """Print how many mutants crash, are slow, or give no message."""
    made = wire_corpus()
    sound = [one.data for one in made.corpus(args.seed + 1, min(args.mutants, 400))]
    chance = random.Random(args.seed)
    crashes = slow = silent = n_documents = n_refused = 0
    longest = 0.0
    for number in range(args.mutants):
        path.write_bytes(made.broken(sound[number % len(sound)], chance, sound))
        begin = time.monotonic()
        try:
            documents, refused = read(path, known)
        except Exception:
            crashes += 1
            traceback.print_exc()
            Path(tempfile.gettempdir(), f"mutant-{number}").write_bytes(path.read_bytes())
            continue
        took = time.monotonic() - begin
        longest = max(longest, took)
        slow += took > SLOW
        silent += not documents and not refused
        n_documents += bool(documents)
        n_refused += bool(refused)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(
        f"{args.mutants} mutants: {crashes} crashes, {slow} longer than {SLOW:g} s (longest "
        f"{longest:.2f} s), {silent} in silence; {n_documents} gave documents, {n_refused} were "
        f"reported; {peak} MB at most"
    )
    return not crashes and not slow and not silent


def describe(files: Sequence[str], known: dict[str, Source]) -> None:
    """Print the result of each of these files."""
    for file in files:
        documents, refused = read(Path(file), known)
        print(f"{file}: {len(documents)} documents")
        for one in documents:
            print(f"   {one.uid} | {one.title[:90]!r} | {one.body[:160]!r} | {one.date} {one.lang}")
        for reason in refused:
            print(f"   - {reason}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=3300)
    parser.add_argument("--mutants", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="number of failures to print")
    parser.add_argument("named", nargs="*", metavar="FILE")
    args = parser.parse_args()
    known = sources()
    if args.named:
        describe(args.named, known)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        sound = whole(args, path, known)
        return 0 if damaged(args, path, known) and sound else 1


if __name__ == "__main__":
    sys.exit(main())
