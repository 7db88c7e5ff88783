"""The table of languages, on a small set."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from segapsith.errors import MissingInputError
from segapsith_reproduce import Options
from segapsith_reproduce.languages import HEAD, languages, sets_of

SPORT = (
    "Der Verein gewann das Spiel im Stadion, der Trainer lobte die Mannschaft und den Torwart {}."
)
RIVER = "Der Fluss stieg nach dem Regen, das Wasser überschwemmte Häuser und Straßen am Hafen {}."


def write(folder: Path, label: bool) -> None:
    folder.mkdir()
    with gzip.open(folder / "docs.jsonl.gz", "wt", encoding="utf-8") as file:
        for number in range(24):
            text = (SPORT, RIVER)[number % 2].format("ABCDEFGHIJKLMNOPQRSTUVWX"[number] * 4)
            item = {"id": number, "text": text, "label": "ab"[number % 2] if label else None}
            file.write(json.dumps(item) + "\n")


def test_a_row_has_reading_and_learning_beside_the_rivals(tmp_path: Path) -> None:
    write(tmp_path / "two-de", label=True)
    write(tmp_path / "none-de", label=False)
    write(tmp_path / "english-en", label=True)
    assert sets_of(tmp_path) == ("none-de", "two-de")
    table = languages(tmp_path, Options(quick=True))
    unlabelled, labelled = (dict(zip(HEAD, row, strict=True)) for row in table.rows)
    assert unlabelled["AMI"] is None and unlabelled["stops"] == 0
    assert labelled["stories"] == 24 and labelled["classes"] == 2
    assert 0.3 < labelled["content"] < 0.8 and labelled["AMI"] > 0.5


def test_a_folder_without_sets_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingInputError, match="no set whose name ends"):
        languages(tmp_path, Options())
