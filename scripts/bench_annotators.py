"""Words per second of the annotators, compared with scikit-learn and spaCy in one run.

    python scripts/bench_annotators.py [--data DIR] [--documents N] [--rounds N]

Every contender reads the same texts on one core, in turn, `--rounds` times. The best round counts,
because other work on the machine can only slow a round down. A word is a token of `simplemma`. Our
time includes reading the JSON lines; the others start with the texts in memory. `cold` is the first
reading of a process, with an empty cache and the dictionary not yet loaded: each round is a process
of its own. `--documents 0` reads the whole corpus.
"""

from __future__ import annotations

import argparse
import gzip
import io
import itertools
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from segapsith.model import Document, Lexicon
from segapsith_plugins.annotators.simplemma_words import SimplemmaWords
from segapsith_plugins.sources.json_lines import JsonLines

CORPORA = {"en": "reuters21578", "fr": "orangesum-fr"}


def lines(path: Path, limit: int) -> bytes:
    """Return the first lines of a corpus."""
    with gzip.open(path) as stream:
        return b"".join(itertools.islice(stream, limit or None))


def documents(data: bytes, lang: str) -> list[Document]:
    """Return the documents that `ingest` would read from JSON lines."""
    found = (item for item in JsonLines().read(io.BytesIO(data), "bench"))
    return [replace(item, lang=lang) for item in found if isinstance(item, Document)]


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of some work."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def in_a_process(work: Callable[[], object]) -> float:
    """Return the processor time of some work in a fork of this process."""
    ear, mouth = os.pipe()
    child = os.fork()
    if not child:
        os.write(mouth, repr(seconds(work)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    told = os.read(ear, 64)
    os.close(ear)
    os.close(mouth)
    return float(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data",
        default=os.environ.get(
            "SEGAPSITH_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"
        ),
    )
    parser.add_argument("--documents", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()

    import spacy
    from sklearn.feature_extraction.text import CountVectorizer

    for lang, corpus in CORPORA.items():
        path = Path(args.data) / corpus / "docs.jsonl.gz"
        if not path.exists():
            print(f"{lang}: {path} is not there; give --data DIR")
            continue
        data = lines(path, args.documents)
        texts = [document.text for document in documents(data, lang)]
        few = texts[: max(1, len(texts) // 20)]  # spaCy is slow, and its pace does not change
        share = sum(map(len, few)) / sum(map(len, texts))
        annotator = SimplemmaWords(lang=lang)
        blank = spacy.blank(lang)

        def ours(
            annotator: SimplemmaWords = annotator, data: bytes = data, lang: str = lang
        ) -> int:
            wire = documents(data, lang)
            return sum(len(a.lemmas) for a in annotator.annotate(wire, Lexicon()))

        def theirs(texts: list[str] = texts) -> object:
            return CountVectorizer().fit_transform(texts)

        def spacys(blank: spacy.language.Language = blank, few: list[str] = few) -> int:
            return sum(len(blank(text)) for text in few)

        cold = min(in_a_process(ours) for _ in range(args.rounds))
        times = [(seconds(ours), seconds(theirs), seconds(spacys)) for _ in range(args.rounds)]
        n_words = ours()
        warm, vectorizer, tokens = (min(column) for column in zip(*times, strict=True))
        print(f"{lang}: {corpus}, {len(texts)} documents, {n_words} words")
        print(f"  simplemma        {n_words / warm:12,.0f} words/s  (cold {n_words / cold:,.0f})")
        print(f"  CountVectorizer  {n_words / vectorizer:12,.0f} words/s")
        print(f"  spacy.blank      {n_words * share / tokens:12,.0f} words/s")
        print(
            f"  simplemma is {vectorizer / warm:.2f} (cold {vectorizer / cold:.2f}) times "
            f"CountVectorizer, {tokens / share / warm:.1f} times spacy.blank"
        )


if __name__ == "__main__":
    main()
