"""Results go to standard output and fit a terminal; what plugins print goes to standard error."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from segapsith.cli import output
from segapsith.cli.app import run
from segapsith.demo import sample
from segapsith_store import Store
from segapsith_store.queries import subscriptions

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

    @app.command("runs")
    def runs():
        """Take a name that is taken."""
        print("not those of the store")
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


@pytest.mark.slow
def test_a_plugin_that_prints_does_not_spoil_json(
    noisy: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = noisy("ingest", "a.jsonl", "--segmenter", "noisy", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["new"] == 1
    assert done.stdout.count("\n") == 1
    for noise in ("at import", "of the hook", "while made", "at work", "of native code"):
        assert f"noise {noise}\n" in done.stderr
    assert "noise of commands" not in done.stderr, "commands of plugins are loaded when needed"


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("plugins", "--json"), ("doctor", "--json")])
def test_listing_plugins_gives_one_json_value(
    noisy: Callable[..., subprocess.CompletedProcess[str]], arguments: tuple[str, ...]
) -> None:
    done = noisy(*arguments)
    assert json.loads(done.stdout)
    assert "noise at import" in done.stderr


@pytest.mark.slow
def test_commands_of_plugins_and_help_write_to_standard_output(
    noisy: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    greeting = noisy("greet")
    assert greeting.stdout == "hello\n"
    assert "noise of commands\nnoise of registering\n" in greeting.stderr
    assert "List every run" in noisy("runs", "--help").stdout, "a name that is taken stays"
    assert noisy("ingest", "--help").stdout.startswith("Usage: segapsith ingest")
    assert noisy("--version").stdout.startswith("segapsith ")


@pytest.mark.slow
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


# -- on a terminal -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of some stories, with a feed of a long address."""
    folder = tmp_path_factory.mktemp("terminal")
    lines = sample.path("en").read_bytes().splitlines(keepends=True)[:90]
    (folder / "wire.jsonl").write_bytes(b"".join(lines))
    path = str(folder / "wire.db")
    assert run(["ingest", str(folder / "wire.jsonl"), "--store", path, "--quiet"]) == 0
    for arguments in (["validate", "--min-units", "4"], ["topics"]):
        assert run([*arguments, "--store", path, "--quiet"]) == 0
    with Store.writing(path) as open_store:
        subscriptions.add(open_store, f"https://example.org/{'long/' * 20}wire.rss", "A title " * 9)
    return path


@pytest.fixture
def terminal(
    store: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[..., list[str]]]:
    """Runs a command on the store with a terminal of some columns; gives its lines."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(columns: int, *arguments: str) -> list[str]:
        reading, writing = pty.openpty()
        fcntl.ioctl(writing, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        pieces: list[bytes] = []

        def read() -> None:
            while piece := _read(reading):
                pieces.append(piece)

        reader = threading.Thread(target=read)
        reader.start()
        before, kept = sys.stdout, os.dup(1)
        os.dup2(writing, 1)
        os.close(writing)
        try:
            with open(1, "w", encoding="utf-8", closefd=False) as sys.stdout:
                assert run([*arguments, "--store", store]) == 0
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            sys.stdout = before
        reader.join()
        os.close(reading)
        return b"".join(pieces).decode().replace("\r\n", "\n").splitlines()

    yield call


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other side is closed
        return b""


SHOWN = {
    "domains": ("domains",),
    "show": ("show", "1"),
    "topics": ("topics", "--kept"),
    "runs": ("runs",),
    "history": ("validate", "--history"),
    "validate": ("validate", "--min-units", "4"),
    "compare": ("compare", "1", "1"),
    "cluster": ("cluster", "-k", "3", "--quiet"),
    "search": ("search", "water"),
    "explain": ("explain", "1"),
    "status": ("status", "--full"),
    "feeds": ("feeds", "list"),
    "plugins": ("plugins",),
    "config": ("config",),
    "network": ("network", "status"),
}


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 100, 200])
@pytest.mark.parametrize("arguments", SHOWN.values(), ids=SHOWN)
def test_text_for_people_fits_the_terminal_and_never_100_columns(
    terminal: Callable[..., list[str]], arguments: tuple[str, ...], columns: int
) -> None:
    lines = terminal(columns, *arguments)
    assert lines or "--quiet" in arguments
    too_long = [line for line in lines if len(line) > min(columns, 100)]
    assert too_long == []


def test_a_narrow_terminal_cuts_words_and_no_number(terminal: Callable[..., list[str]]) -> None:
    head, *rows, axis = terminal(80, "domains")
    assert head.split() == ["id", "units", "docs", "last", "days", "state", "label"]
    assert axis.startswith("days: ")
    assert all(row.split()[0].isdigit() for row in rows)
    assert any(row.endswith("…") for row in rows)
    assert not any("2026-03…" in row for row in rows)
    wide = terminal(80, "domains", "--wide")
    assert not any("…" in line for line in wide)
    assert max(map(len, wide)) > 100


def test_a_long_list_of_feeds_shows_the_largest_20(
    store: str, terminal: Callable[..., list[str]]
) -> None:
    with Store.writing(store) as writing:
        for number in range(40):
            subscriptions.add(writing, f"https://many.example/{number:02}")
    lines = terminal(100, "feeds", "list")
    assert len(lines) == 1 + output.LISTED + 1
    assert lines[-1].startswith("… ") and lines[-1].endswith(" more (--all)")
    assert len(terminal(100, "feeds", "list", "--all")) > 40


def test_a_pipe_gets_whole_lines(store: str, command: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = command("domains", "--store", store)
    assert code == 0
    assert "…" not in out and "\t" in out
    assert max(map(len, out.splitlines())) > 100


def test_a_table_shrinks_text_and_keeps_numbers() -> None:
    cells = [["123456", "river, water, embankment", "0.123", "a long remark on it"]]
    (head, row) = output.laid_out(cells, ["id", "words", "share", "remark"], 40, ["words"])
    assert "123456" in row and "0.123" in row and len(row) <= 40
    assert head.split() == ["id", "words", "share", "remark"]
    assert output.laid_out([], ["id", "words"], 20) == ["id  words"]


@pytest.mark.slow
def test_a_reader_that_ends_early_is_no_error(tmp_path: Path) -> None:
    """As in `segapsith plugins | head -1`, with a reader that takes nothing at all."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "segapsith", "config"],
            stdout=writer,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")
