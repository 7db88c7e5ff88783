"""What is stored can be written for other programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from segapsith.cli.export import METADATA, SUBJECTS
from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["documents", "units", "domains", "assignments", "days"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_everything_can_be_exported(
    command: Command, answer: Answer, wire_file: Path, what: str, form: str
) -> None:
    if not Path("segapsith.db").exists():
        wire_file.write_bytes(b"".join(wire_file.read_bytes().splitlines(keepends=True)[:12]))
        answer("ingest", str(wire_file))
    code, _, err = command("export", "--what", what, "--to", form, "--output", "out")
    assert code == 0, err
    assert Path("out").stat().st_size > 0


@pytest.mark.slow
def test_exported_assignments_point_into_the_text(
    command: Command, answer: Answer, wire_file: Path
) -> None:
    answer("ingest", str(wire_file))
    code, out, _ = command("export", "--to", "jsonl", "--what", "assignments")
    assert code == 0
    texts = {i["id"]: f"{i['title']}\n\n{i['text']}" for i in sample.lines("en")}
    rows = [json.loads(line) for line in out.splitlines()]
    assert {r["document"] for r in rows} == set(texts)
    for row in rows:
        assert set(row) == {
            "document", "unit", "start", "end", "domain", "topic", "section", "event", "score",
        }  # fmt: skip
        assert texts[row["document"]][row["start"] : row["end"]].strip()
    code, out, _ = command("export", "--to", "graphml")
    assert code == 0
    assert out.startswith("<?xml")


def test_metadata_for_datasette_are_json_under_the_name_of_the_store(
    command: Command, answer: Answer, wire_file: Path
) -> None:
    wire_file.write_bytes(b"".join(wire_file.read_bytes().splitlines(keepends=True)[:3]))
    answer("ingest", str(wire_file))
    code, out, _ = command("export", "--what", "datasette-metadata")
    assert code == 0
    assert "stories" in json.loads(out)["databases"]["segapsith"]["tables"]
    code, _, err = command("export", "--what", "datasette-metadata", "--to", "csv")
    assert code == 2 and "JSON" in err


@pytest.mark.slow
def test_parquet_of_every_subject_has_the_rows_of_json_lines(
    command: Command, answer: Answer, wire_file: Path
) -> None:
    wire_file.write_bytes(b"".join(wire_file.read_bytes().splitlines(keepends=True)[:60]))
    answer("ingest", str(wire_file), "--lang", "en")
    answer("topics")
    answer("sections")
    answer("validate", "--min-units", "2")
    for what in SUBJECTS:
        if what == METADATA:
            continue
        code, out, err = command("export", "--what", what)
        assert code == 0, err
        code, _, err = command("export", "--what", what, "--to", "parquet", "--output", "p")
        assert code == 0, err
        table = parquet.read_table("p")
        lines = [json.loads(line) for line in out.splitlines()]
        assert table.num_rows == len(lines) > 0, what
        for name, value in lines[0].items():
            cell = table.column(name)[0].as_py()
            assert value == (json.loads(cell) if isinstance(value, dict | list) else cell), what


def test_parquet_without_its_extra_is_a_clear_message(
    command: Command, answer: Answer, wire_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire_file.write_bytes(b"".join(wire_file.read_bytes().splitlines(keepends=True)[:3]))
    answer("ingest", str(wire_file))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = command("export", "--to", "parquet", "--output", "p")
    assert code == 2 and "pip install 'segapsith[parquet]'" in err
