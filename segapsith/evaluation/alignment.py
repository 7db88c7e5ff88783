"""Two labellings brought together: by document, and by the stretches of text that are labelled.

One side gives the items: that with stretches, or the left one if both have them. An item takes the
label of the other side's stretch that overlaps it most, if that is at least half of the item; a
label without a stretch holds for the whole document.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segapsith.errors import InputError, UsageError

__all__ = ["LABEL_FIELDS", "Side", "labelled_file", "matched"]

LABEL_FIELDS = ("label", "labels", "event", "topic", "section", "tags", "domain", "cluster")
"""Fields that may hold a label. A file that has several of them needs a choice."""


@dataclass(frozen=True, slots=True)
class Side:
    """Labelled stretches of documents; `starts` and `ends` are None where labels are for the whole."""

    name: str
    documents: Sequence[str]
    labels: Sequence[int | str]
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None
    n_several: int = 0
    """Items that had several labels, of which the first was taken."""
    field: str = ""
    """Where the labels were read: a field of a file, `domain` or `cluster` of a store."""

    def __len__(self) -> int:
        return len(self.documents)


def labelled_file(path: str | Path, field: str | None = None) -> Side:
    """Read the labels of a file of JSON lines or CSV: `id` (or `document`), a label, `start`, `end`.

    Without `field`, the label is the only field of `LABEL_FIELDS` that the file fills in. Where an
    item has several labels the first one counts.
    """
    file = Path(path)
    if not file.name.removesuffix(".gz").endswith((".jsonl", ".ndjson", ".csv")):
        raise UsageError(f"{file}: a labelled file should end in .jsonl or .csv (.gz may follow)")
    rows = list(_records(file))
    field = _label_field(file, rows) if field is None else field
    documents: list[str] = []
    labels: list[int | str] = []
    starts: list[int] = []
    ends: list[int] = []
    n_several = 0
    for number, row in rows:
        uid = row.get("id", row.get("document"))
        if uid in (None, ""):
            raise InputError(f"{file}, line {number}: there is no id")
        value = row.get(field)
        if isinstance(value, list):
            n_several += len(value) > 1
            value = value[0] if value else None
        if value is None or value == "":
            continue  # not labelled
        documents.append(str(uid))
        labels.append(value if isinstance(value, int) else str(value))
        try:
            start, end = row.get("start"), row.get("end")
            if start not in (None, "") and end not in (None, ""):
                starts.append(int(str(start)))
                ends.append(int(str(end)))
        except ValueError as error:
            raise InputError(f"{file}, line {number}: start and end should be numbers") from error
    if not documents:
        fields = dict.fromkeys(str(name) for _, row in rows for name in row)
        raise InputError(
            f"{file}: no item has a label (looked for {field or ', '.join(LABEL_FIELDS)};"
            f" found {', '.join(fields)}); --field names one"
        )
    if starts and len(starts) != len(documents):
        raise InputError(f"{file}: some items have start and end and others do not")
    if len({type(label) for label in labels}) > 1:
        labels = [str(label) for label in labels]
    return Side(file.name, documents, labels, starts or None, ends or None, n_several, field)


def _label_field(file: Path, rows: Sequence[tuple[int, Mapping[str, Any]]]) -> str:
    """Return the only field that may hold the labels; empty if there is none."""
    candidates = [
        name for name in LABEL_FIELDS if any(row.get(name) not in (None, "", []) for _, row in rows)
    ]
    if len(candidates) > 1:
        raise UsageError(
            f"{file}: several fields may hold the labels ({', '.join(candidates)});"
            f" choose one, for example --field {candidates[0]}"
        )
    return candidates[0] if candidates else ""


def _records(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rt", encoding="utf-8", newline="") as lines:
            if file.name.removesuffix(".gz").endswith(".csv"):
                yield from enumerate(csv.DictReader(lines), 2)
                return
            for number, line in enumerate(lines, 1):
                if line.strip():
                    row = json.loads(line)
                    if not isinstance(row, dict):
                        raise InputError(f"{file}, line {number}: it is not a JSON object")
                    yield number, row
    except (
        UnicodeDecodeError,
        json.JSONDecodeError,
        csv.Error,
        EOFError,
        gzip.BadGzipFile,
    ) as error:
        raise InputError(f"{file}: {error}") from error


def matched(left: Side, right: Side) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The items that both sides label: their places on the left and on the right.

    >>> units = Side("units", ["a", "a", "b"], [1, 2, 1], [0, 50, 0], [50, 90, 20])
    >>> gold = Side("gold", ["a", "a", "c"], ["x", "y", "x"], [0, 40, 0], [40, 90, 9])
    >>> [part.tolist() for part in matched(units, gold)]
    [[0, 1], [0, 1]]
    >>> [part.tolist() for part in matched(units, Side("whole", ["b", "a"], ["x", "y"]))]
    [[0, 1, 2], [1, 1, 0]]
    """
    if left.starts is None and right.starts is not None:
        theirs, ours = matched(right, left)
        return ours, theirs
    places: dict[str, list[int]] = {}
    for place, document in enumerate(right.documents):
        places.setdefault(document, []).append(place)
    pairs = [
        (item, found)
        for item, document in enumerate(left.documents)
        if (found := _partner(left, item, right, places.get(document, []))) is not None
    ]
    ours, theirs = (np.array([pair[i] for pair in pairs], dtype=np.int64) for i in (0, 1))
    return ours, theirs


def _partner(left: Side, item: int, right: Side, candidates: list[int]) -> int | None:
    if not candidates:
        return None
    if right.starts is None or right.ends is None or left.starts is None or left.ends is None:
        return candidates[0]
    start, end = left.starts[item], left.ends[item]
    overlaps = [
        min(end, right.ends[place]) - max(start, right.starts[place]) for place in candidates
    ]
    best = int(np.argmax(overlaps))
    if start == end == 0 and right.ends[candidates[best]] == 0:
        return candidates[best]  # ready-made units have no text
    return candidates[best] if 2 * overlaps[best] >= max(1, end - start) else None
