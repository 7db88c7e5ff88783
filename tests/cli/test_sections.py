"""`sections`, and the section in the other commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def made(command: Command, tmp_path: Any) -> list[dict[str, Any]]:
    """The sections of the English sample in `segapsith.db`."""
    source = tmp_path / "wire.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in sample.lines("en")[:90]))
    assert command("ingest", str(source), "--lang", "en")[0] == 0
    code, out, _ = command("sections", "-k", "4", "--json")
    assert code == 0
    found: list[dict[str, Any]] = json.loads(out)
    return found


def test_sections_have_the_contracts_shape_and_reach_other_commands(
    command: Command, made: list[dict[str, Any]]
) -> None:
    assert len(made) == 4
    assert all(set(s) == {"id", "label", "lang", "topics", "units", "share", "words"} for s in made)
    of = {topic: s["id"] for s in made for topic in s["topics"]}
    topics = json.loads(command("topics", "--kept", "--json")[1])
    assert {t["id"]: t["section"] for t in topics} == of
    rows = [json.loads(line) for line in command("export")[1].splitlines()]
    assert all(row["section"] == of[row["topic"]] for row in rows if row["domain"])
    lines = command("export", "--what", "sections")[1].splitlines()
    assert [json.loads(line)["id"] for line in lines] == [s["id"] for s in made]
    domain = topics[0]["domains"][0]
    shown = json.loads(command("show", str(domain), "--json")[1])
    path = [(step["level"], step["id"]) for step in shown["path"]]
    assert path == [
        ("section", of[shown["topic"]]), ("topic", shown["topic"]), ("domain", domain),
    ]  # fmt: skip
    assert shown["section"] == of[shown["topic"]]
    out = command("show", str(domain))[1]
    assert f"in section {shown['section']} “" in out and f"› domain {domain} “" in out


def test_classify_prints_and_returns_the_whole_path(
    command: Command, made: list[dict[str, Any]]
) -> None:
    text = sample.lines("en")[3]["text"]
    result = json.loads(command("classify", text, "--json")[1])
    near = result["units"][0]["domains"][0]
    assert [step["level"] for step in near["path"]] == ["section", "topic", "domain"]
    assert [step["id"] for step in near["path"]] == [near["section"], near["topic"], near["id"]]
    label = next(s["label"] for s in made if s["id"] == near["section"])
    assert f"section {near['section']} “{label}” › topic" in command("classify", text)[1]


def test_a_name_stays_and_the_table_is_for_people(
    command: Command, made: list[dict[str, Any]]
) -> None:
    code, out, _ = command("sections", "--name", f"{made[0]['id']}=Storms")
    assert code == 0
    assert out.splitlines()[0].split("\t") == ["id", "share", "topics", "units", "label", "words"]
    row = out.splitlines()[1].split("\t")
    assert row[:1] == [str(made[0]["id"])] and row[1].endswith(" %") and row[4] == "Storms"
    assert command("sections", "--name", "999=x")[0] == 66
    last = json.loads(command("runs", "--json")[1])[0]["id"]
    then = json.loads(command("sections", "--as-of", str(last), "--json")[1])
    assert [s["id"] for s in then] == [s["id"] for s in made]
    assert command("sections", "--as-of", str(last), "--name", "1=x")[0] == 2
    assert command("sections", "--name", "x")[0] == 2
    assert command("sections", "--set", "least=30")[0] == 78
    code, _, err = command("sections", "--clusterer", "kmedoid")
    assert code != 0 and "did you mean" in err
