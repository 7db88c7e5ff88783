"""Datasette itself finds the full-text indexes, and shows what the metadata say."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import segapsith
from segapsith_store.datasette import metadata
from segapsith_store.schema import TABLES, VIEWS

TEXTS = (
    "The flood rose over the river bank and the bridge.",
    "The minister spoke about the election and the vote.",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("datasette")
    with segapsith.open(home / "wire.db", lang="en", segmenter="none") as wire:
        wire.ingest([{"id": str(n), "text": text * 9} for n, text in enumerate(TEXTS)])
    (home / "metadata.json").write_text(json.dumps(metadata("wire")), "utf-8")
    return home


def asked(folder: Path, address: str) -> Any:
    answer = subprocess.run(
        [sys.executable, "-m", "datasette", "wire.db", "-m", "metadata.json", "--get", address],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(answer.stdout) if ".json" in address else answer.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "word"),
    [
        ("versions", "flood"),
        ("domains", "flood"),
        ("domain_sizes", "flood"),
        ("stories", "flood"),
        ("unit_texts", "flood"),
    ],
)
def test_datasette_searches_the_full_text(folder: Path, table: str, word: str) -> None:
    found = asked(folder, f"/wire/{table}.json?_search={word}&_shape=objects")
    assert found["filtered_table_rows_count"] == 1
    assert asked(folder, f"/wire/{table}.json?_search=nothing")["rows"] == []


@pytest.mark.slow
def test_datasette_shows_descriptions_facets_and_queries(folder: Path) -> None:
    page = asked(folder, "/wire/domains")
    assert "open, retired, merged or split" in page
    tables = {table["name"]: table for table in asked(folder, "/wire.json")["tables"]}
    blobs = {t.name for t in TABLES if any("BLOB" in kind for _, kind, _ in t.columns)}
    assert {"pair_runs", "versions"} <= blobs and all(tables[name]["hidden"] for name in blobs)
    facets = asked(folder, "/wire/stories.json")["facet_results"]
    assert "lang" in str(facets)
    found = asked(folder, "/wire/search_stories.json?words=election&_shape=objects")
    assert [row["uid"] for row in found["rows"]] == ["1"]


def test_every_query_runs(folder: Path) -> None:
    queries: Any = metadata("wire")
    with closing(sqlite3.connect(folder / "wire.db")) as connection:
        for query in queries["databases"]["wire"]["queries"].values():
            given = {"words": "flood", "domain": 1}
            assert connection.execute(query["sql"], given).fetchall(), query["title"]


def test_every_table_view_and_column_has_a_description(folder: Path) -> None:
    tables: Any = metadata("wire")
    tables = tables["databases"]["wire"]["tables"]
    assert set(tables) == {thing.name for thing in (*TABLES, *VIEWS)}
    with closing(sqlite3.connect(folder / "wire.db")) as connection:
        for name, about in tables.items():
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
            assert sorted(about["columns"]) == sorted(columns), name
            assert about["description"] and all(about["columns"].values())
            assert set(about.get("facets", ())) <= set(columns)
            assert {about["fts_pk"]} <= set(columns) if "fts_pk" in about else True
