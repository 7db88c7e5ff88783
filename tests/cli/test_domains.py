"""Domains are merged, split and reassigned, by hand and automatically."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith.cli import output
from segapsith.demo import sample

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]


@pytest.fixture
def digest(answer: Answer, wire_file: Path) -> str:
    """The digest of a store with the sample wire."""
    answer("ingest", str(wire_file))
    return str(answer("status")["digest"])


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (("merge", "--auto", "--similarity", "0.1", "--after", "0"), "merged"),
        (("split", "--auto", "--threshold", "0.9"), "split"),
        (("reassign", "--similarity", "0.01"), "moved"),
    ],
)
def test_the_nightly_steps_by_hand_can_be_undone(
    answer: Answer, digest: str, arguments: tuple[str, ...], key: str
) -> None:
    if "--auto" in arguments:
        planned = answer("domains", *arguments, "--dry-run")
        assert planned["run"] is None
        assert answer("status")["digest"] == digest
    done = answer("domains", *arguments)
    if done["run"] is None:
        assert done[key] == 0
        return
    assert done[key] > 0
    assert answer("status")["digest"] != digest
    answer("runs", "undo")
    assert answer("status")["digest"] == digest


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (("merge",), "name the domains to merge, or give --auto"),
        (("merge", "1", "2", "--auto"), "leave out ids"),
        (("merge", "--auto", "--into", "1"), "leave out ids"),
        (("merge", "1", "2", "--dry-run"), "need --auto"),
        (("split",), "name the domain to split, or give --auto"),
        (("split", "1", "--auto"), "leave out ID"),
        (("split", "1", "--threshold", "0.2"), "need --auto"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_store_is_opened(
    command: Command, arguments: tuple[str, ...], advice: str
) -> None:
    code, _, err = command("domains", *arguments)
    assert (code, advice in err) == (2, True), err


def test_a_long_list_shows_twenty_on_a_terminal_and_all_with_all(
    command: Command, wire_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("ingest", str(wire_file), str(sample.path("fr")))
    n_domains = len(command("domains")[1].splitlines()) - 1
    assert n_domains > output.LISTED
    monkeypatch.setattr(output, "on_terminal", lambda: True)
    monkeypatch.setattr(output, "_columns", lambda: 80)
    lines = command("domains")[1].splitlines()
    assert f"… {n_domains - output.LISTED} more (--all)" in lines
    assert len(lines) == output.LISTED + 2
    assert all(len(line) <= 80 for line in lines)
    assert len(command("domains", "--all")[1].splitlines()) == n_domains + 1
    assert len(command("domains", "--limit", "21")[1].splitlines()) == 22


def test_messages_have_the_names_that_the_user_gave(command: Command, wire_file: Path) -> None:
    command("ingest", str(wire_file))
    command("domains", "rename", "2", "Money")
    for verb in ("lock", "unlock", "retire", "reopen"):
        assert "2 “Money”" in command("domains", verb, "2")[1]
    assert "2 “Money”" in command("domains", "merge", "1", "2", "--into", "1")[1]


def test_split_and_merge_show_the_words_of_what_came_out(
    command: Command, answer: Answer, wire_file: Path
) -> None:
    answer("ingest", str(wire_file))
    parts = answer("domains", "split", "1")["parts"]
    assert all(part["label"] and part["words"] for part in parts)
    first, second = (str(part["id"]) for part in parts)
    merged = answer("domains", "merge", first, second)
    shown = {word["word"]: word["weight"] for word in answer("show", first)["words"]}
    assert merged["words"]
    assert all(shown[word["word"]] == word["weight"] for word in merged["words"])
    _, text, _ = command("domains", "split", first)
    assert len(text.splitlines()) == 3
