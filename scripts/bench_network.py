"""Speed and size of the collocation network: words per second, links, peak memory.

    python scripts/bench_network.py [--words N] [--vocabulary N] [--data DIR]
    python scripts/bench_network.py --stories N [--data DIR]

The corpus is synthetic: words follow Zipf's law, and each text has one of several subjects that
prefer their own words. As in `network build`, pairs are counted and stored run by run, and the
network is computed from them. The time is compared with the time that `simplemma` takes to annotate
as many words of real stories in the same run; the network should take no longer. A quarter of the
corpus is measured as well: time should be proportional. `--stories N` measures the word vectors of N
real stories instead.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segapsith.engine.network_state import RANK
from segapsith.engine.reference_corpus import BUFFER
from segapsith.engine.runs import RunPlan
from segapsith.lexicon.cooccurrence import Pairs, count_pairs, counted, merged
from segapsith.lexicon.network import NetworkSettings, links
from segapsith.lexicon.word_vectors import learn_points
from segapsith.model import Document, Lexicon
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords
from segapsith_store import Store

ROOT = Path(__file__).resolve().parents[1]
TEXT = 150
"""Content words of a text."""
DRAWN = 500_000
"""Words that are drawn at a time."""
SUBJECTS = 300
OWN_SHARE = 0.45
"""Of the words of a text, how many are drawn from those its subject prefers."""


def corpus(n_words: int, vocabulary: int, seed: int = 0) -> Iterator[NDArray[np.int32]]:
    """Yield texts of `TEXT` words, as many as `network build` counts at a time."""
    waiting: list[NDArray[np.int32]] = []
    for words in _drawn(n_words, vocabulary, seed):
        waiting.append(words)
        if sum(map(len, waiting)) >= BUFFER:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _drawn(n_words: int, vocabulary: int, seed: int) -> Iterator[NDArray[np.int32]]:
    chance = np.random.default_rng(seed)
    weights = 1 / np.arange(1, vocabulary + 1) ** 1.0
    sums = np.cumsum(weights) / weights.sum()
    own = [np.sort(chance.choice(vocabulary, vocabulary // 20, False)) for _ in range(SUBJECTS)]
    table = np.array(own)
    own_weights = 1 / np.arange(1, table.shape[1] + 1) ** 0.9
    own_sums = np.cumsum(own_weights) / own_weights.sum()
    left = n_words
    while left > 0:
        n_texts = max(1, min(DRAWN, left) // TEXT)
        shape = (n_texts, TEXT)
        common = np.searchsorted(sums, chance.random(shape))
        subject = np.repeat(chance.integers(0, SUBJECTS, n_texts)[:, None], TEXT, axis=1)
        special = table[subject, np.searchsorted(own_sums, chance.random(shape))]
        words = np.where(chance.random(shape) < OWN_SHARE, special, common)
        yield np.minimum(words, vocabulary - 1).astype(np.int32).ravel()
        left -= n_texts * TEXT


def peak() -> float:
    """Return the peak memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(n_words: int, vocabulary: int, settings: NetworkSettings) -> float:
    """Count, store and compute the network; print the figures and return the processor time."""
    occurrences = np.zeros(vocabulary, np.int64)
    counting = 0.0
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.writing(Path(folder) / "network.db") as store,
        store.run(RunPlan("bench")) as run,
    ):
        for words in corpus(n_words, vocabulary):
            began = time.process_time()
            occurrences += np.bincount(words, minlength=vocabulary)
            ends = np.arange(TEXT, len(words) + 1, TEXT)
            store.add_reference_pairs(run.number, counted(words, settings.window, ends))
            counting += time.process_time() - began
        began = time.process_time()
        pairs = 0

        def pieces() -> Iterator[Pairs]:
            nonlocal pairs
            for piece in store.pairs(run.number):
                pairs += len(piece.keys)
                yield piece

        tokens = int(occurrences.sum())
        graph = links(pieces(), occurrences, tokens, settings)
        freezing = time.process_time() - began
        size = store.number("SELECT sum(length(pairs) + length(counts)) FROM pair_runs")
    print(
        f"  {tokens:,} words, {pairs:,} pairs, {len(graph.neighbours) // 2:,} links:"
        f" counting and keeping {counting:.1f} s, freezing {freezing:.1f} s"
        f" ({tokens / (counting + freezing):,.0f} words/s); {size / 1e6:.0f} MB kept"
        f" ({size / max(pairs, 1):.2f} bytes a pair); peak memory {peak():.0f} MB",
        flush=True,
    )
    return counting + freezing


def stories(data: Path, n_stories: int) -> list[Document]:
    """Return real stories; none if the data is missing."""
    path = data / "reuters21578" / "docs.jsonl.gz"
    if not path.exists():
        return []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in islice(lines, n_stories)]
    return [Document(str(number), body=text, lang="en") for number, text in enumerate(texts)]


def spacing(data: Path, n_stories: int) -> None:
    """Print the time for the word vectors of real stories."""
    numbers: dict[str, int] = {}
    words: list[int] = []
    ends: list[int] = []
    for a in SimplemmaWords(lang="en").annotate(stories(data, n_stories), Lexicon()):
        lemmas = [a.lemmas[i] for i in np.flatnonzero(a.content).tolist()]
        words += [numbers.setdefault(lemma, len(numbers)) for lemma in lemmas]
        ends.append(len(words))
    for n in (100, len(ends)):  # the first compiles
        began = time.process_time()
        points = learn_points(
            np.array(words[: ends[n - 1]], np.int32), np.array(ends[:n], np.int64), rank=RANK
        )
        seconds = time.process_time() - began
    n_words, rank = points.vectors.shape
    print(f"  {len(ends):,} stories, {n_words:,} words, {rank} axes: {seconds:.2f} s")


def annotating(data: Path) -> tuple[float, float]:
    """Return the processor time of `simplemma` per content word of real stories, cold and warm."""
    documents = stories(data, 3000)
    if not documents:
        return 0.0, 0.0
    annotator = SimplemmaWords(lang="en")
    paces = []
    for _ in range(2):
        began = time.process_time()
        n_words = sum(int(a.content.sum()) for a in annotator.annotate(documents, Lexicon()))
        paces.append((time.process_time() - began) / n_words)
    return paces[0], paces[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("SEGAPSITH_DATA", str(ROOT.parent / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default))
    parser.add_argument("--words", type=int, default=39_000_000)
    parser.add_argument("--vocabulary", type=int, default=31_000)
    parser.add_argument("--min-cohesion", type=float, default=0.02)
    parser.add_argument("--stories", type=int, help="measure the word vectors of N stories")
    args = parser.parse_args()
    if args.stories:
        spacing(args.data, args.stories)
        return
    settings = NetworkSettings(min_cohesion=args.min_cohesion, most_links=0)
    merged([count_pairs(np.arange(9, dtype=np.int32))] * 2)  # compiles
    measure(100_000, args.vocabulary, settings)
    quarter = measure(args.words // 4, args.vocabulary, settings)
    whole = measure(args.words, args.vocabulary, settings)
    print(f"  four times the words take {whole / quarter:.2f} times as long")
    cold, warm = annotating(args.data)
    if not warm:
        print(f"  {args.data / 'reuters21578'} is not there; give --data DIR to compare")
        return
    for how, pace in (("unmet", cold), ("met before", warm)):
        words = args.words * pace
        print(
            f"  annotating as many content words, {how}: {words:.1f} s ({1 / pace:,.0f} words/s);"
            f" the network takes {whole / words:.2f} of it (bar: 1)"
        )


if __name__ == "__main__":
    main()
