"""The documentation says what the program does."""

from __future__ import annotations

import doctest
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest

from segapsith.cli import domains, output
from segapsith.cli.app import program

ROOT = Path(__file__).parents[2]
LOG = ROOT / "docs" / "research" / "log"
"""Notebooks: they name commands as they were."""

REFERENCE = ROOT / "docs" / "reference"

PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if LOG not in page.parents),
]


@pytest.fixture(scope="module")
def docs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs", ROOT / "scripts" / "docs.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["cli.md", "settings.md", "exit-codes.md", "store.md"])
def test_generated_pages_are_fresh(docs: ModuleType, name: str) -> None:
    page = (REFERENCE / name).read_text("utf-8")
    assert page == docs.PAGES[name](), "run scripts/docs.py"


def test_every_command_is_in_the_reference() -> None:
    page = (REFERENCE / "cli.md").read_text("utf-8")
    for name in program(only_own=True).commands:
        assert f"## segapsith {name}\n" in page


def _blocks(page: Path) -> list[str]:
    """The commands in the shell blocks of a page, one line each."""
    text = page.read_text("utf-8")
    blocks = re.findall(r"^```(?:sh|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_and_options_in_the_pages_exist(page: Path) -> None:
    commands = program(only_own=True).commands
    for line in _blocks(page):
        for words in re.findall(r"(?:^|[ /])segapsith ([a-z][^|#;&>)]*)", line):
            name, *rest = words.split()
            assert name in commands, line
            command: Any = commands[name]
            if rest and rest[0] in getattr(command, "commands", {}):
                command = command.commands[rest[0]]
            known = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
            used = {word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"}
            assert used <= known | {"--help"}, line


def test_the_picture_is_sound_and_stands_alone() -> None:
    text = (ROOT / "docs" / "images" / "line.svg").read_text("utf-8")
    tree = ElementTree.fromstring(text)
    assert tree.tag.endswith("svg")
    assert not any(e.tag.endswith(("script", "image", "foreignObject")) for e in tree.iter())
    assert "prefers-color-scheme: dark" in text


def test_the_recipe_that_opens_a_store_works(tmp_path: Path) -> None:
    """The Python block of store.md, run as it stands beside a small store."""
    import segapsith

    texts = ("The flood rose over the river bank.", "The river flood reached the old bridge.")
    with segapsith.open(tmp_path / "wire.db", lang="en", segmenter="none") as wire:
        wire.ingest([{"id": str(n), "text": text * 9} for n, text in enumerate(texts)])
        (best, *_) = wire.domains()
    page = (REFERENCE / "store.md").read_text("utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    shown = {line.split()[0]: float(line.split()[1]) for line in answer.stdout.splitlines()}
    assert shown == pytest.approx(
        {w["word"]: w["weight"] for w in best["words"] if w["word"] in shown}, abs=1e-3
    )


def _squeezed(text: str) -> str:
    """A text without white space and times, so that wrapping and columns do not matter."""
    return re.sub(r",\d+\.\ds$", "", "".join(text.split()))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_commands_print_what_the_page_shows(
    name: str, command: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands of a page run in order, as on a terminal of 100 columns; each prints what follows."""
    for module in (domains, output):
        monkeypatch.setattr(module, "on_terminal", lambda: True)
    monkeypatch.setattr(output, "_columns", lambda: 100)
    text = (ROOT / name).read_text("utf-8")
    printed, compared = "", 0
    for kind, block in re.findall(r"^```(sh|text)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if kind == "text":
            for line in block.splitlines():
                shown = _squeezed(line).partition("…")[0]
                assert shown in _squeezed(printed), line
                compared += 1
            continue
        printed = ""
        for line in block.splitlines():
            program, *arguments = line.split()
            if program.endswith("segapsith"):
                local = [str(ROOT / a) if a.startswith("segapsith/") else a for a in arguments]
                code, out, _ = command(*local)
                assert code == 0
                printed += out
    assert compared >= 5


GUIDES = [
    page
    for page in sorted((ROOT / "docs" / "guides").glob("*.md"))
    if "```python\n>>>" in page.read_text("utf-8")
]


@pytest.mark.slow
@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.name)
def test_examples_of_the_guides_print_what_they_show(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Python blocks of a guide run in order, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"^```python\n(>>>.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    test = doctest.DocTestParser().get_doctest("".join(blocks), {}, page.name, str(page), 0)
    assert doctest.DocTestRunner(verbose=False).run(test) == (0, len(test.examples))
