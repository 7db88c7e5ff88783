"""Count matrices: pre-segmented units, one per row."""

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
    """Read a sparse matrix: finite, duplicates summed, columns sorted."""
    try:
        rows = csr_array(load_npz(path))
    except (OSError, ValueError, KeyError, EOFError, TypeError) as error:
        raise InputError(
            f"{path}: not a sparse matrix saved with scipy.sparse.save_npz: {error}"
        ) from error
    if not np.isfinite(rows.data).all():
        raise InputError(f"{path}: not read: the matrix has values that are not finite")
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def count_matrix(path: Path) -> Iterator[Document | Reject]:
    """Yield the rows as units, in the order of `dates.txt` if that file is in the same folder.

    The id of a unit is its folder and row (`tdt2:17`). A word is the line of `words.txt`, or named
    after its column (`w42`). The lines of `labels.txt` become metadata.
    """
    rows = read_matrix(path)
    n_rows, n_words = rows.shape
    dates = _beside(path, "dates.txt", n_rows)
    labels = _beside(path, "labels.txt", n_rows)
    words = _beside(path, "words.txt", n_words) or [f"w{i}" for i in range(n_words)]
    is_count = (rows.data == np.rint(rows.data)) & (rows.data >= 0)
    invalid = set(np.repeat(np.arange(n_rows), np.diff(rows.indptr))[~is_count].tolist())
    order = sorted(range(n_rows), key=dates.__getitem__) if dates else range(n_rows)
    folder = path.absolute().parent.name
    names = sorted(set(words))
    column_of = dict(zip(names, range(len(names)), strict=True))
    columns = np.fromiter(map(column_of.__getitem__, words), np.int32, n_words)
    named = csr_array((rows.data, columns[rows.indices], rows.indptr), (n_rows, len(names)))
    named.sum_duplicates()  # sorts, and joins columns of equal name
    indices, counts = named.indices, named.data.astype(np.int64)
    ends = named.indptr.tolist()
    for row in order:
        uid = f"{folder}:{row}"
        if row in invalid:
            yield Reject(uid, "the counts should be whole numbers, at least 0")
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


def _beside(path: Path, name: str, n_lines: int) -> list[str] | None:
    """Return the lines of a file in the folder of a matrix, or None if there is no such file."""
    file = path.with_name(name)
    if not file.is_file():
        return None
    lines = file.read_text(encoding="utf-8").splitlines()
    if len(lines) != n_lines:
        raise InputError(f"{file}: {len(lines)} lines, but {path.name} requires {n_lines}")
    return lines
