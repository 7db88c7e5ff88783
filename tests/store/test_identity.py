"""A document is named by its whole id, or by its guid alone where only one feed has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from segapsith.api.wire import Wire
from segapsith.cli.app import run
from segapsith.errors import MissingInputError, UsageError
from segapsith_store.identity import document_id, forgotten_id
from segapsith_store.queries import subscriptions

A, B = "https://example.org/a", "https://example.org/b"
TEXTS = {
    f"{A}#1": "The river rose over its banks and the dam broke in the night.",
    f"{B}#1": "The striker scored twice and the cup final went to penalties.",
    f"{A}#tag:2%20x": "The central bank raised its interest rate by a quarter point.",
    "1x": "The court heard the appeal of the minister in the bribery case.",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "wire.db"
    with Wire(made) as wire:
        wire.ingest([{"id": uid, "title": uid, "text": text} for uid, text in TEXTS.items()])
        for url in (A, B):
            subscriptions.add(wire.writer, url)
    return made


def _by(wire: Wire, given: str) -> str:
    return wire.read(lambda store: document_id(store, given))


def test_a_guid_alone_names_the_only_document_that_has_it(path: Path) -> None:
    with Wire(path) as wire:
        assert _by(wire, "tag:2 x") == _by(wire, "tag:2%20x") == f"{A}#tag:2%20x"
        assert _by(wire, f"{B}#1") == f"{B}#1"
        assert _by(wire, "1x") == "1x"
        assert _by(wire, "nothing") == "nothing"


def test_a_guid_of_two_feeds_is_refused_with_both_ids(path: Path) -> None:
    with Wire(path) as wire, pytest.raises(UsageError, match=f"{A}#1, {B}#1"):
        _by(wire, "1")


def test_a_guid_that_ends_like_another_is_not_that_one(path: Path) -> None:
    with Wire(path) as wire:
        assert _by(wire, "2%20x") == "2%20x"


def test_a_guid_alone_is_enough_to_forget_a_story_and_to_allow_it_again(path: Path) -> None:
    with Wire(path) as wire:
        assert wire.forget("tag:2 x").document == f"{A}#tag:2%20x"
        assert wire.read(lambda s: forgotten_id(s, "tag:2 x")) == f"{A}#tag:2%20x"
        assert wire.allow_again("tag:2 x").documents == [f"{A}#tag:2%20x"]
        with pytest.raises(MissingInputError, match="not forgotten"):
            wire.allow_again("tag:2 x")


def test_a_story_forgotten_under_its_former_id_stays_refused(path: Path) -> None:
    with Wire(path) as wire:
        wire.ingest([{"id": f"{A} old 3", "text": "The port was closed by the storm for a week."}])
        wire.forget(f"{A} old 3")
        story = {"id": f"{A}#old%203", "text": "Another text, so that only the id is the same."}
        assert wire.ingest([story]).forgotten == 1
        wire.allow_again(f"{A}#old%203")
        assert wire.ingest([story]).new == 1


@pytest.mark.parametrize("command", ["explain", "forget --dry-run"])
def test_commands_accept_a_guid_alone(
    command: str, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command.split(), "tag:2 x", "--store", str(path), "--json"]) == 0
    assert f"{A}#tag:2%20x" in json.dumps(json.loads(capsys.readouterr().out))


def test_a_command_names_the_documents_that_an_ambiguous_guid_may_mean(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["forget", "1", "--store", str(path)]) == 2
    assert f"give one of {A}#1, {B}#1" in capsys.readouterr().err


def test_a_story_is_read_by_its_guid(path: Path) -> None:
    with Wire(path) as wire:
        assert wire.browse.story("tag:2 x").id == f"{A}#tag:2%20x"
