"""Exit codes, shared options, and what every command has in common."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import re
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from segapsith import cli
from segapsith.cli.app import program

Command = Callable[..., tuple[int, str, str]]
Answer = Callable[..., Any]
PROSE = Path(__file__).parents[1] / "project" / "test_prose.py"


def test_shared_options_may_stand_before_the_command(command: Command, wire_file: Path) -> None:
    code, out, _ = command("--json", "--store", "other.db", "ingest", str(wire_file))
    assert code == 0
    assert json.loads(out)["run"] == 1
    assert Path("other.db").exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("ingest",), 2),
        (("nonsense",), 2),
        (("ingest", "x", "--set", "novalue"), 2),
        (("ingest", "x", "--annotator", "nobody"), 78),
        (("ingest", "x", "--set", "nothing=1"), 78),
        (("ingest", "x", "--set", "min_words=0"), 78),
        (("ingest", "x", "--format", "nobody"), 78),
        (("ingest", "x", "--store", "no/such/dir/s.db"), 73),
        (("ingest", "x", "--store", "."), 73),
        (("status",), 66),
        (("verify",), 66),
        (("show", "1"), 66),
        (("config", "--config", "nowhere.toml"), 78),
        (("export", "--to", "pdf"), 2),
    ],
)
def test_exit_codes(command: Command, arguments: tuple[str, ...], code: int) -> None:
    found, _, err = command(*arguments)
    assert found == code, err
    assert err.strip()
    assert "Traceback" not in err


def test_a_missing_store_is_not_made_by_reading(command: Command) -> None:
    for arguments in (("status",), ("domains",), ("runs", "undo"), ("forget", "x"), ("validate",)):
        assert command(*arguments)[0] == 66
    assert list(Path().iterdir()) == []


@pytest.mark.slow
def test_foreign_files_are_refused_and_left_alone(command: Command, wire_file: Path) -> None:
    Path("notes.txt").write_text("These are my notes, not a database. " * 100)
    with sqlite3.connect("other.db") as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    for name in ("notes.txt", "other.db"):
        before = Path(name).read_bytes()
        for arguments in (("status",), ("verify",), ("ingest", str(wire_file)), ("runs", "undo")):
            code, _, err = command(*arguments, "--store", name)
            assert 0 < code < 126
            assert name in err
        assert Path(name).read_bytes() == before


@pytest.mark.slow
def test_nothing_is_writable_by_others(command: Command, answer: Answer, wire_file: Path) -> None:
    before = os.umask(0)
    try:
        answer("ingest", str(wire_file))
        command("report", "--output", "page.html")
        command("backup", "copy.db")
        command("export", "--output", "out.jsonl")
    finally:
        os.umask(before)
    for path in Path().iterdir():
        if path != wire_file and path.name != wire_file.name:
            assert not path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH), path


@pytest.mark.slow
def test_feed_text_reaches_the_terminal_without_control_characters(
    command: Command, tmp_path: Path
) -> None:
    nasty = "Flood \x1b[31mred\x07 \u202eback\r hidden \x9b1m"
    path = tmp_path / "nasty.jsonl"
    path.write_text(json.dumps({"id": "n\x1b1", "title": nasty, "text": f"{nasty} in the town"}))
    command("ingest", str(path))
    outputs = [
        command("domains"), command("show", "1"), command("search", "flood"),
        command("search", "flood", "--json"), command("domains", "--json"),
        command("ingest", "n\x1b[2Jowhere"), command("forget", "x\x1b[0m"),
    ]  # fmt: skip
    for _, out, err in outputs:
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", out + err)


@pytest.mark.slow
def test_quiet_is_quiet(command: Command, wire_file: Path) -> None:
    for arguments in (
        ("ingest", str(wire_file)), ("status",), ("domains",), ("verify",), ("runs",),
        ("validate", "--min-units", "5"), ("report",), ("plugins",), ("config",),
    ):  # fmt: skip
        code, out, err = command(*arguments, "--quiet")
        assert (code, out, err) == (0, "", ""), arguments


def test_shared_options_may_stand_between_a_group_and_its_command(
    command: Command, answer: Answer, wire_file: Path
) -> None:
    answer("ingest", str(wire_file), "--store", "other.db")
    code, out, err = command("domains", "--store", "other.db", "lock", "1", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["locked"] == [1]
    assert not Path("segapsith.db").exists()
    assert json.loads(command("--json", "network", "--store", "other.db", "status")[1])["words"]


def test_the_option_nearest_to_the_command_counts(command: Command, answer: Answer) -> None:
    shown = answer("--store", "first.db", "config", "--store", "second.db")
    assert shown["store"] == {"value": "second.db", "origin": "flag"}


def test_messages_are_directed_by_options_anywhere(command: Command) -> None:
    for arguments in (("--log-json", "status"), ("status", "--log-json")):
        code, _, err = command(*arguments)
        assert (code, json.loads(err)["level"]) == (66, "error")
    for arguments in (("--debug", "status"), ("status", "--debug"), ("runs", "--debug", "undo")):
        assert "Traceback" in command(*arguments)[2]
    command("status", "--log-file", "messages.txt")
    assert "there is no store" in Path("messages.txt").read_text()


def test_configuration_is_read_once(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from segapsith.settings import resolution

    Path("segapsith.toml").write_text('lang = "en"\n')
    reads: list[object] = []
    original = resolution.tomllib.loads
    monkeypatch.setattr(
        resolution.tomllib, "loads", lambda text: reads.append(text) or original(text)
    )
    assert command("config")[0] == 0
    assert len(reads) == 1


def test_contradicting_options_are_refused(command: Command) -> None:
    code, _, err = command("ingest", "x", "--as-units", "--segmenter", "paragraphs")
    assert (code, "--segmenter and --as-units contradict each other" in err) == (2, True)


def test_old_names_of_commands_are_gone(command: Command) -> None:
    for name in ("consolidate", "narrow", "adopt"):
        assert command("domains", name)[0] == 2


def test_every_command_has_the_shared_options_and_an_example() -> None:
    pending: list[Any] = [program()]
    while pending:
        one = pending.pop()
        inner = getattr(one, "commands", {})
        pending += inner.values()
        options = {name for parameter in one.params for name in parameter.opts}
        assert {
            "--store",
            "--config",
            "--wait",
            "--json",
            "--quiet",
            "--wide",
            "--debug",
        } <= options
        assert inner or "Example: segapsith " in (one.help or ""), one.name


def test_help_and_messages_are_plain_english() -> None:
    """The idioms that the pages avoid are avoided in help texts, too."""
    spec = importlib.util.spec_from_file_location("prose", PROSE)
    assert spec and spec.loader
    prose = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(prose)
    for file in sorted(Path(cli.__path__[0]).glob("*.py")):
        texts = [
            node.value
            for node in ast.walk(ast.parse(file.read_text("utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
        ]
        assert [text for text in texts if prose.idioms(text)] == [], file.name
