"""Document sets that are small enough to be made here."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

WriteMatrix = Callable[[str, Any, list[str]], None]


@pytest.fixture
def write_matrix(tmp_path: Path) -> WriteMatrix:
    """Return a function that writes a matrix and its labels as a set."""

    def write(name: str, counts: Any, classes: list[str]) -> None:
        (tmp_path / name).mkdir()
        save_npz(tmp_path / name / "matrix.npz", csr_array(counts))
        (tmp_path / name / "labels.txt").write_text("".join(f"{c}\n" for c in classes))

    return write


@pytest.fixture
def data(tmp_path: Path, write_matrix: WriteMatrix) -> Path:
    """Two sets of the paper, one with an empty document, an empty word and a class of one; one
    set that the paper does not have; and raw texts."""
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1], 10)
    counts = rng.poisson(0.3 + 2.0 * (np.arange(16)[None, :] // 8 == classes[:, None]))
    write_matrix("tr31", counts, [str(c) for c in classes])
    write_matrix("tr11", counts, [str(c) for c in classes])
    odd = rng.poisson(0.4, (19, 30)) + 2 * np.eye(19, 30, dtype=int)
    odd[4] = 0
    odd[:, 7:9] = 0
    odd[0, 8] = 2  # a word of one document
    write_matrix("k1b", odd, ["a"] * 9 + ["b"] * 9 + ["alone"])
    (tmp_path / "20ng-mini").mkdir()
    words = {"rec.boats": "harbour sailing anchors", "sci.stars": "galaxy telescopes planets"}
    with gzip.open(tmp_path / "20ng-mini" / "docs.jsonl.gz", "wt", encoding="utf-8") as out:
        for label, text in words.items():
            for i in range(4):
                document = {
                    "id": f"{label}/{i}", "label": label, "title": None if i else "Subject",
                    "text": f"The {text} and {i}.",
                }  # fmt: skip
                out.write(json.dumps(document) + "\n")
    return tmp_path
