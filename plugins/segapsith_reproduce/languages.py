"""What is read and learned in each language, on sets whose names end in its code.

Every set is ingested with the default settings, in memory: at most 2,000 stories. The group of a
story is that of most of its words, and the best level counts, by adjusted mutual information. The
single pass and k-means read the same words; k-means receives the number of classes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np

from segapsith import progress
from segapsith.api.wire import Wire
from segapsith.errors import MissingInputError
from segapsith.evaluation.metrics import ami
from segapsith.languages import BUILT_IN, pack_of
from segapsith.model import Document, Lexicon
from segapsith.plugin.registry import load_plugins
from segapsith_reproduce import Options, Table
from segapsith_reproduce.data_sets import evenly, lines
from segapsith_reproduce.streams import rivals
from segapsith_reproduce.streams.labelled import learn
from segapsith_reproduce.streams.single_pass import SinglePass

__all__ = ["languages", "sets_of"]

Cell: TypeAlias = str | int | float | None

MAX_STORIES, QUICK_STORIES = 2000, 400
THRESHOLDS = (0.03, 0.05, 0.07, 0.09, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4)
N_DOMAINS, N_WORDS = 30, 10
"""Largest domains, and first words of each, that are searched for stop words."""

MARGIN = 0.05
"""Allowed distance from k-means with the number of classes given."""

HEAD = (
    "set", "stories", "content", "lemma", "stops", "classes", "best level", "groups", "AMI",
    "single", "k-means",
)  # fmt: skip


def sets_of(data: Path) -> tuple[str, ...]:
    """Return the sets whose names end in the code of a language, but English and French."""
    codes = {f"-{code}" for code in BUILT_IN if code not in ("en", "fr")}
    names = sorted(p.parent.name for p in data.glob("*/docs.jsonl.gz"))
    return tuple(name for name in names if name[-3:] in codes)


def languages(data: Path, options: Options) -> Table:
    """Return reading and learning for every set."""
    names = options.sets or sets_of(data)
    if not names:
        raise MissingInputError(f"{data} has no set whose name ends in the code of a language")
    table: list[list[Cell]] = []
    for name in progress.steps(names):
        options.tell(f"{name} …")
        table.append(_row(data, name, options))
    scored = [row for row in table if row[8] is not None]
    n_single = sum(_number(row[8]) >= _number(row[9]) for row in scored)
    n_means = sum(_number(row[8]) >= _number(row[10]) - MARGIN for row in scored)
    n_stops = sum(row[4] == 0 for row in table)
    return Table(
        "Languages, default settings",
        HEAD,
        table,
        [
            (
                f"AMI at least that of the best single pass: {n_single} of {len(scored)};"
                f" within {MARGIN} of k-means: {n_means} of {len(scored)};"
                f" no stop word in a domain: {n_stops} of {len(table)}"
            ),
            "content: share of words; lemma: share of content words whose lemma is not the form as written",
            f"stops: stop words among the first {N_WORDS} words of the {N_DOMAINS} largest domains",
            (
                f"single: TF-IDF single pass, best of {len(THRESHOLDS)} thresholds;"
                " k-means: spherical, with the number of classes given"
            ),
        ],
    )


def _number(cell: Cell) -> float:
    return float(cell) if isinstance(cell, int | float) else 0.0


def _documents(data: Path, name: str, limit: int) -> list[Document]:
    lang = name[-2:]
    items = evenly(lines(data, name), limit)
    return [
        Document(
            uid=str(item["id"]),
            title=item.get("title") or "",
            body=item.get("text") or "",
            lang=lang,
            metadata={"label": item["event"] if "event" in item else item.get("label")},
        )
        for item in items
    ]


def _row(data: Path, name: str, options: Options) -> list[Cell]:
    documents = _documents(data, name, QUICK_STORIES if options.quick else MAX_STORIES)
    share, covered = _reading(documents)
    n_stops = _stop_words(documents)
    row: list[Cell] = [name, len(documents), round(share, 3), round(covered, 3), n_stops]
    if not any(document.metadata["label"] is not None for document in documents):
        return [*row, *(None,) * 6]
    stream, _ = learn(documents)
    scores = {level: ami(labels, stream.classes) for level, labels in stream.levels.items()}
    best = max(scores, key=lambda level: scores[level])
    single = SinglePass(stream.units)
    passes = [ami(stream.labels(single.labels(t)), stream.classes) for t in THRESHOLDS]
    k = len(set(stream.classes))
    means = rivals.k_means(rivals.text_rows(stream.units), k, options.seed)
    n_groups = len(np.unique(stream.levels[best]))
    figures = (scores[best], max(passes), ami(stream.labels(means), stream.classes))
    return [*row, k, best, n_groups, *(round(float(figure), 3) for figure in figures)]


def _reading(documents: list[Document]) -> tuple[float, float]:
    """Return the share of words that are content, and of those whose lemma is not the form."""
    annotator = load_plugins(only_own=True).make("annotator", "simplemma")
    n_words = n_content = n_known = 0
    forms: dict[tuple[str, str], int] = {}
    for annotation in annotator.annotate(documents, Lexicon()):
        content = np.flatnonzero(annotation.content).tolist()
        n_words += len(annotation.lemmas)
        n_content += len(content)
        text = annotation.document.text
        for place in content:
            start, end = annotation.spans[place].tolist()
            key = annotation.lemmas[place], text[start:end]
            forms[key] = forms.get(key, 0) + 1
    n_known = sum(n for (lemma, form), n in forms.items() if lemma != form.lower())
    return n_content / max(n_words, 1), n_known / max(n_content, 1)


def _stop_words(documents: list[Document]) -> int:
    """Return how many first words of the largest domains are stop words."""
    with Wire(":memory:") as wire:
        wire.ingest(documents)
        domains = wire.domains()[:N_DOMAINS]
    stops = pack_of(documents[0].lang or "").stop_words
    return sum(word.word in stops for d in domains for word in d.words[:N_WORDS])
