"""A snapshot as JSON lines: one unit per line, with its group and its words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import BinaryIO

import numpy as np
from scipy.sparse import csr_array

from segapsith import Snapshot, hookimpl

__all__ = ["JsonExport"]


class JsonExport:
    """Lines of `{"unit", "label", "words"}` in the order of the snapshot.

    `label` is null for a unit in no group. `words` maps each word of the unit to its value; a whole
    number is written without a fraction.
    """

    def export(self, snapshot: Snapshot, out: BinaryIO) -> None:
        """Write one line per unit, in UTF-8."""
        rows = csr_array(snapshot.rows, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        if not np.isfinite(rows.data).all():
            raise ValueError(f"snapshot {snapshot.name!r} contains a value that is not finite")
        labels = snapshot.labels.tolist()
        for place, unit in enumerate(snapshot.units.tolist()):
            own = slice(int(rows.indptr[place]), int(rows.indptr[place + 1]))
            words = {
                snapshot.words[column]: int(value) if float(value).is_integer() else float(value)
                for column, value in zip(
                    rows.indices[own].tolist(), rows.data[own].tolist(), strict=True
                )
            }
            label = labels[place] if labels[place] >= 0 else None
            line = json.dumps(
                {"unit": unit, "label": label, "words": dict(sorted(words.items()))},
                ensure_ascii=False,
                allow_nan=False,
            )
            out.write(line.encode("utf-8", "replace") + b"\n")


@hookimpl
def register_exporters() -> Mapping[str, type[JsonExport]]:
    return {"jsonl": JsonExport}
