"""Count matrices: units that were made elsewhere, one a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, load_npz

from segapsith.errors import InputError
from segapsith.intake.bag_batch import Row
from segapsith.model import Document, Json, Reject

__all__ = ["count_matrix", "read_matrix"]


def read_matrix(path: Path) -> csr_array:
    """The sparse matrix of a file, finite, duplicates summed, columns sorted."""
    try:
        rows = csr_array(load_npz(path))
    except (OSError, ValueError, KeyError, EOFError, TypeError) as error:
        raise InputError(f"{path}: it is not a sparse matrix saved by SciPy: {error}") from error
    if not np.isfinite(rows.data).all():
        raise InputError(f"{path}: it holds values that are not finite")
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def count_matrix(path: Path) -> Iterator[Document | Reject]:
    """Rows as units, in the order of `dates.txt` if that lies beside; `labels.txt` is kept too.

    A unit is called after its folder and row (`tdt2:17`), a word after its column (`w42`) or by the
    line of `words.txt`.
    """
    rows = read_matrix(path)
    n_rows, n_words = rows.shape
    dates = _beside(path, "dates.txt", n_rows)
    labels = _beside(path, "labels.txt", n_rows)
    words = _beside(path, "words.txt", n_words) or [f"w{i}" for i in range(n_words)]
    whole = (rows.data == np.rint(rows.data)) & (rows.data >= 0)
    wrong = set(np.repeat(np.arange(n_rows), np.diff(rows.indptr))[~whole].tolist())
    order = sorted(range(n_rows), key=dates.__getitem__) if dates else range(n_rows)
    folder = path.absolute().parent.name
    names = sorted(set(words))
    place = dict(zip(names, range(len(names)), strict=True))
    columns = np.fromiter(map(place.__getitem__, words), np.int32, n_words)
    named = csr_array((rows.data, columns[rows.indices], rows.indptr), (n_rows, len(names)))
    named.sum_duplicates()  # sorts, and columns of one name are one word
    indices, counts = named.indices, named.data.astype(np.int64)
    ends = named.indptr.tolist()
    for row in order:
        uid = f"{folder}:{row}"
        if row in wrong:
            yield Reject(uid, "its counts are not whole numbers")
            continue
        metadata: dict[str, Json] = {"label": labels[row]} if labels else {}
        first, last = ends[row], ends[row + 1]
        yield Document(
            uid=uid,
            date=dates[row] if dates else None,
            lang="en",
            metadata=metadata,
            bag=Row(names, indices[first:last], counts[first:last]),
        )


def _beside(path: Path, name: str, wanted: int) -> list[str] | None:
    """The lines of a file beside a matrix, if there are as many as wanted."""
    file = path.with_name(name)
    if not file.is_file():
        return None
    lines = file.read_text(encoding="utf-8").splitlines()
    if len(lines) != wanted:
        raise InputError(f"{file}: it has {len(lines)} lines, but {path.name} wants {wanted}")
    return lines
