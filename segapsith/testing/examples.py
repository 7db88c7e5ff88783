"""Small rows, texts and snapshots that checks and tests work on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from segapsith.arrays import Labels, Rows
from segapsith.model import Annotation, Document, Snapshot

__all__ = [
    "chosen_units",
    "example_annotation",
    "example_documents",
    "example_rows",
    "example_snapshot",
    "relabelled",
]


def example_rows(
    n_rows: int = 24, n_words: int = 60, *, n_groups: int = 4, length: int = 20, seed: int = 0
) -> Rows:
    """Word counts in groups that mostly keep to words of their own; no row is empty.

    >>> example_rows(3, 10).shape, bool((example_rows(3, 10).sum(axis=1) == 20).all())
    ((3, 10), True)
    """
    rng = np.random.default_rng(seed)
    chances = 1.0 / np.arange(1, n_words + 1)
    drawn = rng.choice(n_words, size=(n_rows, length), p=chances / chances.sum())
    group = np.arange(n_rows) % n_groups
    own = rng.random((n_rows, length)) < 0.7
    words = np.where(own, (drawn * n_groups + group[:, None]) % n_words, drawn)
    rows = np.repeat(np.arange(n_rows), length)
    counts = csr_array((np.ones(rows.size), (rows, words.ravel())), shape=(n_rows, n_words))
    counts.sum_duplicates()
    return counts


def example_documents() -> tuple[Document, ...]:
    """Texts of every sort: plain, empty, foreign, odd, long."""
    texts = (
        "The river rose in the night. Three bridges were closed.\n\nSchools stayed shut.",
        "",
        " \n\t\r\n ",
        "Flood",
        "…?! — (–) «»",
        "Le fleuve a débordé ; l’école d’à côté n’ouvrira pas aujourd’hui.",
        "Rain 🌧️ and more rain 👩‍👩‍👧‍👦🇫🇷 until\u200b Monday",
        "A NUL was here: a\ufffdb. Half a pair too: \ufffd\ufffd.",
        "النهر ارتفع ليلا 川は夜に上昇した Река поднялась",
        "e\u0301te\u0301 \u202egnp.exe\u202c fi\ufb01 ß İstanbul",
        "1,234.5 % of $3bn-a-year on 2026-01-31 at http://example.org/a?b=c&d=%20 @you #rain",
        "word" * 25_000,
        "one two three. " * 2_000,
        "line\n" * 500,
    )
    return tuple(
        Document(uid=f"d{number}", title="Storm" if number % 3 == 0 else "", body=text, lang=lang)
        for number, (text, lang) in enumerate(
            zip(texts, ["en", "fr", None, "en", "en", "fr", "en"] * 2, strict=True)
        )
    )


_WORD = re.compile(r"\w+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?\n]*")


def example_annotation(body: str, title: str = "") -> Annotation:
    """A text cut at everything that is no letter or digit; words of four letters are content.

    >>> list(example_annotation("The river rose.").lemmas)
    ['the', 'river', 'rose']
    """
    document = Document(uid="example", title=title, body=body, lang="en")
    words = list(_WORD.finditer(document.text))
    sentences = [m.span() for m in _SENTENCE.finditer(document.text)]
    return Annotation(
        document,
        [m.group().lower() for m in words],
        np.array([m.span() for m in words], np.int32).reshape(-1, 2),
        np.array([len(m.group()) > 3 for m in words], np.bool_),
        np.array(sentences, np.int32).reshape(-1, 2),
    )


def example_snapshot(
    n_units: int = 40, *, n_groups: int = 4, seed: int = 0, name: str = "example"
) -> Snapshot:
    """Units in groups of their own words, with some left alone; words that are hard to quote."""
    rows = example_rows(n_units, 30, n_groups=n_groups, seed=seed)
    labels = np.arange(n_units, dtype=np.int64) % n_groups
    labels[n_units - n_units // 10 :] = -1
    odd = ('a "b"', "c,d", "é\n", "🌧️", "<e>", "f\tg", "'h'", "\\i")
    words = [*odd, *(f"word{number}" for number in range(len(odd), 30))]
    units = np.arange(1, n_units + 1, dtype=np.int64) * 3
    groups = {g: {"word9": 1.0, f"word{10 + g}": 0.5} for g in range(min(n_groups, n_units))}
    return Snapshot(name, units, labels, rows, words, groups)


def relabelled(snapshot: Snapshot, labels: Sequence[int] | Labels, name: str) -> Snapshot:
    new = np.asarray(labels, dtype=np.int64)
    return Snapshot(name, snapshot.units, new, snapshot.rows, snapshot.words)


def chosen_units(snapshot: Snapshot, places: Any) -> Snapshot:
    return Snapshot(
        snapshot.name,
        snapshot.units[places],
        snapshot.labels[places],
        snapshot.rows[places],
        snapshot.words,
        snapshot.groups,
    )
