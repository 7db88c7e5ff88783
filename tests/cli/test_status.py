"""`status`: counts, versions, the last runs, feeds and sizes."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]
ITEMS = sample.lines("en")


def lines(n_items: int) -> str:
    return "".join(json.dumps(item) + "\n" for item in ITEMS[:n_items])


MAY_DIFFER = {"store", "versions", "sqlite_version", "run", "runs", "last_run", "history"}


def test_status_reports_the_same_for_equal_stores(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(lines(12))
    for store, batch in (("one.db", "5"), ("two.db", "12")):
        os.environ["SEGAPSITH_BATCH_SIZE"] = batch
        assert command("ingest", "a.jsonl", "--lang", "en", "--store", store)[0] == 0
        del os.environ["SEGAPSITH_BATCH_SIZE"]
    one, two = (
        json.loads(command("status", "--json", "--store", s)[1]) for s in ("one.db", "two.db")
    )
    assert one["versions"]["sqlite"] == sqlite3.sqlite_version
    assert one["versions"]["numpy"] and "pyarrow" not in one["versions"]
    assert [run["command"] for run in one["history"]] == ["ingest"]
    same = {name for name in one if name not in MAY_DIFFER and not name.endswith("_at")}
    assert {n: one[n] for n in same} == {n: two[n] for n in same}
    command("feeds", "add", "https://example.org/a", "--store", "one.db")
    full = json.loads(command("status", "--full", "--json", "--store", "one.db")[1])
    assert full["feeds"] == {"subscribed": 1, "due": 1, "failing": 0, "waiting": 0}
    assert full["next_check_at"]
    assert full["sizes"]["file_bytes"] == os.path.getsize(tmp_path / "one.db")
    assert full["sizes"]["bytes_per_document"] == full["sizes"]["file_bytes"] // 12
    assert full["sizes"]["text_bytes"] == sum(
        len(f"{i['title']}{i['text']}".encode()) for i in ITEMS[:12]
    )
    code, out, _ = command("status", "--full", "--store", "one.db")
    assert code == 0
    assert "run              1 ingest done" in out
    assert f"sizes            file_bytes {full['sizes']['file_bytes']}, wal_bytes " in out


@pytest.mark.parametrize("arguments", [("topics",), ("sections",), ("today",)])
def test_a_store_of_an_older_schema_is_migrated(
    command: Callable[..., tuple[int, str, str]], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    packed = Path(__file__).parents[1] / "store" / "schemas" / "schema-5.db.gz"
    store = tmp_path / "old.db"
    store.write_bytes(gzip.decompress(packed.read_bytes()))
    assert command(*arguments, "--store", str(store))[0] == 0
    assert (tmp_path / "old.db.schema-5.backup").is_file()
    code, out, _ = command("status", "--store", str(store), "--json")
    assert code == 0
    assert json.loads(out)["events"] > 0
