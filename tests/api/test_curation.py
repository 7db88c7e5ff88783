"""The commands that change, explain and foresee domains, as people type them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.demo import sample

pytestmark = pytest.mark.slow

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def store(command: Command, tmp_path: Path) -> str:
    items = tmp_path / "wire.jsonl"
    items.write_text("".join(json.dumps(item) + "\n" for item in sample.lines("en")[:80]), "utf-8")
    assert command("ingest", str(items), "--store", "w.db", "--quiet")[0] == 0
    return "w.db"


def answer(command: Command, *arguments: str) -> Any:
    code, out, err = command(*arguments, "--json", "--store", "w.db")
    assert code == 0, err
    return json.loads(out)


def test_a_life_on_the_command_line(command: Command, store: str) -> None:
    before = answer(command, "status")["digest"]
    first, second, third, *_ = (str(d["id"]) for d in answer(command, "domains"))
    assert answer(command, "domains", "rename", first, "A name")["label"] == "A name"
    merged = answer(command, "domains", "merge", first, second)
    assert merged["domain"] == min(int(first), int(second))
    parts = answer(command, "domains", "split", str(merged["domain"]), "--parts", "2")["parts"]
    assert len(parts) == 2
    code, out, _ = command("domains", "lock", third, "--store", store)
    assert (code, out.startswith("run ")) == (0, True)
    code, _, err = command("domains", "retire", third, "--store", store)
    assert (code, "is locked" in err) == (2, True)
    for act in ("unlock", "retire", "reopen"):
        assert answer(command, "domains", act, third)["run"]
    assert command("verify", "--store", store)[0] == 0
    assert command("show", str(merged["domain"]), "--store", store)[0] == 66
    for _ in range(7):
        assert answer(command, "runs", "undo")["run"]
    assert answer(command, "status")["digest"] == before
    code, out, _ = command("show", first, "--store", store)
    assert code == 0
    assert "renamed (run 2, undone since)" in out


def test_consolidating_and_refining_on_the_command_line(command: Command, store: str) -> None:
    before = answer(command, "status")["digest"]
    wanted = ("domains", "merge", "--auto", "--similarity", "0.1", "--after", "0")
    suggested = answer(command, *wanted, "--dry-run")
    assert suggested["merged"] > 0 and answer(command, "status")["digest"] == before
    code, out, _ = command(*wanted, "--store", store)
    assert (code, out.splitlines()[-1].startswith("run 2: ")) == (0, True)
    assert " ← " in out
    code, out, _ = command(*wanted, "--store", store)
    assert (code, "0 of" in out) == (0, True)
    answer(command, "runs", "undo")
    assert answer(command, "status")["digest"] == before
    found = answer(command, "ingest", "wire.jsonl", "--refine", "2")
    assert set(found["refined"]) >= {"run", "moved"}
    if found["refined"]["run"]:
        answer(command, "runs", "undo")
    assert answer(command, "status")["digest"] == before
    code, out, _ = command("ingest", "wire.jsonl", "--refine", "1", "--store", store)
    assert (code, "units moved" in out) == (0, True)
    code, _, err = command("ingest", "wire.jsonl", "--refine", "1", "--dry-run", "--store", store)
    assert (code, "--dry-run" in err) == (2, True)


def test_domains_as_of_a_run(command: Command, store: str) -> None:
    before = answer(command, "domains")
    answer(command, "domains", "merge", *(str(d["id"]) for d in before[:3]))
    assert answer(command, "domains", "--as-of", "1") == before
    assert answer(command, "domains") != before
    answer(command, "forget", sample.lines("en")[0]["id"])
    code, _, err = command("domains", "--as-of", "1", "--store", store)
    assert (code, "forgotten since then and not shown: 1 document" in err) == (0, True)
    code, _, err = command("domains", "--as-of", "soon", "--store", store)
    assert (code, "should be a date" in err) == (2, True)


def test_explain_and_classify(command: Command, store: str, tmp_path: Path) -> None:
    unit = answer(command, "show", str(answer(command, "domains")[0]["id"]))["unit_ids"][0]
    found = answer(command, "explain", str(unit))
    assert {"words", "ratios", "score", "runner_up", "margin"} <= set(found)
    assert found["domain"]["topic"] is None
    topics = {d: t["id"] for t in answer(command, "topics") for d in t["domains"]}
    assert answer(command, "explain", str(unit))["domain"]["topic"] == topics[found["domain"]["id"]]
    code, out, _ = command("explain", str(unit), "--store", store)
    assert code == 0
    assert "of the unit's weight" in out
    assert command("explain", "99999", "--store", store)[0] == 66
    text = sample.lines("en")[3]["text"]
    (tmp_path / "t.txt").write_text(text, "utf-8")
    assert answer(command, "classify", "t.txt") == answer(command, "classify", text)
    near = [d for u in answer(command, "classify", text)["units"] for d in u["domains"]]
    assert near and all(d["topic"] == topics[d["id"]] for d in near)
    code, out, _ = command("classify", text, "--store", store)
    assert code == 0
    assert "→" in out and f"topic {near[0]['topic']}" in out
    code, _, err = command("classify", "none.txt", "--store", store)
    assert (code, "there is no file" in err) == (66, True)


def test_tune_shows_its_curve(command: Command, store: str) -> None:
    found = answer(command, "tune", "--target-new-rate", "0.5", "--afresh", "--sample", "80")
    assert len(found["curve"]) >= 7
    assert command("tune", "--store", store)[0] == 2
