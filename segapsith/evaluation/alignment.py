"""Alignment of two labellings: by document, and by the labelled stretches of its text.

The items are those of the side with stretches, or of the left side if both have them. An item gets
the label of the stretch of the other side that overlaps it most, if that covers at least half of
the item. A label without a stretch holds for the whole document.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from segapsith.errors import InputError, UsageError
from segapsith.intake.documents import cleaned, text_hash
from segapsith.limits import MAX_ITEM_CHARS
from segapsith.model import Document

__all__ = ["LABEL_FIELDS", "TEXT_MARK", "Side", "align", "by_text", "read_labels"]

LABEL_FIELDS = ("label", "labels", "event", "topic", "section", "tags", "domain", "cluster")
"""Fields that may hold a label. If a file has several of them, the user must choose one."""


BERTOPIC_FIELDS = frozenset({"Document", "Topic", "Name"})
"""Columns by which a table of BERTopic is recognised."""

TEXT_MARK = "text:"
"""Begins the identity of a document that is known by the hash of its text only."""


@dataclass(frozen=True, slots=True)
class Side:
    """Labelled stretches of documents; `starts` and `ends` are None if labels hold for documents."""

    name: str
    documents: Sequence[str]
    labels: Sequence[int | str]
    starts: Sequence[int] | None = None
    ends: Sequence[int] | None = None
    n_several: int = 0
    """Number of items with several labels, of which the first was used."""
    field: str = ""
    """Where the labels come from: a field of a file, or `domain` or `cluster` of a store."""

    def __len__(self) -> int:
        return len(self.documents)


def read_labels(path: str | Path, field: str | None = None) -> Side:
    """Read the labels of a file of JSON lines or CSV: `id` (or `document`), a label, `start`, `end`.

    A table that BERTopic wrote (`get_document_info`) needs no ids: its texts are the identity, and
    its outliers (topic -1) have no label. Without `field`, the label is the only field of `LABEL_FIELDS` that the file fills in. If an item
    has several labels, the first one counts; items without a label are skipped.
    """
    file = Path(path)
    if not file.name.removesuffix(".gz").endswith((".jsonl", ".ndjson", ".csv")):
        raise UsageError(f"{file}: a labelled file should end in .jsonl or .csv (.gz may follow)")
    rows = list(_records(file))
    if rows and rows[0][1].keys() >= BERTOPIC_FIELDS:
        rows = [(number, _of_bertopic(row)) for number, row in rows]
        field = "topic" if field is None else field
    field = _label_field(file, rows) if field is None else field
    items = [item for number, row in rows if (item := _item(file, number, row, field)) is not None]
    if not items:
        fields = dict.fromkeys(str(name) for _, row in rows for name in row)
        raise InputError(
            f"{file}: no item has a label (looked for {field or ', '.join(LABEL_FIELDS)};"
            f" found {', '.join(fields)}); --field names one"
        )
    spans = [item.span for item in items if item.span is not None]
    if spans and len(spans) != len(items):
        raise InputError(f"{file}: some items have start and end and others do not")
    labels = [item.label for item in items]
    if len({type(label) for label in labels}) > 1:
        labels = [str(label) for label in labels]
    return Side(
        file.name,
        [item.document for item in items],
        labels,
        [start for start, _ in spans] or None,
        [end for _, end in spans] or None,
        sum(item.has_several for item in items),
        field,
    )


def by_text(text: str) -> str:
    """Return the mark of a text that stands where a document has no id.

    >>> by_text("Two  words") == by_text("Two words")
    True
    """
    return TEXT_MARK + text_hash(cleaned(Document(body=text)))


def _of_bertopic(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of BERTopic's table with the names that this module uses."""
    topic = str(row["Topic"])
    uid = row.get("id") or row.get("ID") or by_text(str(row["Document"]))
    label = None if topic == "-1" else row.get("Name") or topic
    return {**row, "id": uid, "topic": label}


class _Item(NamedTuple):
    """A labelled item of a file."""

    document: str
    label: int | str
    span: tuple[int, int] | None
    has_several: bool


def _item(file: Path, number: int, row: Mapping[str, Any], field: str) -> _Item | None:
    """Return the labelled item of a row, or None if the row has no label."""
    uid = row.get("id", row.get("document"))
    if uid in (None, ""):
        raise InputError(f"{file}, line {number}: there is no id")
    value = row.get(field)
    has_several = isinstance(value, list) and len(value) > 1
    if isinstance(value, list):
        value = value[0] if value else None
    if value is None or value == "":
        return None
    start, end = row.get("start"), row.get("end")
    span = None
    if start not in (None, "") and end not in (None, ""):
        try:
            span = int(str(start)), int(str(end))
        except ValueError as error:
            raise InputError(f"{file}, line {number}: start and end should be numbers") from error
    return _Item(str(uid), value if isinstance(value, int) else str(value), span, has_several)


def _label_field(file: Path, rows: Sequence[tuple[int, Mapping[str, Any]]]) -> str:
    """Return the only field that may hold the labels; empty if there is none.

    The events and sections of the program's own assignments are not among them.
    """
    own = bool(rows) and {"unit", "domain", "score"} <= rows[0][1].keys()
    fields = [name for name in LABEL_FIELDS if not (own and name in ("event", "section"))]
    candidates = [
        name for name in fields if any(row.get(name) not in (None, "", []) for _, row in rows)
    ]
    if len(candidates) > 1:
        raise UsageError(
            f"{file}: several fields may hold the labels ({', '.join(candidates)});"
            f" choose one, for example --field {candidates[0]}"
        )
    return candidates[0] if candidates else ""


def _records(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the rows of a file with their line numbers."""
    opened = gzip.open if file.suffix == ".gz" else open
    try:
        with opened(file, "rt", encoding="utf-8", newline="") as lines:
            if file.name.removesuffix(".gz").endswith(".csv"):
                csv.field_size_limit(MAX_ITEM_CHARS)
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


def align(left: Side, right: Side) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the items that both sides label, as their positions on the left and on the right.

    >>> units = Side("units", ["a", "a", "b"], [1, 2, 1], [0, 50, 0], [50, 90, 20])
    >>> gold = Side("gold", ["a", "a", "c"], ["x", "y", "x"], [0, 40, 0], [40, 90, 9])
    >>> [part.tolist() for part in align(units, gold)]
    [[0, 1], [0, 1]]
    >>> [part.tolist() for part in align(units, Side("whole", ["b", "a"], ["x", "y"]))]
    [[0, 1, 2], [1, 1, 0]]
    """
    if left.starts is None and right.starts is not None:
        theirs, ours = align(right, left)
        return ours, theirs
    positions: dict[str, list[int]] = {}
    for position, document in enumerate(right.documents):
        positions.setdefault(document, []).append(position)
    pairs = [
        (item, partner)
        for item, document in enumerate(left.documents)
        if (partner := _partner(left, item, right, positions.get(document, []))) is not None
    ]
    ours, theirs = (np.array([pair[i] for pair in pairs], dtype=np.int64) for i in (0, 1))
    return ours, theirs


def _partner(left: Side, item: int, right: Side, candidates: list[int]) -> int | None:
    """Return the candidate on the right that overlaps an item of the left enough, or None."""
    if not candidates:
        return None
    if right.starts is None or right.ends is None or left.starts is None or left.ends is None:
        return candidates[0]
    start, end = left.starts[item], left.ends[item]
    overlaps = [min(end, right.ends[i]) - max(start, right.starts[i]) for i in candidates]
    best = int(np.argmax(overlaps))
    if start == end == 0 and right.ends[candidates[best]] == 0:
        return candidates[best]  # pre-segmented units have no text
    return candidates[best] if 2 * overlaps[best] >= max(1, end - start) else None
