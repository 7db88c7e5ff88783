"""Standard output is ours: what plugins print goes to standard error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from segapsith.cli import output

TEXT = "The river rose in the night and flooded the old harbour of the town. "

NOISY = """
import os
import segapsith_plugins.segmenters.paragraphs as own
from segapsith.plugin.hookspecs import hookimpl

print("noise at import")


class Noisy:
    def __init__(self):
        print("noise while made")
        self.inner = own.Paragraphs()

    def segment(self, annotation, network):
        print("noise at work")
        os.write(1, b"noise of native code\\n")
        yield from self.inner.segment(annotation, network)


@hookimpl
def register_segmenters():
    print("noise of the hook")
    return {"noisy": Noisy}
"""

COMMANDS = '''
import typer

print("noise of commands")


def register_commands(app):
    print("noise of registering")

    @app.command("greet")
    def greet():
        """Greet."""
        print("hello")
'''


@pytest.fixture
def noisy(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs commands where a plugin that prints is installed."""
    (tmp_path / "noisy_words.py").write_text(NOISY)
    (tmp_path / "noisy_commands.py").write_text(COMMANDS)
    about = tmp_path / "noisy-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: noisy\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[segapsith]\nnoisy = noisy_words\n[segapsith.commands]\nnoisy = noisy_commands\n"
    )
    (tmp_path / "a.jsonl").write_text(json.dumps({"id": "a", "text": TEXT}) + "\n")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "segapsith", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_a_plugin_that_prints_does_not_spoil_json(
    noisy: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = noisy("ingest", "a.jsonl", "--segmenter", "noisy", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["new"] == 1
    assert done.stdout.count("\n") == 1
    for noise in (
        "at import", "of the hook", "while made", "at work", "of native code", "of commands",
        "of registering",
    ):  # fmt: skip
        assert f"noise {noise}\n" in done.stderr


@pytest.mark.parametrize("arguments", [("plugins", "--json"), ("doctor", "--json")])
def test_listing_plugins_gives_one_json_value(
    noisy: Callable[..., subprocess.CompletedProcess[str]], arguments: tuple[str, ...]
) -> None:
    done = noisy(*arguments)
    assert json.loads(done.stdout)
    assert "noise at import" in done.stderr


def test_commands_of_plugins_and_help_write_to_standard_output(
    noisy: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    assert noisy("greet").stdout == "hello\n"
    assert noisy("ingest", "--help").stdout.startswith("Usage: segapsith ingest")
    assert noisy("--version").stdout.startswith("segapsith ")


def test_bytes_go_to_standard_output_too(
    noisy: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    noisy("ingest", "a.jsonl", "--segmenter", "noisy")
    done = noisy("export", "--what", "documents", "--to", "jsonl")
    assert json.loads(done.stdout)["id"] == "a"


def test_standard_output_is_given_back(capfd: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with output.claimed():
        print("aside")
        os.write(1, b"native\n")
        output.write("data")
    assert sys.stdout is before
    print("after")
    out, err = capfd.readouterr()
    assert out == "data\nafter\n"
    assert "aside\n" in err
    assert "native\n" in err
