"""The document sets of the GVSM tables: counts of words, classes, and tf-idf rows.

A set is a folder with `matrix.npz` (documents × words, counts) and `labels.txt`, or a folder with
`docs.jsonl.gz` (`title`, `text`, `label`), whose matrix is made here: runs of letters and digits in
subject line and body that are no numbers, without stop words, stemmed. With these words there are as
many as the paper counts. All words are used, also those of one document. The text of the paper
excludes these, but its figures include them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from segapsith.arrays import Rows
from segapsith.errors import MissingInputError, UsageError, did_you_mean
from segapsith.lexicon.vocabulary import tf_idf
from segapsith_reproduce import Options
from segapsith_reproduce.cells import LabelledRows, is_present, labelled_matrix
from segapsith_reproduce.data_sets import lines
from segapsith_reproduce.gvsm.porter import stem
from segapsith_reproduce.printed import shipped

__all__ = [
    "chosen_sets",
    "document_set",
    "folder_of",
    "missing_sets",
    "printed_sets",
    "tf_idf_rows",
]

RAW = {"20 ng": "20ng-mini"}
"""Folders whose name is not that of the paper, in lower case."""
QUICK = ("tr31", "re0", "wap")
NO_STOP_WORDS = frozenset({
    "ca", "did", "does", "doing", "just", "make", "quite", "really", "regarding", "say", "unless",
    "used", "using", "various",
})  # fmt: skip
"""Words of spaCy's list of stop words that the older list of the University of Glasgow lacks."""


def folder_of(name: str) -> str:
    """Return the folder of a set of the paper.

    >>> folder_of("20 ng"), folder_of("Hitech")
    ('20ng-mini', 'hitech')
    """
    return RAW.get(name, name.lower())


@lru_cache(maxsize=1)
def printed_sets() -> tuple[str, ...]:
    """Return the names of the paper's sets, small ones first."""
    sizes = {
        cell.keys["set"]: cell.value or 0
        for cell in shipped("gvsm-1")
        if cell.keys["measure"] == "n"
    }
    return tuple(sorted(sizes, key=lambda name: (sizes[name], name)))


def _is_present(data: Path, name: str) -> bool:
    folder = data / folder_of(name)
    if (folder / "matrix.npz").is_file():
        return is_present(folder, "matrix")
    return name in RAW and (folder / "docs.jsonl.gz").is_file()


def missing_sets(data: Path) -> list[str]:
    """Return the paper's sets that are not in the data folder."""
    return [name for name in printed_sets() if not _is_present(data, name)]


def chosen_sets(data: Path, options: Options) -> list[str]:
    """Return the sets of `--sets`, or those of the paper that are present, named as in the paper.

    `--sets` accepts any folder with a matrix and labels, by the name of the folder or of the paper.
    """
    by_folder = {folder_of(name): name for name in printed_sets()}
    others = sorted(path.parent.name for path in data.glob("*/matrix.npz"))
    names = [*printed_sets(), *(name for name in others if name not in by_folder)]
    if not options.sets:
        wanted: Sequence[str] = QUICK if options.quick else printed_sets()
        present = [name for name in wanted if _is_present(data, name)]
        present = present or [name for name in printed_sets() if _is_present(data, name)]
        if not present:
            raise MissingInputError(
                f"{data} has none of {', '.join(map(folder_of, printed_sets()))};"
                " name another directory with --data"
            )
        return present
    selected = [by_folder.get(given.lower(), given) for given in options.sets]
    for name in selected:
        if name not in names:
            raise UsageError(
                f"no set of this table is called {name!r} (there are: {', '.join(names)})"
                f"{did_you_mean(name, names)}"
            )
        if not _is_present(data, name):
            raise MissingInputError(f"{data} has no set {folder_of(name)}")
    return [name for name in names if name in selected]


@lru_cache(maxsize=2)
def document_set(folder: Path) -> LabelledRows:
    """Return the counts of words in each document, and the classes."""
    if (folder / "matrix.npz").is_file():
        (counts,), classes = labelled_matrix(folder, "matrix")
        return LabelledRows(counts, classes)
    documents = lines(folder.parent, folder.name)
    counts = _stemmed_counts([f"{d.get('title') or ''}\n{d.get('text') or ''}" for d in documents])
    return LabelledRows(counts, [str(d["label"]) for d in documents])


def tf_idf_rows(documents: LabelledRows) -> Rows:
    """Return tf × ln(N / df), rows of length 1, with all words."""
    return tf_idf(documents.matrix, min_documents=1)


def _stemmed_counts(texts: Sequence[str]) -> Rows:
    """Return the counts of the stems of each text; columns in the order of first occurrence."""
    from spacy.lang.en.stop_words import STOP_WORDS

    stop_words = STOP_WORDS - NO_STOP_WORDS
    numbers: dict[str, int] = {}
    columns: list[int] = []
    values: list[int] = []
    ends = [0]
    for text in texts:
        words = (word for word in re.findall("[a-z0-9]+", text.lower()) if not word.isdigit())
        stems = Counter(stem(word) for word in words if word not in stop_words)
        columns += [numbers.setdefault(word, len(numbers)) for word in stems]
        values += stems.values()
        ends.append(len(columns))
    shape = (len(texts), max(len(numbers), 1))
    return csr_array((np.array(values, np.float64), columns, ends), shape=shape)
