"""What the tests of tables share: data sets of a few sentences."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

WriteSet = Callable[[str, list[dict[str, object]]], None]


@pytest.fixture
def write_set(tmp_path: Path) -> WriteSet:
    """Return a function that writes a data set into the temporary directory."""

    def write(name: str, documents: list[dict[str, object]]) -> None:
        (tmp_path / name).mkdir()
        with gzip.open(tmp_path / name / "docs.jsonl.gz", "wt", encoding="utf-8") as out:
            out.writelines(json.dumps(document) + "\n" for document in documents)

    return write
